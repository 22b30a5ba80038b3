#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>

namespace quern {

/// A point on the steady clock; every deadline in Quern is one. The real clock goes on while the machine sleeps,
/// where steady_clock::now() stands still. Virtual in the simulator.
using tick = std::chrono::steady_clock::time_point;

/// The longest duration that a setting of a client may name: added to a tick it never overflows.
inline constexpr std::chrono::hours longest_wait{24};

/// A point on the calendar: signatures, first-receive times, reports.
using wall_time = std::chrono::system_clock::time_point;

/// One wait at a time for a point on the clock that made it.
///
/// Threads  one strand: the executor that it was made with.
class timer {
public:
    virtual ~timer() = default;

    /// Completes with true at or after `at`, with false when cancelled before.
    virtual boost::asio::awaitable<bool> wait_until(tick at) = 0;

    /// Ends the wait that is under way, if any.
    virtual void cancel() = 0;
};

/// The seam through which the whole framework sees time: the real clock, or one that jumps to the next timer.
///
/// Threads  now() and wall() from any thread.
class clock {
public:
    virtual ~clock() = default;
    virtual tick now() const = 0;
    virtual wall_time wall() const = 0;
    virtual std::unique_ptr<timer> make_timer(boost::asio::any_io_executor) = 0;
};

/// The time since the machine's start, sleep included, and system_clock, with Asio's timers. Lives as long as the
/// program.
clock& real_clock();

} // namespace quern
