#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace quern::broker {

/// Content of a receipt handle: one receive of one message of one queue.
struct receipt {
    std::uint64_t queue = 0;
    std::uint64_t message = 0;
    std::uint64_t receive = 0; ///< distinct for every receive of the engine

    bool operator==(receipt const&) const = default;
};

/// Writes receipts as opaque handles that look and weigh like those of the service, and reads them back. O(1).
class receipt_codec {
public:
    static constexpr std::size_t size = 400; ///< characters; real handles begin with "AQEB" and have about as many

    explicit receipt_codec(std::uint64_t seed) : key_(seed) {}

    /// Fills `size` characters.
    void write(receipt const&, char* out) const;

    /// Absent for anything that write() did not write with the same seed, to the last character.
    std::optional<receipt> read(std::string_view handle) const;

    std::uint64_t key() const { return key_; }

private:
    std::uint64_t key_;
};

} // namespace quern::broker
