#pragma once

#include <quern/core/detail/text/trimmed.hpp>

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace quern::detail::text {

/// The number that the text is, with nothing beside it.
template <class Number>
std::optional<Number> number_in(std::string_view text)
{
    Number out{};
    auto const* const last = text.data() + text.size();
    auto const [end, ec] = std::from_chars(text.data(), last, out);
    if (ec != std::errc() || end != last) return {};
    return out;
}

/// Takes what stands before the first `mark`, and the mark with it; without the blanks around it.
inline std::string_view take_piece(std::string_view& rest, char mark)
{
    auto const end = rest.find(mark);
    auto const out = trimmed(rest.substr(0, end));
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    return out;
}

} // namespace quern::detail::text
