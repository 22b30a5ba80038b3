#pragma once

#include <quern/sim/dice.hpp>
#include <quern/sim/scenario.hpp>

#include <initializer_list>
#include <string_view>

namespace quern::sim::detail {

// What scenarios are put together from.

scenario common(dice&, std::string_view name, std::uint64_t seed);
void trouble(scenario&, dice&);   ///< handlers fail, hang, overrun their leases, reject
void crowd(scenario&, dice&);     ///< trouble, in up to three processes
void asking(scenario&, dice&);    ///< handlers await their own delete, or an extension of their lease
void insisting(scenario&, dice&); ///< handlers ask for deletes and await none; messages come twice, answers late
void crammed(scenario&, dice&);   ///< as much at once as there is
void incidents(scenario&, dice&, std::initializer_list<incident::kind>); ///< some of these
void ordered(scenario&, dice&);                                          ///< a FIFO queue
void short_leases(scenario&);      ///< so short that what waits behind its head needs no extension more
void fair_turns(scenario&, dice&); ///< tenants, with caps, weights and a look-ahead
void turns(scenario&, dice&);      ///< of limits, up to a dozen of each process
void functions(scenario&, dice&);
void few_calls(scenario&, dice&);
void share_client(scenario&, dice&); ///< that has fewer connections than there are long polls
void differ(scenario&, dice&);       ///< the settings of processes; several consumers and queues

/// The first messages of an outage that find it down on their last receive: a third one tells.
constexpr int unnoticed = 2;

// Whole scenarios. Most last for an hour or two, with messages that come all the time.

void dependency(scenario&, dice&);
void backlog(scenario&, dice&);
void flapping(scenario&, dice&);
void backlog_of_tenants(scenario&, dice&);
void tenants(scenario&, dice&);
void tenants_in_order(scenario&, dice&);
void orders_of_tenants(scenario&, dice&);
void outages_in_turn(scenario&, dice&);
void stubborn(scenario&, dice&);
void poisoned(scenario&, dice&);
void aged(scenario&, dice&);
void called(scenario&, dice&);
void swarm(scenario&, dice&);

} // namespace quern::sim::detail
