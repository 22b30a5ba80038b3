#pragma once

#include <quern/sim/dice.hpp>
#include <quern/sim/scenario.hpp>

#include <initializer_list>
#include <string_view>

namespace quern::sim {

// What scenarios are put together from.

scenario common(dice&, std::string_view name, std::uint64_t seed);
void trouble(scenario&, dice&);
void crowd(scenario&, dice&);
void asking(scenario&, dice&);
void incidents(scenario&, dice&, std::initializer_list<incident::kind>);
void ordered(scenario&, dice&);
void short_leases(scenario&);
void fair_turns(scenario&, dice&);
void turns(scenario&, dice&); ///< of limits, up to a dozen of each process
void functions(scenario&, dice&);
void few_calls(scenario&, dice&);
void share_client(scenario&, dice&); ///< that has fewer connections than there are long polls
void differ(scenario&, dice&);       ///< the settings of processes; several consumers and queues

// Whole scenarios. The latter five last for an hour or two, with messages that come all the time.

void dependency(scenario&, dice&);
void backlog(scenario&, dice&);
void flapping(scenario&, dice&);
void backlog_of_tenants(scenario&, dice&);
void tenants(scenario&, dice&);
void tenants_in_order(scenario&, dice&);
void orders_of_tenants(scenario&, dice&);
void stubborn(scenario&, dice&);
void poisoned(scenario&, dice&);
void aged(scenario&, dice&);

} // namespace quern::sim
