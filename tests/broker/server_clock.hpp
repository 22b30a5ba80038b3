#pragma once

#include <quern/core/clock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <set>

namespace quern::test {

/// Time that stands still until a test moves it. Timers and advance() on one thread; reading from any.
class standing_clock final : public clock {
public:
    tick now() const override { return tick(since_); }
    wall_time wall() const override
    {
        return start_ + std::chrono::duration_cast<wall_time::duration>(since_.load());
    }
    std::unique_ptr<timer> make_timer(boost::asio::any_io_executor ex) override
    {
        return std::make_unique<standing_timer>(*this, std::move(ex));
    }

    /// The calendar goes on, or back, alone.
    void suspend(tick::duration by) { start_ += std::chrono::duration_cast<wall_time::duration>(by); }

    void advance(tick::duration by)
    {
        since_ = since_.load() + by;
        for (auto* const t : timers_)
            t->look();
    }

private:
    class standing_timer final : public timer {
    public:
        standing_timer(standing_clock& owner, boost::asio::any_io_executor ex) : owner_(owner), signal_(std::move(ex))
        {
            owner_.timers_.insert(this);
        }
        ~standing_timer() override { owner_.timers_.erase(this); }

        boost::asio::awaitable<bool> wait_until(tick at) override
        {
            at_ = at;
            if (at > owner_.now()) {
                signal_.expires_at(tick::max());
                co_await signal_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
            }
            at_ = tick::max();
            co_return at <= owner_.now();
        }
        void cancel() override { signal_.cancel(); }
        void look()
        {
            if (at_ <= owner_.now()) signal_.cancel();
        }

    private:
        standing_clock& owner_;
        boost::asio::steady_timer signal_;
        tick at_ = tick::max();
    };

    std::atomic<tick::duration> since_{std::chrono::hours(1)};
    wall_time start_ = std::chrono::system_clock::now();
    std::set<standing_timer*> timers_;
};

} // namespace quern::test
