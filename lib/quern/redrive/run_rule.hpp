#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/policy/rate_limit.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace quern::redrive {

/// A rate that grows evenly.
struct ramp {
    double from = 1, to = 1; ///< messages a second; 0.1 to 100,000
    std::chrono::milliseconds over{0};
};

/// A few messages go first, and are watched before the others follow.
struct canary {
    std::size_t count = 0;
    std::chrono::milliseconds watch{0}; ///< from when the last of them could be received
};

/// A number of failures in a time.
struct failure_limit {
    std::size_t count = 0;
    std::chrono::milliseconds per{0};
};

/// How fast a run goes, and what ends it early. Absent: it does not.
struct run_limits {
    std::optional<double> rate{}; ///< messages sent a second
    std::optional<redrive::ramp> ramp{};
    std::optional<redrive::canary> canary{};

    /// The part of the sent messages that may come back; 0 to 1. A canary without it bears none.
    std::optional<double> stop_on_return{};

    std::optional<failure_limit> stop_on_failure{}; ///< sends that failed or were refused
    std::optional<std::size_t> limit{};             ///< messages sent or isolated

    /// How old the depth of a queue may be that SQS tells: a minute and a half. Zero where it is exact.
    std::chrono::milliseconds depth_lag{90'000};

    /// The first setting, or combination, that cannot work.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Decides when the next message may be sent, and when none may any more. Pure: all time comes with the events.
///
/// Returns are counted in two ways, of which the larger counts: messages that were received again, and growth of the
/// queue beyond what was taken out of it. The second sees what lies behind a hundred thousand others. It also sees
/// what the consumers of the source fail to handle now, which is as good a reason to stop.
///
/// Threads  one strand.
class run_rule {
public:
    run_rule(run_limits, tick now);

    enum class answer {
        go,      ///< counted as begun: sent(), gone() or withdrawn() says how it ended
        wait,    ///< ask again at `at`, or after the next event
        enough,  ///< the limit is reached: leave the message
        stopped, ///< see why_stopped()
    };
    struct turn {
        answer what;
        std::optional<tick> at;
    };

    /// Counts those that were sent or isolated before, or may have been, by a run of which this one is the rest.
    void begin_with(std::size_t count) { begun_ += count; }

    /// May one more begin? `paced`: it goes back to a consumer; else to the poison queue, at any rate. `again`:
    /// it was counted by begin_with().
    turn ask(tick now, bool paced = true, bool again = false);

    /// The message could be received `delay` from now.
    void sent(tick now, std::chrono::milliseconds delay);

    /// It left the dead-letter queue.
    void removed(tick now);

    /// Takes back a beginning that sent nothing: it may be tried again. `again`: it stays counted, see begin_with().
    void withdrawn(bool paced = true, bool again = false);

    void send_failed(tick now);
    void came_back();
    /// The queue's messages in all. `removed_before`: removed_count() when it was asked.
    void depth_is(std::size_t, std::size_t removed_before, tick now);

    /// Nothing could begin in that time: it is none of the ramp's, and the watch over a canary of which something was
    /// sent begins anew.
    void halted(tick since, tick now);

    /// Whether depth_is() makes a difference now.
    bool wants_depth() const { return canary_ != canary_phase::over || limits_.stop_on_return.has_value(); }

    /// Ends the run for a reason from outside. The first reason stays.
    void stop(std::string why)
    {
        if (!why_stopped_) why_stopped_ = std::move(why);
    }
    std::optional<std::string> const& why_stopped() const { return why_stopped_; }

    /// Time for which the canary is still watched, and nothing sent; nothing while it is not.
    std::optional<std::chrono::seconds> watches_for(tick now) const
    {
        if (canary_ != canary_phase::watching) return {};
        return std::chrono::ceil<std::chrono::seconds>(std::max(watch_until_ - now, tick::duration(0)));
    }

    std::size_t removed_count() const { return removed_; }
    std::size_t came_back_count() const { return std::max(seen_back_, grown_by_); }

private:
    enum class canary_phase { sending, watching, over };

    double rate_at(tick now) const;
    void pace(tick now);
    void judge();
    std::size_t removed_until(tick at) const;

    run_limits const limits_;
    std::optional<policy::rate_limit> bucket_;
    tick ramp_began_, paced_at_;
    canary_phase canary_;
    tick watch_until_;
    std::optional<std::size_t> first_depth_;
    tick depth_at_;
    std::deque<std::pair<tick, std::size_t>> removals_; // how many until then
    std::deque<tick> failures_;
    std::size_t begun_ = 0, paced_ = 0, sent_ = 0, removed_ = 0, seen_back_ = 0, grown_by_ = 0;
    double slowed_ = 1;
    tick slowed_at_;
    std::optional<std::string> why_stopped_;
};

} // namespace quern::redrive
