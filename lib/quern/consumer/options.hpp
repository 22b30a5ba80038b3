#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/policy/backoff.hpp>
#include <quern/telemetry/log.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace quern {

struct drain_report;

/// Settings of a consumer. Every default is meant for production.
struct consumer_options {
    /// Messages held at once: handlers running, and messages whose delete is not confirmed yet. This is the
    /// back-pressure: no receive asks for more than is free.
    std::size_t max_in_flight = 1'000;

    /// Long polls at once, at most. The number adapts: full answers double it, an empty one returns it to one,
    /// so that an idle queue costs one request every `wait_time`.
    std::size_t max_polls = 16;

    /// How long a receive waits for a message; 0 to 20 s, 20 is the cheapest. Shortened to two thirds of
    /// `drain_deadline`, because a drain lets the receives under way finish.
    std::chrono::seconds wait_time{20};

    /// The lease: how long a message stays hidden unless extended. Extended while its handler runs and until
    /// its delete is confirmed; 30 s bounds the delay after a crash. 3 s to 12 h.
    std::chrono::seconds visibility_timeout{30};

    /// The longest that one handler may run; then it is cancelled and its message tried again as one that failed.
    /// Zero: as long as its lease can be extended, 12 hours at most.
    std::chrono::milliseconds handler_timeout{0};

    /// When a message whose handler failed is tried again.
    policy::backoff backoff;

    /// How long an acknowledgement may wait for others to share a request. Nothing waits when no handler runs.
    std::chrono::milliseconds settle_linger{10};

    /// Batch requests for deletes and visibility changes under way at once.
    std::size_t max_settle_calls = 32;

    /// Budget of a drain that a signal starts, unless drain_on() is given another. At nine tenths of it, handlers
    /// still running are cancelled.
    std::chrono::milliseconds drain_deadline{30'000};

    /// System attributes to receive besides ApproximateReceiveCount and ApproximateFirstReceiveTimestamp.
    std::vector<std::string> system_attributes;

    /// User attributes to receive: names, "prefix.*" or "All".
    std::vector<std::string> attributes{"All"};

    /// Where handlers run; each runs on a strand of its own there. Absent: the executor of the consumer.
    std::optional<boost::asio::any_io_executor> handler_executor;

    log_sink log;

    /// Time; the real one when null. The simulator gives its own.
    clock* time = nullptr;

    /// Seeds the jitter; 0 takes one from the system.
    std::uint64_t seed = 0;

    /// The first setting, or combination, that cannot work.
    std::optional<failure> validate() const;
};

} // namespace quern
