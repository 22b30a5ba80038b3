#pragma once

#include <quern/core/clock.hpp>
#include <quern/sim/scenario.hpp>

#include <map>
#include <string>
#include <vector>

namespace quern::sim::detail {

/// Judges what a day gave to messages whose tenant was up, beside what it gave them without a breaker. Both by the
/// times at which each message was handled.
std::vector<std::string> worse_for_the_healthy(
    scenario const&, std::map<int, tick> const& without, std::map<int, tick> const& with);

} // namespace quern::sim::detail
