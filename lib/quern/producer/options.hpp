#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/policy/backoff.hpp>
#include <quern/producer/observer.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/telemetry/log.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace quern {

/// Settings of a producer. Every default is meant for production.
struct producer_options {
    /// Messages that the producer holds at once: those that wait for a request, for another try, or for an answer.
    /// Sends beyond it wait for room, in their order. Enough for a second at 10,000 messages a second.
    std::size_t max_buffered = 10'000;

    /// The same in bytes, bodies and attributes: 64 requests of the largest size. A larger message goes when it is
    /// alone.
    std::size_t max_buffered_bytes = 64 * sqs::max_message_bytes;

    /// How long a message may wait for others to share its request: about the time of a request within a region.
    /// Nothing waits when no request is under way. 0: no waiting, as long as a call is free.
    std::chrono::milliseconds linger{10};

    /// The most requests under way at once: as many as a client of the producer's own has connections. 16 are always
    /// allowed; more only if they bring more messages a second. See producer::explain().
    std::size_t max_calls = 64;

    /// How long after the call of send() a message may be tried, the time spent waiting for room included. A request
    /// that is under way by then is waited for. Long enough to get over a fail-over of the service. On FIFO queues at
    /// most 4 minutes, because SQS remembers a deduplication id for five (SQS API reference, SendMessage).
    std::chrono::milliseconds give_up_after{60'000};

    /// How often a message is tried; 0: as often as give_up_after allows. With 1, and a client that does not try
    /// again itself, a standard queue gets no message twice, and a message whose answer is lost may or may not be
    /// there.
    int max_attempts = 0;

    /// The pause before a message that failed is tried again: 100 ms, doubling to 5 s, half of it at random.
    policy::backoff backoff =
        policy::backoff::exponential(std::chrono::milliseconds(100), 2.0, std::chrono::milliseconds(5'000));

    /// FIFO queues: let several messages of one group share a request. Ten times fewer requests where groups are few,
    /// but when SQS fails one of them alone (InternalError), those behind it in the request are in the queue before
    /// it.
    bool gather_groups = false;

    /// FIFO queues: the queue has ContentBasedDeduplication, so messages without a deduplication id get none from the
    /// producer. Otherwise each gets one of its own, so that trying again cannot put it into the queue twice.
    bool content_based_deduplication = false;

    /// Where warnings go, standard error by default; as consumer_options::log.
    log_sink log = to_standard_error();

    /// Receives the end of each message, each request, and the requests of the client that the producer makes for
    /// itself. Null: none, which costs nothing.
    std::shared_ptr<producer_observer> observer{};

    /// Time; the real one when null. The simulator gives its own.
    clock* time = nullptr;

    /// Seeds jitter and deduplication ids; 0 takes them from the system. Anything else is for tests: two producers of
    /// one seed give the same ids.
    std::uint64_t seed = 0;

    /// The first setting, or combination, that cannot work.
    [[nodiscard]] std::optional<failure> validate(bool fifo) const;
};

} // namespace quern
