#pragma once

#include <quern/core/error.hpp>
#include <quern/redrive/redriver.hpp>
#include <quern/redrive/run_rule.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace quern::app {

// Readers of what an option of `quern redrive` says; nothing when it is none of these.

/// "10/s", "30/min", in messages a second.
std::optional<double> per_second(std::string_view);

/// "1/s..200/s:10m"
std::optional<redrive::ramp> ramp_from(std::string_view);

/// "10:5m"
std::optional<redrive::canary> canary_from(std::string_view);

/// "5%"
std::optional<double> ratio_from(std::string_view);

/// "10/min"
std::optional<redrive::failure_limit> failure_limit_from(std::string_view);

/// "attr.type = \"x\" -> QUEUE", "/order/state != \"new\" -> QUEUE"; the target's url is QUEUE as it stands there.
[[nodiscard]] result<redrive::target> rule_from(std::string_view);

/// "45 s", "12 min", "3 h 20 min"
std::string time_text(std::chrono::seconds);

} // namespace quern::app
