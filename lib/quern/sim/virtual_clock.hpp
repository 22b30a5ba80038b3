#pragma once

#include <quern/core/clock.hpp>

#include <boost/asio/io_context.hpp>

#include <map>
#include <optional>

namespace quern::sim {

/// Time that stands still while there is work, and jumps to the next timer when there is none. An hour of
/// waiting takes as long as the work done in it.
///
/// Timers that are due together fire in the order in which their waits began. The steady and the calendar
/// view advance together; jump_wall() moves the calendar alone, as an administrator or NTP does.
///
/// Errors    a wait throws std::logic_error after a million waits of one moment ended at once: a coroutine loops on a
///           time that has passed.
/// Lifetime  outlives the io_context, whose unfinished coroutines refer to it.
/// Threads   one: that which runs the io_context.
class virtual_clock final : public clock {
public:
    explicit virtual_clock(wall_time start = wall_time(std::chrono::hours(24 * 365 * 56)))
        : wall_offset_(start.time_since_epoch())
    {}

    tick now() const override { return now_; }
    wall_time wall() const override
    {
        return wall_time(std::chrono::duration_cast<wall_time::duration>(wall_offset_ + now_.time_since_epoch()));
    }
    std::unique_ptr<timer> make_timer(boost::asio::any_io_executor) override;

    void jump_wall(wall_time::duration by) { wall_offset_ += by; }

    /// Runs the context until `end`, or until neither work nor a timer before `end` is left, and then stands at
    /// `end`. Returns the number of handlers run.
    std::size_t run_until(boost::asio::io_context&, tick end);
    std::size_t run_for(boost::asio::io_context& io, tick::duration d) { return run_until(io, now_ + d); }

    /// Runs until `done()` is true, checked whenever all work at one moment is finished; false when nothing is
    /// left to run before, or `limit` of virtual time has passed.
    template <class Done>
    bool run_until_done(boost::asio::io_context& io, tick::duration limit, Done done)
    {
        auto const end = now_ + limit;
        for (settle(io); !done(); settle(io)) {
            if (!fire_next(end)) return false;
        }
        return true;
    }

    /// When the next timer fires.
    std::optional<tick> next_timer() const;

    /// Jumps to the next timer, which fires; false when there is none until `end`. If you run several contexts,
    /// finish all work of the current moment in each of them before you call this.
    bool fire_next(tick end);

private:
    class virtual_timer;
    using waits = std::multimap<tick, virtual_timer*>;

    std::size_t settle(boost::asio::io_context&); // all work of this moment
    void count_idle_wait();

    tick now_{};
    wall_time::duration wall_offset_;
    waits waits_;
    std::size_t waits_now_ = 0; // of this moment, that ended at once
};

} // namespace quern::sim
