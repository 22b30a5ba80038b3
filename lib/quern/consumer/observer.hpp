#pragma once

#include <quern/consumer/drain_report.hpp>
#include <quern/consumer/limits.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/policy/breaker.hpp>
#include <quern/sqs/request_observer.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

namespace quern {

/// A message in an event, and its durations so far; those of what is not over are zero. The views hold during the
/// call.
struct observed_message {
    std::string_view id;
    std::string_view group; ///< empty when it has none, or consumer_options::system_attributes does not ask for it
    int receive_count = 0;

    /// sent -> received, by the service's clock; earlier tries included. Absent unless observer::wants_queued() says
    /// yes.
    std::optional<std::chrono::milliseconds> queued;
    tick::duration waited{};   ///< received -> began
    tick::duration handled{};  ///< began -> ended
    tick::duration settling{}; ///< ended -> settled

    /// Words of the handler, in ended(): its exception, what it found (outcome::because()), its reason to reject;
    /// empty when it said nothing. `status`: of a web service's answer, or of a command; 0: neither.
    std::string_view said;
    int status = 0;
};

/// How a handler ended.
enum class handler_end {
    returned,
    threw,
    unreadable, ///< it threw parse_error
    timed_out,  ///< it was cancelled after handler_timeout, and threw
    cancelled,  ///< its lease was lost or a drain ran out of time, and it threw
    called_off, ///< it had not begun, after all
};

/// How a message's time here ended. What is still held at the end of a drain has none of these: the report counts it.
enum class message_end {
    deleted,
    rejected,   ///< handed to the poison queue, or deleted where there is none
    put_off,    ///< it comes again, later
    released,   ///< visible again without a delay
    lost,       ///< its lease was lost: it comes again, here or elsewhere
    came_again, ///< it was given back, and received again before that was confirmed; another time here has begun
};

/// Limits of what may be under way at once, as far as the consumer moves them.
struct observed_limits {
    std::size_t polls = 0;  ///< receives
    std::size_t places = 0; ///< messages: max_in_flight, or fewer in bad times
    bool operator==(observed_limits const&) const = default;
};

/// Somebody who is told what a consumer does, as it does it. Override what you want to know: the rest is empty.
///
/// Order     received() comes first and settled() last for each message, each once; in between began() and ended() in
///           turns, and lease_extended() and lease_lost() at any time. docs/guide/telling.md has all of it in a
///           table.
///
/// Every event costs the consumer the time that you take: do not block, and do not call back into the consumer's
/// handlers. An exception is logged.
///
/// Threads   the consumer's strand, one call at a time; requests of a client that several share come on that
///           client's.
/// Lifetime  the consumer's share of it lasts until the drain has ended.
class observer : public sqs::request_observer {
public:
    /// Whether events tell how long a message was in the queue; asked once, when the consumer is made. No: it is the
    /// dearest thing to tell, because SQS has to send along when each message was sent. docs/design/performance.md
    /// has figures.
    virtual bool wants_queued() const { return false; }

    virtual void received(observed_message const&) {}

    /// It was handed to its handler; with handler_executor, its handler has a thread.
    virtual void began(observed_message const&) {}

    /// `verdict`: what the consumer makes of it, after `classify` and `on_malformed`. After a delete that the handler
    /// has awaited, or a lost lease, it changes nothing.
    virtual void ended(observed_message const&, handler_end, outcome::kind /*verdict*/) {}

    /// SQS has confirmed that the message stays hidden for so long.
    virtual void lease_extended(observed_message const&, std::chrono::seconds) {}
    virtual void lease_lost(observed_message const&) {}

    /// `again`: after how long it is visible again, of message_end::put_off.
    virtual void settled(observed_message const&, message_end, std::chrono::seconds /*again*/) {}

    virtual void receive_failed(failure const&, int /*in_a_row*/) {}

    /// `dependency`: its name, empty where outage_options::dependency gives none.
    virtual void breaker_changed(
        std::string_view /*dependency*/, policy::breaker::phase /*from*/, policy::breaker::phase /*to*/)
    {}
    virtual void limits_changed(observed_limits const&) {}

    /// Somebody has turned limits; `now` has each of them.
    virtual void limits_set(consumer_limits const& /*now*/) {}

    virtual void drain_began(std::chrono::milliseconds /*limit*/) {}
    virtual void drain_cancels() {} ///< the handlers that still run
    virtual void drain_ended(drain_report const&) {}
};

} // namespace quern
