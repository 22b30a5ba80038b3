#pragma once

#include <quern/sim/dice.hpp>
#include <quern/sim/scenario.hpp>

#include <chrono>

namespace quern::sim::detail {

// The spells of a day, drawn.

void weather(scenario&, dice&);       ///< a little of everything goes wrong
void outages(scenario&, dice&);       ///< one thing goes wrong always
void lose_receives(scenario&, dice&); ///< whose answers do not arrive

/// Faults as the queue has them, with that chance of a short answer.
broker::fault_settings with_short_answers(broker::fault_settings, double chance);

/// Faults as one process has them, with the latency of its network where they name none.
broker::fault_settings delayed(broker::fault_settings, std::chrono::milliseconds latency, int process);

/// The dependency, or the credentials, are gone for a while.
void blackouts(scenario&, dice&, bool spell::*what, std::chrono::milliseconds longest);

} // namespace quern::sim::detail
