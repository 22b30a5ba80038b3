#pragma once

#include <quern/broker/journal.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace quern::broker::detail {

/// Content of a receipt handle: one receive of one message of one queue.
struct receipt {
    std::uint64_t queue = 0;
    std::uint64_t message = 0;
    std::uint64_t receive = 0; ///< distinct for every receive of the engine

    bool operator==(receipt const&) const = default;
};

/// A key drawn by the system.
receipt_key drawn_receipt_key();
/// Equal seeds, equal keys: for tests and simulations only.
receipt_key receipt_key_of(std::uint64_t seed);

/// Writes receipts as opaque handles and reads them back. Whoever has handles but not the key can make no other one:
/// each field is in a block of AES of its own, with as many bits that have to be zero.
class receipt_codec {
public:
    static constexpr std::size_t size = 68; ///< characters; real handles begin with "AQEB" too, and are longer

    explicit receipt_codec(receipt_key const&);
    ~receipt_codec();
    receipt_codec(receipt_codec&&) noexcept;
    receipt_codec& operator=(receipt_codec&&) noexcept;

    /// Fills `size` characters.
    void write(receipt const&, char* out) const;

    /// Absent for anything that write() did not write with the same key, to the last character.
    std::optional<receipt> read(std::string_view handle) const;

    receipt_key const& key() const { return key_; }

private:
    struct ciphers;
    receipt_key key_;
    std::unique_ptr<ciphers> ciphers_;
};

} // namespace quern::broker::detail
