#include <quern/core/detail/text/utf8.hpp>

#include <algorithm>
#include <functional>

namespace quern::detail::text {
namespace {

bool continues(char c)
{
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

} // namespace

std::size_t character_size(std::string_view text)
{
    auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
    auto const first = byte(0);
    if (first < 0x80) return text.empty() ? 0 : 1;
    std::size_t const size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (size == 0 || text.size() < size || !std::ranges::all_of(text.substr(1, size - 1), continues)) return 0;
    // Longer than need be, half of a pair, and beyond the last.
    bool const bad = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) ||
        (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F);
    return bad ? 0 : size;
}

std::size_t count_characters(std::string_view utf8)
{
    return static_cast<std::size_t>(std::ranges::count_if(utf8, std::not_fn(continues)));
}

void append_utf8(std::string& to, std::uint32_t point)
{
    if (point < 0x80) return to.push_back(static_cast<char>(point));
    int shift = point < 0x800 ? 6 : point < 0x10000 ? 12 : 18;
    std::uint32_t const size = shift == 6 ? 0xC0 : shift == 12 ? 0xE0 : 0xF0; // tells the size
    to.push_back(static_cast<char>(size | point >> shift));
    while ((shift -= 6) >= 0)
        to.push_back(static_cast<char>(0x80 | (point >> shift & 0x3F)));
}

std::string_view beginning(std::string_view utf8, std::size_t most)
{
    if (utf8.size() <= most) return utf8;
    while (most != 0 && continues(utf8[most]))
        --most;
    return utf8.substr(0, most);
}

std::string valid_utf8(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        auto const size = character_size(text);
        out.append(size == 0 ? "\uFFFD" : text.substr(0, size));
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return out;
}

} // namespace quern::detail::text
