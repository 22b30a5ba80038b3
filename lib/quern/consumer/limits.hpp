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
    /// back-pressure: no receive asks for more than is free. 1 to 120,000, the limit of SQS per queue.
    std::size_t max_in_flight = 1'000;

    /// Bytes held at once, of bodies, attributes and receipt handles, so that large messages cannot fill the memory
    /// that `max_in_flight` was meant for: 256 MiB. The messages of one receive share a buffer, and all of it counts
    /// until the last of them is gone. A receive asks for as many messages as fit if they are as large as the largest
    /// of late; those under way may bring larger ones, 10 MiB each at the most. Nothing held: one message is
    /// received, of any size. At least 1 MiB, the largest message. Absent: any number.
    std::optional<std::size_t> max_bytes_in_flight = std::size_t(256) << 20;

    /// How many messages may begin to be handled in a time: `policy::rate{.count = 50}` is 50 a second, and up to
    /// `burst` at once where none came before. No more are received than may begin within a second (of a FIFO queue
    /// the heads of groups count); what still has to wait has its lease extended. Absent: as many as come.
    std::optional<policy::rate> rate;

    /// Long polls at once, at most; 1 to 1000. The number adapts: full answers double it, one with a single message
    /// takes one away, an empty one returns it to one, so that an idle queue costs one request every `wait_time`. 16,
    /// because sixteen full answers every 10 ms are 16,000 messages a second, more than most handlers take.
    std::size_t max_polls = 16;

    /// Calls of the handler at once, of a batch handler with several messages each; what is received beyond them
    /// waits, its lease extended, so no more is than they can take next. For handlers that share something scarce, as
    /// ten connections of a database, while `max_in_flight` also bounds what is being settled. 1 to 120,000. Absent:
    /// as many as `max_in_flight`.
    std::optional<std::size_t> handler_concurrency;

    /// The first that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;

    bool operator==(consumer_limits const&) const = default;
};

} // namespace quern
