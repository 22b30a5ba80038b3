#pragma once

#include <cstdint>

namespace quern {

/// What a consumer has done since its start.
struct consumer_counters {
    std::uint64_t polls = 0;       ///< ReceiveMessage calls that ended
    std::uint64_t empty_polls = 0; ///< of these, without a message
    std::uint64_t failed_polls = 0;
    std::uint64_t repeated_polls = 0; ///< of FIFO queues, because an answer was lost
    std::uint64_t settle_calls = 0;   ///< DeleteMessageBatch and ChangeMessageVisibilityBatch calls
    std::uint64_t received = 0;       ///< messages, redeliveries included
    std::uint64_t adopted = 0;        ///< redeliveries of a message held here: not run again
    std::uint64_t damaged = 0;        ///< messages that arrived unreadable or with a wrong digest: not run
    std::uint64_t acked = 0;          ///< deletes confirmed
    std::uint64_t retried = 0;        ///< failed and put off
    std::uint64_t released = 0;       ///< made visible again at once
    std::uint64_t rejected = 0;       ///< handed to the poison queue, or deleted where there is none
    std::uint64_t malformed = 0;      ///< parse_error of the handler
    std::uint64_t extended = 0;       ///< leases extended
    std::uint64_t lost = 0;           ///< leases lost, or settlements that can no longer be made
};

} // namespace quern
