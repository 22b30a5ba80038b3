#pragma once

#include <quern/policy/rate_limit.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace quern::app {

/// "50", "0.5", "30/min"; nothing when it is none of these.
std::optional<policy::rate> rate_from(std::string_view text);

/// Why it is no rate, for whoever typed it; empty when it is one.
std::string check_rate(std::string const& text);

} // namespace quern::app
