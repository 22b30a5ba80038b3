#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quern::detail::text {

/// Bytes of the character that the text begins with, in its shortest form (RFC 3629, 4); 0: with none.
std::size_t character_size(std::string_view text);

/// Characters in UTF-8: bytes that continue one do not count.
std::size_t count_characters(std::string_view utf8);

/// Appends a character, which is one of Unicode.
void append_utf8(std::string& to, std::uint32_t point);

/// The beginning of UTF-8, as long as may be, and no character cut in two.
std::string_view beginning(std::string_view utf8, std::size_t most);

/// The text with U+FFFD for each byte that is no UTF-8: a JSON or XML document with such a byte cannot be read.
std::string valid_utf8(std::string_view);

} // namespace quern::detail::text
