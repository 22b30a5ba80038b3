#pragma once

#include <string>
#include <string_view>

namespace quern::detail {

/// The beginning of a text, safe in a log line and in an attribute of a message: printable ASCII.
inline std::string ascii_excerpt(std::string_view text, std::size_t longest)
{
    std::string out(text.substr(0, longest));
    for (auto& c : out) { // not even UTF-8: the cut may fall inside a character
        auto const byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte > 0x7e) c = '?';
    }
    return out;
}

} // namespace quern::detail
