#include <quern/core/detail/printable.hpp>

#include <algorithm>
#include <string_view>

namespace quern {
namespace {

bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f;
}

/// Length of the UTF-8 sequence that the text begins with (RFC 3629, 4); 0 when it begins with none.
std::size_t sequence(std::string_view text)
{
    auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
    auto const lead = byte(0);
    if (lead < 0x80) return 1;
    std::size_t const size = lead >= 0xc2 && lead <= 0xdf ? 2
        : lead >= 0xe0 && lead <= 0xef                    ? 3
        : lead >= 0xf0 && lead <= 0xf4                    ? 4
                                                          : 0;
    for (std::size_t i = 1; i < size; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    bool const is_overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
    bool const is_no_character = (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf4 && byte(1) > 0x8f);
    return is_overlong || is_no_character ? 0 : size;
}

bool is_control(std::string_view character)
{
    auto const first = static_cast<unsigned char>(character[0]);
    if (character.size() == 1) return !is_plain(first);
    return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

} // namespace

std::string printable(std::string text)
{
    if (std::ranges::all_of(text, [](unsigned char c) { return is_plain(c); })) return text;
    std::string out;
    out.reserve(text.size());
    for (std::string_view rest = text; !rest.empty();) {
        auto const size = sequence(rest);
        auto const character = rest.substr(0, std::max<std::size_t>(size, 1));
        if (size == 0)
            out.push_back('?');
        else if (is_control(character))
            out.push_back(' ');
        else
            out.append(character);
        rest.remove_prefix(character.size());
    }
    return out;
}

} // namespace quern
