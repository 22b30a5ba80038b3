#pragma once

#include <cstdint>

namespace quern {

/// Counts of what a consumer has done since its start.
template <class Number>
struct consumer_numbers {
    Number polls{};       ///< ReceiveMessage calls that ended
    Number empty_polls{}; ///< of these, without a message
    Number failed_polls{};
    Number repeated_polls{}; ///< of FIFO queues, because an answer was lost
    Number settle_calls{};   ///< calls that delete, change visibility, or send to the poison queue
    Number received{};       ///< messages, redeliveries included
    Number adopted{};        ///< redeliveries of a message held here: not run again
    Number damaged{};        ///< messages that arrived unreadable or with a wrong digest: not run
    Number acked{};          ///< deletes confirmed
    Number retried{};        ///< put off with a delay: failed, asked for it, or stood back
    Number released{};       ///< made visible again without a delay
    Number rejected{};  ///< handed to the poison queue or the dead-letter queue, or deleted where there is neither
    Number discarded{}; ///< of these, deleted
    Number malformed{}; ///< parse_error of the handler
    Number extended{};  ///< leases extended
    Number spilled{};   ///< put off by an outage on their last receive: the dead-letter queue takes them
    Number lost{};      ///< leases lost, or settlements that can no longer be made
};
using consumer_counters = consumer_numbers<std::uint64_t>;

} // namespace quern
