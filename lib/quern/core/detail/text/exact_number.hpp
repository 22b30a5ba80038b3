#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::detail::text {

/// One text for all ways to write a number: 1, 1.0, +1 and 10e-1 are "1e0", 0 and -0 are "0". Exact, however many
/// digits it has. Absent where it is no number, or its exponent has more than 18 digits. Besides JSON it takes "+1",
/// ".5", "5." and "007", as people write them into attributes of the type Number.
[[nodiscard]] std::optional<std::string> exact_number(std::string_view text);

} // namespace quern::detail::text
