#pragma once

#include <quern/broker/agenda.hpp>
#include <quern/broker/engine.hpp>
#include <quern/broker/ids.hpp>
#include <quern/broker/receipt.hpp>

namespace quern::broker {

/// What all queues of an engine share.
struct services {
    explicit services(engine_options given)
        : options(std::move(given)), ids(options.seed), receipts(options.seed), faults(options.faults)
    {}

    engine_options options;
    caller from; ///< whom the call under way comes from
    agenda times;
    id_source ids;
    receipt_codec receipts;
    fault_plan faults;
    std::uint64_t last_number = 0; ///< of queues, messages, receives, polls and places in an order
};

} // namespace quern::broker
