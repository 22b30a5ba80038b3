#pragma once

#include <cstddef>
#include <string_view>

namespace quern::test {

/// How often it stands in the text.
inline std::size_t occurrences(std::string_view text, std::string_view of)
{
    std::size_t out = 0;
    for (auto at = text.find(of); at != text.npos; at = text.find(of, at + 1))
        ++out;
    return out;
}

} // namespace quern::test
