#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace quern::aws {

using sha256_digest = std::array<std::byte, 32>;
using sha1_digest = std::array<std::byte, 20>;
using md5_digest = std::array<std::byte, 16>;

/// Digests of OpenSSL. Algorithms and contexts are fetched once a thread.
///
/// Throws  std::runtime_error when OpenSSL refuses (MD5 in a FIPS provider).
/// Threads any.
sha256_digest sha256(std::string_view);
sha1_digest sha1(std::string_view);
md5_digest md5(std::string_view);
sha256_digest hmac_sha256(std::string_view key, std::string_view text);

/// The bytes of a digest as text, for use as a key.
inline std::string_view bytes_of(std::span<std::byte const> digest)
{
    return {reinterpret_cast<char const*>(digest.data()), digest.size()};
}

/// Lower-case hexadecimal.
std::string hex(std::span<std::byte const>);
void append_hex(std::string& to, std::span<std::byte const>);

} // namespace quern::aws
