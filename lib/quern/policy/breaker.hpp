#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace quern::policy {

struct breaker_options {
    /// Share of the usual work that goes on while an outage is suspected; 0 to 1. A little less than a tenth, so that
    /// with what it takes to suspect an outage no more than a tenth is spent. At least one message a second begins
    /// where it were more usually. Zero: one message every 15 s, for what must not be touched while it is ill.
    double share = 0.09;

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Decides how fast to work on what depends on one thing, from how its messages end.
///
///     closed ── as many fresh messages fail in a row as twice the longest such run ──▶ half open
///       ▲       that a success ended within the last hour; ten at least, over a second     │
///       └────────────────────────────────── a success ─────────────────────────────────────┘
///
/// Half open it never stops, for news of some messages may be mistaken for news of all: a share of the usual work
/// goes on. Closed again, twice as many messages may begin each second, from that share on. No news opens it: that is
/// said by somebody who knows, see consumer::report_outage().
///
/// News counts once: a message that has failed before says nothing about the others, however often it fails. A run
/// that a success ends was no outage of all, so what one tenant's burst looks like is mistaken once, and remembered.
///
/// Threads  one strand.
class breaker {
public:
    enum class phase { closed, open, half_open };

    /// Requires  options.validate() found nothing.
    explicit breaker(breaker_options const& options, tick now) : share_(options.share), counted_from_(now) {}

    phase state() const { return suspected_at_ ? phase::half_open : phase::closed; }

    /// Messages that may begin in a second; absent: any number.
    std::optional<double> limit(tick now);

    /// One more may begin now; if not, from when on.
    bool admits(tick now) { return !limit(now) || next_ <= now; }
    tick next() const { return next_; }

    void started(tick now);

    /// A message that began at `began_at` ended well. One that began before a run of failures ends the run, and tells
    /// nothing of how long such a run can be; while an outage is suspected, one that began before counts for nothing.
    void succeeded(tick began_at, tick now);

    /// A message failed. `fresh`: it had not failed before.
    void failed(bool fresh, tick now);

    /// Since when an outage has been suspected; absent: it is not.
    std::optional<tick> suspected_since() const { return suspected_at_; }

    /// "half open for 34 s, 2 a second until one succeeds: 12 in a row failed"
    std::string explain(tick now);

private:
    double usual(tick now);
    void count(tick now);

    // Starts of the last minute, in slots of ten seconds.
    static constexpr std::int64_t slots = 6;
    static constexpr std::chrono::seconds slot{10};

    double const share_;
    std::size_t run_ = 0; // fresh messages that failed, in a row
    tick run_began_{};
    std::size_t longest_ = 0; // such run that a success ended
    tick longest_at_{};
    std::optional<tick> suspected_at_;
    std::optional<tick> recovers_since_;
    double trickle_ = 0; // starts a second while suspected
    tick next_{};        // start, while there is a limit
    std::array<std::uint32_t, static_cast<std::size_t>(slots)> starts_{};
    tick counted_from_;
    std::int64_t newest_ = 0; // slot
};

} // namespace quern::policy
