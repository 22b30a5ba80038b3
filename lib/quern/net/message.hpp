#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::net {

/// The headers of an answer, in the order of arrival, in one allocation each for text and positions.
class headers {
public:
    void add(std::string_view name, std::string_view value);

    /// Value of the first header of that name, compared without case; empty when absent.
    std::string_view find(std::string_view name) const;

    std::size_t size() const { return fields_.size(); }

    /// Name and value of one of them.
    std::pair<std::string_view, std::string_view> operator[](std::size_t) const;

    void clear();
    void reserve_usual(); ///< room for the headers of one of SQS' answers

private:
    struct field {
        std::uint32_t name_at, name_size, value_size;
    };
    std::string text_;
    std::vector<field> fields_;
};

/// Which connections a request may use. The control lane never waits behind long polls.
enum class lane { data, control };

/// An HTTP/1.1 request, complete as it goes over the wire, so that it costs one write.
struct request {
    std::string text; ///< request line, headers with content-length, empty line, body

    /// Writes the text once a connection is free, where it must not be older; empty: the text is there. Called once,
    /// and before the exchange has ended.
    std::function<std::string()> write;

    lane via = lane::control;
    std::chrono::milliseconds timeout{10'000}; ///< from the call to the last byte of the answer
    bool long_poll = false;  ///< its timeout counts anew when it is sent: cut short, it would hide what it brings
    bool repeatable = false; ///< may be sent again when a kept-alive connection died before any byte of the answer
    bool is_bare = false;    ///< HEAD: the answer has no body, whatever its headers say

    request() = default;
    explicit request(std::string wire_text) : text(std::move(wire_text)) {}
};

struct response {
    int status = 0;
    headers fields;
    std::string body; ///< capacity exceeds size by at least `padding`, as SIMD parsers want it

    static constexpr std::size_t padding = 64;
};

} // namespace quern::net
