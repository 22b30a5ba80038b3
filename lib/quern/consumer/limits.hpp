#pragma once

#include <quern/core/error.hpp>
#include <quern/policy/rate_limit.hpp>

#include <cstddef>
#include <optional>

namespace quern {

/// How much a consumer does at once, and in a time: consumer_options::limits, and turned while it runs by
/// consumer::set_limits().
struct consumer_limits {
    /// Messages held at once: handlers running, and messages whose delete is not confirmed yet. This is the
    /// back-pressure: no receive asks for more than is free. Of a message group of a FIFO queue only the first
    /// message counts; those behind it wait for it, nine at most with SQS, and their bytes count. 1 to 120,000, the
    /// limit of SQS per queue.
    std::size_t max_in_flight = 1'000;

    /// Bytes held at once, of bodies, attributes and receipt handles, so that large messages cannot exceed the memory
    /// meant for `max_in_flight`: 256 MiB. The messages of one receive share a buffer, and all of it counts until the
    /// last of them is gone. A receive asks for as many messages as fit if they are as large as the largest of recent
    /// ones; receives under way may bring larger ones, 10 MiB each at most. When nothing is held, one message is
    /// received, of any size. At least 1 MiB, the largest message. Absent: any number.
    std::optional<std::size_t> max_bytes_in_flight = std::size_t(256) << 20;

    /// How many messages may start in a time: `policy::rate{.count = 50}` is 50 a second, and up to `burst` at once
    /// after a quiet time. No more are received than may start within a second (of a FIFO queue the first of each
    /// group counts); waiting messages have their leases extended. Absent: no limit.
    std::optional<policy::rate> rate{};

    /// The most long polls at once; 1 to 1000. The number adapts: full answers double it, one with a single message
    /// removes one, an empty one resets it to one, so that an idle queue costs one request every `wait_time`. 16,
    /// because sixteen full answers every 10 ms are 16,000 messages a second, more than most handlers take.
    std::size_t max_polls = 16;

    /// Calls of the handler at once, of a batch handler with several messages each; further messages wait, their
    /// leases extended, and only as many are received as the handlers take next. For handlers that share a scarce
    /// resource, such as ten connections of a database; `max_in_flight` also counts messages whose delete is not
    /// confirmed. 1 to 120,000. Absent: as many as `max_in_flight`.
    std::optional<std::size_t> handler_concurrency{};

    /// The first that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;

    bool operator==(consumer_limits const&) const = default;
};

} // namespace quern
