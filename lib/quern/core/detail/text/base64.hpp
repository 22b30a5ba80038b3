#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::detail::text {

/// RFC 4648, section 4: the alphabet with '+' and '/', padded.
std::string base64_encode(std::string_view bytes);
/// Writes four characters for each three bytes begun. Returns the end.
char* write_base64(char* to, std::string_view bytes);
void append_base64(std::string& out, std::string_view bytes);

/// Nothing when the text is not what base64_encode() makes of some bytes: a foreign character (also white space), a
/// missing or misplaced '=', stray bits in the last character.
std::optional<std::string> base64_decode(std::string_view text);

} // namespace quern::detail::text
