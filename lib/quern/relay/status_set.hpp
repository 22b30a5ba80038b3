#pragma once

#include <quern/core/error.hpp>

#include <bitset>
#include <string_view>

namespace quern::relay {

/// HTTP statuses, written as "2xx,408,502-504"; an empty text is no status.
class status_set {
public:
    status_set() = default;

    /// Fails with  errc::invalid_option  a sentence with the part that is none
    [[nodiscard]] static result<status_set> parse(std::string_view text);

    /// The same of a text in the program.
    ///
    /// Throws  boost::system::system_error
    explicit status_set(std::string_view text) : status_set(parse(text).value()) {}

    bool contains(int status) const
    {
        return status >= 0 && status < size && holds_[static_cast<std::size_t>(status)];
    }
    bool is_empty() const { return holds_.none(); }

private:
    static constexpr int size = 600;

    std::bitset<size> holds_;
};

} // namespace quern::relay
