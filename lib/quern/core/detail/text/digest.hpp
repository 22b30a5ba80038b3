#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace quern::detail::text {

using sha256_digest = std::array<std::byte, 32>;
using sha1_digest = std::array<std::byte, 20>;

/// Digests of OpenSSL. Algorithms and contexts are fetched once a thread.
///
/// Throws  std::runtime_error when OpenSSL refuses.
/// Threads any.
sha256_digest sha256(std::string_view);
sha1_digest sha1(std::string_view);
sha256_digest hmac_sha256(std::string_view key, std::string_view text);

/// Parts that are hashed as one text.
using text_parts = std::span<std::string_view const>;
sha256_digest sha256(text_parts);
sha256_digest hmac_sha256(std::string_view key, text_parts);

/// The bytes of a digest as text, for use as a key.
inline std::string_view bytes_of(std::span<std::byte const> digest)
{
    return {reinterpret_cast<char const*>(digest.data()), digest.size()};
}

/// Lower-case hexadecimal.
std::string hex(std::span<std::byte const>);
void append_hex(std::string& to, std::span<std::byte const>);
void write_hex(char* to, std::span<std::byte const>); ///< two characters a byte

/// The same of a digest, in place.
template <std::size_t Size>
class hex_text {
public:
    explicit hex_text(std::array<std::byte, Size> const& digest) { write_hex(text_.data(), digest); }
    operator std::string_view() const { return {text_.data(), text_.size()}; }

private:
    std::array<char, 2 * Size> text_;
};

} // namespace quern::detail::text
