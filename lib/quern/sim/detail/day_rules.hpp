#pragma once

#include <quern/sim/scenario.hpp>
#include <quern/sim/witness.hpp>

#include <vector>

namespace quern::sim::detail {

/// The day as its processes have it, in turn: once, or with each of its versions.
std::vector<scenario> days_of(scenario const&);

/// The promises of such a day, which outlives them. `acks_unseen`: see witness::rules; some drawn handlers do, too.
witness::rules rules_of(scenario const&, bool acks_unseen);

} // namespace quern::sim::detail
