#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace quern::policy {

/// Bounds within which the number of calls at once finds itself.
struct automatic_concurrency {
    /// Calls at once that are always allowed, at least 1. One: a single CPU downstream is busy with one.
    std::size_t min = 1;

    /// Calls at once at most, `min` at least. 1,000: as many as max_in_flight lets in unless told otherwise.
    std::size_t max = 1'000;

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;

    bool operator==(automatic_concurrency const&) const = default;
};

/// End of one call, as far as it tells something about what is downstream.
enum class call_end {
    ok,          ///< handled
    failed,      ///< this message's own trouble
    unavailable, ///< downstream says that it is down
    timed_out,   ///< no answer in time
    throttled,   ///< downstream asks for less
};

/// Number of calls at once that keeps what is downstream busy, without a queue there: a hill climb on throughput.
///
/// Time is cut into windows: at least 250 ms, two mean durations and 30 calls, at most 30 s. Most of them run a
/// little above the middle of what was found, every fourth a little below, which tells what a call takes without a
/// queue. That time and the throughput above give the calls that would have been enough. Where all above the middle
/// was used, the middle follows, by steps that double at a start and when capacity returns; where it was not, the
/// middle falls to what was enough, at once if no chance explains it. When calls take longer even below the middle,
/// far fewer tell whether messages are slower or too many run. In doubt the limit is a little higher rather than
/// lower.
///
/// A window in which the limit was not reached, or work ran out, teaches nothing. Calls count as throughput when
/// they are `ok`. If half of the latest 32 or so are `unavailable`, `timed_out` or `throttled`, the limit
/// falls to 0.7 of itself, once in a window or mean duration; fewer may be messages' or tenants' own trouble.
///
/// Several processes in front of one downstream share it: of each a little too much is seen by all, and the one
/// with more gives back more. No call allocates but explain().
///
/// Threads  one strand.
class concurrency_rule {
public:
    /// Reason of the limit that stands: the first one; more calls brought more; more would not; a part of them
    /// waited downstream; calls take longer and far fewer are tried; too many were refused.
    enum class reason { start, more_helps, enough, fewer_do, unsure, refused };

    /// Requires  options.validate() found nothing.
    concurrency_rule(automatic_concurrency const&, tick now);

    /// A call began; so many run now, this one included.
    void began(std::size_t in_flight, tick now);

    /// A call ended after `took`; so many others still run. `more_waits`: work is there that only the limit holds
    /// back, or would.
    void ended(call_end, std::chrono::nanoseconds took, std::size_t in_flight, bool more_waits, tick now);

    /// Ends a window that is over.
    void poll(tick now)
    {
        if (is_over(now)) conclude(now);
    }

    /// Calls at once from now on; between min and max.
    std::size_t limit() const { return limit_; }

    /// When poll() has something to do if no call ends until then; never while no call has ended in this window.
    std::optional<tick> wake_at() const;

    /// Reason of the last decision.
    reason why() const { return why_; }

    /// The last decision in a line: "20 at once: more would bring nothing (398.2/s)", with the throughput
    /// of the last window that taught something.
    std::string explain() const;

private:
    struct window {
        tick from{};
        std::uint32_t ended = 0;
        std::uint32_t ok = 0;
        double took = 0, logs = 0; // of those: seconds, and their logarithms
        double failing = 0;        // seconds of calls that failed for their message's sake
        std::size_t most = 0;      // in flight
        std::uint32_t starved = 0; // ended while no work waited
    };
    struct figures { // of a window, or of several: means of logarithms
        double weight = 0, took = 0, typical = 0;
    };

    bool is_over(tick now) const;
    bool is_saturated() const { return now_.starved <= now_.ended / 10 && now_.most >= limit_ - limit_ / 10; }
    void learn(call_end, std::chrono::nanoseconds took);
    void refuse(tick now);
    void conclude(tick now);
    double learn_base(figures const&);
    void check_base(double change, tick now);
    void try_fewer(tick now);
    double knee(figures const&, double elapsed) const;
    void move(figures const&, double to, tick now);
    void next(reason, tick now);
    double noise() const;
    double smallest_step() const { return std::clamp(0.8 / std::sqrt(std::max(1.0, enough_for_)), 0.03, 0.3); }
    double bounded(double) const;
    std::size_t whole(double limit) const { return static_cast<std::size_t>(std::lround(bounded(limit))); }
    void set_limit(std::size_t, reason, tick now);

    automatic_concurrency options_;
    std::size_t limit_ = 1;
    reason why_ = reason::start;
    double middle_ = 1; // where the knee is thought to be
    double step_ = 1;   // how far above it the next window looks, of it
    bool low_ = true;   // this window is one below the middle: what a call takes without a queue
    int since_low_ = 0;
    int fewer_ =
        0; // times in a row that far fewer were tried: calls take longer for slower messages, or too many run
    double good_ = 0;    // the last limit of a climb under way at which nothing queued
    double ceiling_ = 0; // the limit at which the last climb ended; above it one climbs fast again
    window now_;
    figures base_;
    double shortest_ = std::numeric_limits<double>::max(); // base_.took, since messages have been known to be slower
    double throughput_ = 0;                                // of the last window that taught something, a second
    double enough_for_ = 100;                              // calls of such a window, by their noise
    double mean_ = 0, square_ = 0, durations_ = 0;         // seconds
    double refused_ = 0;                                   // share of the latest
    tick refused_at_ = tick::min();
};

} // namespace quern::policy
