#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/policy/backoff.hpp>
#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace quern::redrive {

/// How a dead message is judged, whatever queue it goes to.
struct plan_policy {
    /// How often a message is sent back, over all runs: its attribute x-redrive-attempt counts. Then it is poison. 1
    /// to 1000.
    int max_attempts = 5;

    /// The delay of the first attempt; each further one doubles it. Zero: none.
    std::chrono::milliseconds delay_base{60'000};

    /// The longest delay; at most 15 minutes, for which SQS delays a message, or 30 days where the run waits.
    std::chrono::milliseconds delay_max{900'000};

    /// A delay that is longer, or that a FIFO queue cannot give, is waited out hidden in the dead-letter queue rather
    /// than held. Takes a journal.
    bool waits = false;

    policy::jitter jitter = policy::jitter::none;

    /// Messages that this or another run sent at or after this moment (by the service's clock), and that have come
    /// back, are left where they are. Absent: they are sent again, until their attempts are over.
    std::optional<wall_time> cutoff;

    /// From when the delay of a message counts that waits here rather than in the queue that it goes to.
    wall_time began_at{};

    /// Every message is isolated, for this reason. Absent: they are judged one by one.
    std::optional<std::string> isolate_all;

    /// The first setting that cannot work.
    [[nodiscard]] std::optional<failure> validate() const;
};

enum class action {
    send,    ///< back to where it is to be tried again
    isolate, ///< to the poison queue
    skip,    ///< nothing: it stays in the dead-letter queue
};

/// A decision about one message, and its reason.
struct plan {
    action what = action::skip;
    std::string reason;         ///< of isolate and skip
    bool has_come_back = false; ///< it was sent by this run, or by another at the same time
    int attempt = 0;            ///< of this send: 1 for the first; otherwise how many there have been
    std::chrono::milliseconds delay{0};
    std::optional<wall_time> not_before; ///< of send, where the queue cannot delay the message so: wait first
    bool is_unmarked = false;            ///< of send: the copy has no count, which the journal has to keep
    sqs::send_message_entry copy;        ///< of send and isolate
};

/// The queues between which a message goes.
struct route {
    std::string_view from;   ///< the dead-letter queue's name
    std::string_view to;     ///< where it is sent, by name or URL; a FIFO queue's ends in ".fifo"
    std::string_view poison; ///< likewise; empty: there is none
};

/// Decides what becomes of a dead message. Pure: no clock, no queue.
///
///     x-redrive-attempt    | came back | room for ours | ->
///     no count             |           |               | isolate
///     max_attempts or more |           |               | isolate
///     fewer, or none       | yes       |               | skip
///     fewer, or none       | no        | no            | isolate, unchanged; with `counted` send, unchanged
///     n, or none: n = 0    | no        | yes           | send as attempt n + 1
///
/// A copy has the body, the attributes of every type, the trace header and the group. To these come x-redrive-attempt
/// (Number) and, where it has none, x-original-first-receive-timestamp (String, RFC 3339) and QuernOriginalId. With
/// less room, the time is in the first: "2 2026-01-02T03:04:05.678Z", a String; with room for one attribute, the id
/// is left out.
///
/// `counted`: the attempts that a journal has counted of a message without the attribute. Absent: nobody counts so.
plan plan_for(sqs::message const&, route const&, plan_policy const&, std::mt19937_64&,
    std::optional<int> counted = std::nullopt);

/// The copy for the poison queue: the message, and as far as there is room why it is there, its id, its source and
/// its first receive, under the names that a consumer's own poison copies have.
sqs::send_message_entry isolated_copy(sqs::message const&, route const&, std::string_view reason);

/// The past of a message, as far as it tells.
struct history {
    int attempts = 0;
    bool is_marked = false;     ///< it has been redriven
    bool is_readable = true;    ///< false: the attribute is there and no count
    std::string first_received; ///< as it stands there, or as the service knows it; empty: nobody does
    bool names_first = false;   ///< it has an attribute for it alone
};
history history_of(sqs::message const&);

} // namespace quern::redrive
