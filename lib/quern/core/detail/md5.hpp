#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace quern::detail {

using md5_digest = std::array<std::byte, 16>;

/// MD5 (RFC 1321) of each text, up to sixteen at once: within one text each step waits for the one before it, so as
/// many side by side as a receive brings bodies take hardly longer. OpenSSL takes one at a time, and has no MD5 where
/// FIPS rules.
///
/// SQS counts on it to notice damage; it protects nothing from anybody.
///
/// texts   any number, of any sizes; `to` has as many places.
/// Threads any.
void md5(std::span<std::string_view const> texts, std::span<md5_digest> to);

md5_digest md5(std::string_view);

} // namespace quern::detail
