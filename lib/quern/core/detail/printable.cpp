#include <quern/core/detail/printable.hpp>

#include <quern/core/detail/text/utf8.hpp>

#include <algorithm>
#include <string_view>

namespace quern::detail {
namespace {

bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f;
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
        auto const size = text::character_size(rest);
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

} // namespace quern::detail
