#pragma once

#include <quern/core/clock.hpp>
#include <quern/policy/backoff.hpp>
#include <quern/policy/rolling_window.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>

namespace quern::policy {

/// Settings of a breaker. The defaults suit a dependency that a service calls at least a few times a second.
struct breaker_options {
    /// The time that is judged: long enough to tell an outage from a hiccup, short enough to stop within seconds.
    std::chrono::milliseconds window{10'000};

    /// The window moves on by its length through this: a tenth, so that an old failure leaves a second late at most.
    int buckets = 10;

    /// Fewer calls in the window than these say nothing about a ratio. During slow start as many are enough as may be
    /// in flight, because a relapse should not cost twenty messages a try.
    int min_calls = 20;

    /// The part of the calls that failed from which on it opens. Half: handlers also fail for reasons of their
    /// messages, and those must not stop everything.
    double failure_ratio = 0.5;

    /// Failures that one `unavailable` counts for. With 3, a quarter of the calls is enough to open: unlike a failure
    /// it cannot be the message's own fault.
    int unavailable_weight = 3;

    /// The number of `unavailable` that opens at once, without a success in between and whatever the window says. One
    /// may be a connection that broke; with three, each further message only spends one of its receives.
    int unavailable_in_a_row = 3;

    /// How long it stays open: 5 s, which a restart or a failover may take, doubled with each relapse to a minute,
    /// which bounds how late an end is noticed. Up to a quarter less at random: those who share the dependency should
    /// not all probe it together.
    backoff open_for =
        backoff::exponential(std::chrono::seconds(5), 2.0, std::chrono::seconds(60)).with(jitter::fraction(0.25));

    /// Calls in flight while half open, and successes that end it. One: enough to know, and one message risks a
    /// receive.
    std::size_t probes = 1;

    /// Slow start doubles the calls in flight after a round: as many more successes than failures as may be in
    /// flight, and at least this time. With 1 s, full speed is ten seconds away; caches and pools need about that.
    std::chrono::milliseconds slow_start_round{1'000};

    /// Slow start ends, and with it the limit, when so many calls may be in flight; the usual `max_in_flight`.
    /// Not above `probes`: no slow start.
    std::size_t full_speed = 1'000;

    /// The first setting that cannot work, by name.
    std::optional<failure> validate() const;
};

/// Decides how many calls to a dependency may be in flight, from how the calls ended.
///
///     closed ── too many failures ──▶ open ── open_for ──▶ half open ── probes succeeded ──▶ slow start ──▶ closed
///                                      ▲                       │                                 │
///                                      └────── failed ─────────┴── too many failures ────────────┘
///
/// Every call carries the ticket of its start. What is reported with a ticket from before the last opening is old
/// news, good or bad, and ignored: a handler that began in better times closes nothing. Those calls don't count as in
/// flight either, or one that hangs would keep the probe from starting. A call without a verdict (cancelled, its
/// lease lost) reports nothing. A probe must end some day: give handlers a time limit.
///
/// Threads  one strand.
class breaker {
public:
    enum class phase { closed, open, half_open, slow_start };
    enum class ticket : std::uint64_t {};
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    /// Requires  options.validate() found nothing.
    breaker(breaker_options options, std::uint64_t seed);

    /// How many calls with the current ticket may be in flight now: 0 when open, `probes` when half open, more and
    /// more during slow start, `unlimited` when closed.
    std::size_t allowance(tick now);

    /// For a call that starts now.
    ticket start() const { return current_; }

    void succeeded(ticket, tick now);
    void failed(ticket, tick now);

    /// The call found its dependency down: a failure that says more.
    void unavailable(ticket, tick now);

    /// A flag from outside, which halts everything as long as it is set. Then it is half open, and not closed: who
    /// set the flag had a reason. An opening that began before and is not over goes on.
    void force_open(bool);

    /// When to ask allowance() again although nothing was reported.
    std::optional<tick> wake_at() const;

    phase state() const { return phase_; }

    /// "open for 4 s more: 60 % of the calls failed"
    std::string explain(tick now) const;

private:
    void advance(tick now);
    void record(std::uint64_t weight, tick now);
    void open(tick until, std::string why);
    void reopen(tick now, std::string why);
    void close_if_at_full_speed();

    breaker_options options_;
    std::mt19937_64 random_;
    rolling_window window_;
    phase phase_ = phase::closed;
    ticket current_{};
    std::string why_; // it opened last
    bool forced_ = false;
    int openings_ = 0;             // since it was closed
    int unavailable_in_a_row_ = 0; // without a success in between
    tick open_until_{};
    std::size_t probed_ = 0;  // half open: successes
    std::size_t allowed_ = 0; // slow start: in flight
    std::size_t round_ = 0;   // slow start: successes less failures since `round_began_`
    tick round_began_{};
};

} // namespace quern::policy
