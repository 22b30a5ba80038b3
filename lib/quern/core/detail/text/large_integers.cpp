#include <quern/core/detail/text/large_integers.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

namespace quern::detail::text {
namespace {

bool is_of_a_number(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

bool is_large_integer(std::string_view token)
{
    bool const is_negative = token.starts_with('-');
    auto const digits = token.substr(is_negative ? 1 : 0);
    if (digits.empty() || digits.front() == '0') return false;
    if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) return false;
    auto const* const end = token.data() + token.size();
    std::int64_t small = 0;
    std::uint64_t natural = 0;
    auto const ec =
        is_negative ? std::from_chars(token.data(), end, small).ec : std::from_chars(token.data(), end, natural).ec;
    return ec == std::errc::result_out_of_range;
}

/// Where the string that begins here has ended.
std::size_t behind_string(std::string_view json, std::size_t at)
{
    for (++at; at < json.size() && json[at] != '"'; ++at)
        if (json[at] == '\\') ++at;
    return std::min(at + 1, json.size());
}

} // namespace

std::string with_large_integers_as_texts(std::string_view json, std::string_view mark)
{
    std::string out;
    out.reserve(json.size() + 16);
    for (std::size_t at = 0; at < json.size();) {
        auto end = at + 1;
        if (json[at] == '"') {
            end = behind_string(json, at);
        } else if (is_of_a_number(json[at])) {
            while (end < json.size() && is_of_a_number(json[end]))
                ++end;
        }
        auto const token = json.substr(at, end - at);
        if (is_large_integer(token))
            out.append("\"").append(mark).append(token).append("\"");
        else
            out.append(token);
        at = end;
    }
    return out;
}

} // namespace quern::detail::text
