#pragma once

#include <string_view>

namespace quern::detail::text {

/// The text without the blanks around it.
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t")
{
    auto const begin = text.find_first_not_of(blanks);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

} // namespace quern::detail::text
