#include <quern/core/detail/text/characters.hpp>

namespace quern::detail::text {

std::string lower_case(std::string_view text)
{
    std::string out(text);
    for (char& c : out)
        c = lower_case(c);
    return out;
}

std::string percent_decoded(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        bool const has_two = text[i] == '%' && i + 2 < text.size();
        int const high = has_two ? hex_digit(text[i + 1]) : -1, low = has_two ? hex_digit(text[i + 2]) : -1;
        bool const is_encoded = high >= 0 && low >= 0;
        out.push_back(is_encoded ? static_cast<char>(high << 4 | low) : text[i]);
        if (is_encoded) i += 2;
    }
    return out;
}

} // namespace quern::detail::text
