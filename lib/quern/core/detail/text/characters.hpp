#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace quern::detail::text {

// All of ASCII, whatever the locale.

constexpr char lower_case(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower_case(std::string_view);

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b)
{
    return std::ranges::equal(a, b, [](char one, char other) { return lower_case(one) == lower_case(other); });
}

/// Value of a hexadecimal digit, in either case; -1 for what is none.
constexpr int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = lower_case(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// A percent sign that no two digits follow stands for itself.
std::string percent_decoded(std::string_view);

} // namespace quern::detail::text
