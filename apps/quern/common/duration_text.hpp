#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::app {

/// "30s", "250ms", "1m30s", "1.5h": numbers with units, as Go writes durations; d, h, m or min, s, ms. A number alone
/// counts seconds, as SQS does. Nothing when it is none, or longer than a year.
std::optional<std::chrono::milliseconds> duration_from(std::string_view);

/// "30s", "1m30s", "12h", "250ms"
std::string duration_text(std::chrono::milliseconds);

/// "65536", "64KiB", "1MiB", "1GiB"; nothing when it is none.
std::optional<std::uint64_t> bytes_from(std::string_view);

} // namespace quern::app
