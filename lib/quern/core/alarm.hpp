#pragma once

#include <quern/core/clock.hpp>

#include <optional>
#include <utility>

namespace quern {

/// How a driver sleeps: until somebody rings, or until a deadline. A ring before the wait is not lost.
///
/// Threads  one strand: the executor that it was made with. One waiter.
class alarm {
public:
    alarm(clock& time, boost::asio::any_io_executor ex) : timer_(time.make_timer(std::move(ex))) {}

    /// Wakes the waiter, or the next one to come.
    void ring()
    {
        if (!std::exchange(rung_, true)) timer_->cancel();
    }

    /// Completes with true when rung, with false at the deadline. Without a deadline only a ring wakes.
    boost::asio::awaitable<bool> wait(std::optional<tick> until = {})
    {
        if (!rung_) co_await timer_->wait_until(until.value_or(tick::max()));
        co_return std::exchange(rung_, false);
    }

private:
    std::unique_ptr<timer> timer_;
    bool rung_ = false;
};

} // namespace quern
