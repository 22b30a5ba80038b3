#include <quern/core/detail/text/exact_number.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace quern::detail::text {
namespace {

std::size_t behind_digits(std::string_view s, std::size_t at)
{
    return std::min(s.find_first_not_of("0123456789", at), s.size());
}

} // namespace

std::optional<std::string> exact_number(std::string_view s)
{
    bool const negative = s.starts_with('-');
    if (negative || s.starts_with('+')) s.remove_prefix(1);
    auto const whole_end = behind_digits(s, 0);
    auto const has_point = s.substr(whole_end).starts_with('.');
    auto const end = has_point ? behind_digits(s, whole_end + 1) : whole_end;
    std::string digits(s.substr(0, whole_end));
    if (has_point) digits += s.substr(whole_end + 1, end - whole_end - 1);
    if (digits.empty()) return {};

    auto rest = s.substr(end);
    std::int64_t exponent = 0;
    bool is_far = false; // too far for a comparison; but nothing, so many times, is nothing
    if (rest.starts_with('e') || rest.starts_with('E')) {
        rest.remove_prefix(1);
        bool const down = rest.starts_with('-');
        if (down || rest.starts_with('+')) rest.remove_prefix(1);
        if (rest.empty() || behind_digits(rest, 0) != rest.size()) return {};
        rest.remove_prefix(std::min(rest.find_first_not_of('0'), rest.size()));
        is_far = rest.size() > 18;
        if (!is_far) std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
        if (down) exponent = -exponent;
    } else if (!rest.empty()) {
        return {};
    }
    exponent -= static_cast<std::int64_t>(digits.size() - whole_end);
    digits.erase(0, digits.find_first_not_of('0'));
    if (digits.empty()) return "0";
    if (is_far) return {};
    auto const kept = digits.find_last_not_of('0') + 1;
    exponent += static_cast<std::int64_t>(digits.size() - kept);
    digits.resize(kept);
    return (negative ? "-" : "") + digits + 'e' + std::to_string(exponent);
}

} // namespace quern::detail::text
