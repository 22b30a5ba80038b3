#include <quern/core/clock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <ctime>

namespace quern {
namespace {

namespace asio = boost::asio;

/// Asio's timers stand still while the machine sleeps; so soon after it wakes they notice.
constexpr std::chrono::seconds longest_nap{5};

tick::duration read(clockid_t which)
{
    timespec out{};
    ::clock_gettime(which, &out);
    return std::chrono::seconds(out.tv_sec) + std::chrono::nanoseconds(out.tv_nsec);
}

/// A timer whose waits may go on for a moment after it has gone.
class asio_timer final : public timer {
public:
    asio_timer(clock const& time, asio::any_io_executor ex)
        : time_(time), state_(std::make_shared<state>(asio::steady_timer(std::move(ex))))
    {}
    ~asio_timer() override { cancel(); }

    asio::awaitable<bool> wait_until(tick at) override
    {
        auto const& time = time_;
        auto const its = state_;
        its->is_cancelled = false;
        for (auto now = time.now();; now = time.now()) {
            its->alarm.expires_after(at <= now ? tick::duration(0) : std::min<tick::duration>(at - now, longest_nap));
            auto const [ec] = co_await its->alarm.async_wait(asio::as_tuple(asio::use_awaitable));
            if (ec || its->is_cancelled) co_return false;
            if (at <= time.now()) co_return true;
        }
    }

    void cancel() final
    {
        state_->is_cancelled = true; // between two naps nothing waits that could be cancelled
        state_->alarm.cancel();
    }

private:
    struct state {
        explicit state(asio::steady_timer its) : alarm(std::move(its)) {}

        asio::steady_timer alarm;
        bool is_cancelled = false;
    };

    clock const& time_;
    std::shared_ptr<state> const state_;
};

/// Leases go on while the machine sleeps (suspend, a snapshot that is restored), so the clock does. steady_clock
/// stands still meanwhile; until the first sleep of the program the two are the same.
class asio_clock final : public clock {
public:
    tick now() const override { return tick(read(CLOCK_BOOTTIME) - slept_before_); }
    wall_time wall() const override { return std::chrono::system_clock::now(); }
    std::unique_ptr<timer> make_timer(asio::any_io_executor ex) override
    {
        return std::make_unique<asio_timer>(*this, std::move(ex));
    }

private:
    tick::duration const slept_before_ = read(CLOCK_BOOTTIME) - read(CLOCK_MONOTONIC);
};

} // namespace

clock& real_clock()
{
    static asio_clock instance;
    return instance;
}

} // namespace quern
