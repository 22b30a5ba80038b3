#pragma once

#include <quern/broker/faults.hpp>
#include <quern/consumer/detail/message/message_life.hpp>
#include <quern/consumer/gate.hpp>
#include <quern/sim/detail/part.hpp>
#include <quern/sim/scenario.hpp>
#include <quern/sim/verdict.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace quern::sim::detail {

/// Requests by what they are about.
enum class errand { receive, remove, change, hand_off, other };
constexpr std::size_t errands = 5;
errand errand_of(std::string_view operation);

/// A fault: the harm that is done to a process or to a request of it. Made by the functions below.
using fault = std::size_t;

/// Faults of a spell, which all processes have at once.
enum class spell_kind { credentials_expired, without_handles, dependency_down, tenants_down };

fault fault_of(incident::kind);
fault fault_of(spell_kind);
fault fault_of(errand, broker::transport_fault);
fault entry_refused(errand, bool expired); ///< of a batch; `expired`: the receipt handle
fault lowered_policy();
fault damaged_message();

// Places of coverage; absent: there is none, because it can never be reached or means nothing.

std::optional<std::size_t> place_of(quern::detail::message_life::state, quern::detail::message_life::event);
std::optional<std::size_t> place_of(fault);
std::optional<std::size_t> place_of(fault, quern::detail::message_life::state);
std::optional<std::size_t> place_of(part::kind);
std::optional<std::size_t> place_of(verdict const&);
std::optional<std::size_t> place_of_breaker(bool of_a_key, bool closes);

/// The question that the gate answers.
enum class question { ask, ended, due };
std::optional<std::size_t> place_of(question, quern::gate::answer const&);

} // namespace quern::sim::detail
