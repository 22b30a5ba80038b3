#pragma once

#include <quern/core/clock.hpp>

#include <chrono>

namespace quern::test {

/// When a test begins that asks nobody for the time. Not zero, so that there is a time before it.
inline constexpr tick t0{std::chrono::hours(1)};

} // namespace quern::test
