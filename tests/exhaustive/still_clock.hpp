#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/detail/ask.hpp>

#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace quern::test {

/// The clock of one process of a search: moved by hand, together with those of others, and without a timer of the
/// system's. While its process sleeps nobody fires its timers.
class still_clock final : public clock {
public:
    explicit still_clock(tick const& now) : now_(now) {}

    tick now() const override { return now_; }
    wall_time wall() const override
    {
        return wall_time(std::chrono::duration_cast<wall_time::duration>(now_.time_since_epoch()));
    }
    std::unique_ptr<timer> make_timer(boost::asio::any_io_executor) override
    {
        return std::make_unique<waiter>(*this);
    }

    std::optional<tick> next() const
    {
        if (waits_.empty() || waits_.begin()->first == tick::max()) return {};
        return waits_.begin()->first;
    }

    /// Ends the first wait that is over; false when there is none.
    bool fire()
    {
        if (waits_.empty() || waits_.begin()->first > now_) return false;
        waits_.begin()->second->end(true);
        return true;
    }

private:
    class waiter;
    using waits = std::multimap<tick, waiter*>;

    class waiter final : public timer {
    public:
        explicit waiter(still_clock& of) : of_(of) {}
        ~waiter() override { unlist(); }

        boost::asio::awaitable<bool> wait_until(tick at) override
        {
            if (at <= of_.now_) co_return true;
            auto begin = [this, at](detail::asker<bool> who) {
                who_ = std::move(who);
                listed_ = of_.waits_.emplace(at, this);
            };
            auto wait = detail::ask<bool>(std::move(begin));
            bool const fired = co_await std::move(wait);
            co_return fired;
        }
        void cancel() override
        {
            if (listed_) end(false);
        }
        void end(bool fired)
        {
            unlist();
            std::exchange(who_, {}).tell(fired);
        }

    private:
        void unlist()
        {
            if (listed_) of_.waits_.erase(*listed_);
            listed_.reset();
        }

        still_clock& of_;
        std::optional<waits::iterator> listed_;
        detail::asker<bool> who_;
    };

    tick const& now_;
    waits waits_;
};

} // namespace quern::test
