#pragma once

#include <quern/core/clock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <deque>

namespace quern::net::detail {

/// A coroutine's place in a line. It leaves the line with its frame, also when that is destroyed with the context.
class waiter {
public:
    using line = std::deque<waiter*>;

    waiter(boost::asio::any_io_executor ex, tick deadline, line& l) : timer_(std::move(ex), deadline), line_(l)
    {
        line_.push_back(this);
    }
    waiter(waiter const&) = delete;
    ~waiter() { std::erase(line_, this); }

    /// Completes when called, sent away or cancelled, or with no error at the deadline.
    auto turn() { return timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable)); }

    bool is_called() const { return called_; }

    /// It is this one's turn.
    void call()
    {
        called_ = true;
        timer_.cancel();
    }

    /// The wait is over, in vain.
    void send_away() { timer_.cancel(); }

private:
    boost::asio::steady_timer timer_;
    line& line_;
    bool called_ = false;
};

} // namespace quern::net::detail
