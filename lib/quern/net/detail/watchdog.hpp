#pragma once

#include <quern/core/clock.hpp>

#include <boost/asio/steady_timer.hpp>

namespace quern::net {

/// One timer for the deadlines of many: it stands at the earliest, and a later one costs nothing. The owner, which is
/// kept in a shared_ptr, is told by enforce().
///
/// Threads  one strand: that of the executor given.
class watchdog {
public:
    explicit watchdog(boost::asio::any_io_executor ex) : timer_(std::move(ex)) {}

    /// Calls `owner.enforce()` at the deadline or before, and the watch is over.
    template <class Owner>
    void watch(Owner& owner, tick deadline)
    {
        if (deadline >= until_) return;
        until_ = deadline;
        timer_.expires_at(deadline);
        timer_.async_wait([this, self = owner.weak_from_this()](boost::system::error_code ec) {
            auto const alive = self.lock();
            if (!alive || ec) return;
            until_ = tick::max();
            alive->enforce();
        });
    }

    /// Stops watching.
    void rest()
    {
        timer_.cancel();
        until_ = tick::max(); // the cancelled wait does not reset it: the next deadline must arm the timer
    }

private:
    boost::asio::steady_timer timer_;
    tick until_ = tick::max();
};

} // namespace quern::net
