#pragma once

#include <quern/consumer/delivery.hpp>
#include <quern/consumer/handler.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace quern::sim {

/// The parts of a message that a handler may look at.
struct one_message {
    std::string body;
    std::map<std::string, std::string> attributes{}; ///< by name; of the type String
    std::string group{};                             ///< MessageGroupId
    int receive_count = 1;
};

/// A message for the unit test of a handler: without a queue, a consumer or a lease. It keeps what it views; its
/// operations, ack() for one, succeed at once.
std::unique_ptr<delivery> make_delivery(one_message);

outcome run_to_outcome(handlers const&, delivery&, virtual_clock*);

/// Runs a handler of any shape that a consumer takes to its end, on an io_context of its own, and returns the
/// outcome: ack() where the handler returns nothing. `time`: the virtual clock by which the handler waits.
///
/// Throws what the handler throws; std::logic_error when it still waits and nothing is left that could wake it.
template <class F>
outcome run_handler(F handle, delivery& with, virtual_clock* time = nullptr)
{
    return run_to_outcome(quern::detail::make_handlers(std::move(handle)), with, time);
}

} // namespace quern::sim
