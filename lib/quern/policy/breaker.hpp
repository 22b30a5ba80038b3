#pragma once

#include <quern/core/clock.hpp>
#include <quern/policy/backoff.hpp>
#include <quern/policy/rolling_window.hpp>
#include <quern/policy/streak.hpp>

#include <array>
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

    /// Fewer calls in the window than these say nothing about a ratio.
    int min_calls = 20;

    /// The part of the calls that failed from which on it opens, if three messages at least are among those that
    /// failed. Half: handlers also fail for reasons of their messages, and those must not stop everything. 1: only
    /// when all fail, and so many in a row as ordinary failures do not explain.
    double failure_ratio = 0.5;

    /// Failures that one `unavailable` counts for. With 3, a quarter of the calls is enough to open: unlike a failure
    /// it is hardly ever the message's own fault.
    int unavailable_weight = 3;

    /// The number of messages that, having found it `unavailable` with nothing else in between, open at once,
    /// whatever the window says. Two may be connections that broke; with three, each further message only spends one
    /// of its receives. More are needed where some are always unavailable: as many as ordinary times bring in a row
    /// once in a million. 2 to 64: one message may have a fault of its own.
    int unavailable_in_a_row = 3;

    /// How long it stays open: 5 s, which a restart or a failover may take, doubled with each relapse to a minute,
    /// which bounds how late an end is noticed. Up to a quarter less at random: those who share the dependency should
    /// not all probe it together.
    backoff open_for =
        backoff::exponential(std::chrono::seconds(5), 2.0, std::chrono::seconds(60)).with(jitter::fraction(0.25));

    /// Calls in flight while half open, and good ones that end it. One: enough to know, and one message risks a
    /// receive. So many bad ones in a row open it again, more where calls often fail in ordinary times (as many as
    /// these bring in a row once in twenty, 64 at most). Opened often by failures, it has up to 8 in flight.
    std::size_t probes = 1;

    /// Slow start doubles the calls in flight each time that this is over, whatever becomes of them. With 1 s, full
    /// speed is ten seconds away; caches and pools need about that.
    std::chrono::milliseconds slow_start_round{1'000};

    /// Slow start ends, and with it the limit, when so many calls may be in flight; the usual `max_in_flight`.
    /// Not above `probes`: no slow start.
    std::size_t full_speed = 1'000;

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Decides how many calls to a dependency may be in flight, from how the calls ended.
///
///     closed ── an outage ──▶ open ── open_for ──▶ half open ── good probes ──▶ slow start ── by time ──▶ closed
///                              ▲                       │                            │
///                              └───── bad probes ──────┴───────── an outage ────────┘
///
/// An outage is told from messages that fail for reasons of their own: it takes several messages, and more news than
/// ordinary times explain (see `streak`). What one message says alone never opens it.
///
/// Every call carries the ticket of its start. What is reported with a ticket from before the last opening is old
/// news, good or bad, and ignored: a handler that began in better times closes nothing. Those calls don't count as in
/// flight either, or one that hangs would keep the probe from starting. A call without a verdict (cancelled, its
/// lease lost) reports nothing. A
/// probe that does not end is no verdict either: whoever waits for it says when to give it up, see no_answer().
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

    /// The call failed, perhaps by a fault of its message. `who`: a number that stands for the message.
    void failed(ticket, std::uint64_t who, tick now);

    /// The call found its dependency down: a failure that says more.
    void unavailable(ticket, std::uint64_t who, tick now);

    /// A probe has not ended for so long that nothing more is expected of it: half open it counts as a bad one, and
    /// the breaker opens again.
    void no_answer(ticket, tick now);

    /// A flag from outside, which halts everything as long as it is set. Then it is half open, and not closed: who
    /// set the flag had a reason. An opening that began before and is not over goes on.
    void force_open(bool);

    /// Other value of breaker_options::full_speed from now on.
    void set_full_speed(std::size_t n) { options_.full_speed = n; }

    /// When to ask allowance() again although nothing was reported.
    std::optional<tick> wake_at() const;

    phase state() const { return phase_; }

    /// Half open, one bad probe opens it again: in ordinary times such news is rare.
    bool one_probe_decides() const { return at_once() == 1 && bad_probes_needed() == 1; }

    /// Calls may be in flight, yet the latest of several messages found it unavailable, more of them in a row than
    /// ordinary times bring once in a hundred: a few more and it opens.
    bool in_doubt() const;

    /// "3 calls in a row found the dependency unavailable": the last opening's.
    std::string const& reason() const { return why_; }

    /// "open for 4 s more: 60 % of the calls failed"
    std::string explain(tick now) const;

private:
    /// The reason for which it is open decides what a probe has to show. Where it opened by failures, and several
    /// probes in a row find it unavailable, that is the reason from then on.
    enum class cause {
        unavailable, ///< or a flag: that it can be reached, even if the call fails
        failures,    ///< that a call succeeds
    };
    struct suspect {
        std::uint64_t who;
        tick at;
    };

    void advance(tick now);
    bool counts(ticket t) const { return t == current_ && phase_ != phase::open; }
    void record(bool found_down, std::uint64_t who, tick now);
    void probed(bool good, tick now, std::size_t bad_ones_needed);
    std::size_t patience() const;
    std::size_t at_once() const;
    void open(tick until, cause, std::string why);
    void reopen(tick now, cause, std::string why);
    void close_if_at_full_speed();
    void suspects(std::uint64_t who, tick now);
    bool several_fail(tick now) const;
    std::size_t bad_probes_needed() const;

    breaker_options options_;
    std::mt19937_64 random_;
    rolling_window window_;
    streak down_, failing_;                // unavailable; unavailable or failed
    std::array<suspect, 3> failed_last_{}; // different ones, the latest first
    std::size_t failed_ = 0;               // of these
    phase phase_ = phase::closed;
    ticket current_{};
    cause cause_ = cause::unavailable; // of the last opening
    std::string why_;
    bool forced_ = false;
    std::size_t opened_by_ = 0; // bad news in a row
    std::size_t in_vain_ = 0;   // probes since it opened
    int openings_ = 0;          // since it was closed
    tick open_until_{};
    std::size_t good_probes_ = 0, bad_probes_ = 0; // the latter in a row
    std::size_t down_probes_ = 0;                  // in a row, since it opened
    std::size_t allowed_ = 0;                      // slow start: in flight
    tick round_began_{};                           // of slow start
};

} // namespace quern::policy
