#pragma once

#include <quern/consumer/detail/message/held.hpp>
#include <quern/consumer/detail/run/handler_channel.hpp>
#include <quern/core/task.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace quern::detail {

/// A coroutine that calls the handler with one message after the other: a new one for each message costs a third as
/// much as all the rest that is done for it (./dev guard, step `wait`).
///
/// Between two messages it waits. Whoever lets go of it then has it destroyed where handlers run.
///
/// Threads  begin() on its strand; it may be kept and destroyed on any.
class runner final : public handler_run {
public:
    explicit runner(compact_strand where) : handler_run(std::move(where), 1) {}

    /// Calls the handler with this message, which comes home through the channel; by then the runner waits again.
    /// Requires  it waits, or has never begun; and the message's `run` is this one.
    void begin(std::shared_ptr<handler_channel>, held_ptr);

private:
    boost::asio::awaitable<void> work();

    std::shared_ptr<handler_channel> home_; // of the next message; null while it runs
    held_ptr next_;
    std::optional<task> waits_; // goes on with that
};

} // namespace quern::detail
