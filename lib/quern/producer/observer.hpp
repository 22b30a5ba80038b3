#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/sqs/request_observer.hpp>

#include <cstddef>
#include <string_view>

namespace quern {

/// A message that a producer is done with. The views hold during the call.
struct observed_send {
    std::string_view message_id; ///< that of SQS; empty of one that failed
    std::string_view group;      ///< empty when it has none
    int attempts = 0;            ///< requests that it was part of
    tick::duration took{};       ///< since send()
};

/// Somebody who is told what a producer does, as it does it. Override what you want to know: the rest is empty.
///
/// Every event costs the producer the time that you take: do not block. An exception is logged.
///
/// Threads   the producer's strand, one call at a time; requests of a client that several share come on that
///           client's.
/// Lifetime  the producer's share of it lasts until everything has been told.
class producer_observer : public sqs::request_observer {
public:
    /// SQS has confirmed it.
    virtual void sent(observed_send const&) {}

    /// It was refused, or its time is up, or its sender was cancelled; it may be in the queue all the same.
    virtual void send_failed(observed_send const&, failure const&) {}

    /// A request has ended, with so many messages, of which so many were not confirmed: they are tried again, or
    /// send_failed().
    virtual void batch_done(std::size_t /*messages*/, std::size_t /*unconfirmed*/, tick::duration /*took*/) {}
};

} // namespace quern
