#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace quern::policy {

struct breaker_options {
    /// Share of the usual work that goes on while an outage is suspected; 0 to 1. A little less than a tenth, so that
    /// an outage costs a tenth at most, with the messages that revealed it. At least one
    /// message a second begins if more began before, and one every 15 s in any case. Zero: one message every 15 s,
    /// for a dependency that must not be touched while it is down.
    double share = 0.09;

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Decides how fast to work on what depends on one thing, from how its messages end.
///
///     closed ── fresh messages fail in a row, over a second: ten, or twice the longest ──▶ half open
///       ▲       partial run of the last hour, if that is more                                │
///       └─────────────────────────────────── a success ──────────────────────────────────────┘
///
/// Half open, a share of the usual work goes on, because a part that fails may look like a whole that fails. Closed
/// again, twice as many messages may begin each second, from that share on. No news opens it: that is said by
/// somebody who knows, see consumer::report_outage().
///
/// News counts once: a message that has failed before says nothing about the others, however often it fails. Messages
/// that are tried again show what their run was. Once four more of them have failed than succeeded, while others
/// succeed, only a part was ill, one tenant for instance, and the breaker remembers the length of that partial run.
/// If four more succeed, it was an outage, and nothing is remembered: the next one is noticed as soon.
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

    /// Closed again, and not yet at full speed.
    bool recovers(tick now) { return !suspected_at_ && limit(now); }

    /// Full speed at once, for somebody else sees to it that not too many begin.
    void recover() { recovers_since_.reset(); }

    /// Somebody has mended something, perhaps: one may begin at once.
    void probe(tick now) { next_ = std::min(next_, now); }

    /// Meaning of a success.
    enum class meaning {
        nothing, ///< it counts for nothing
        well,    ///< the run of failures is over, if there was one
        over,    ///< and so is the outage of the last run: those that failed in it succeed now
    };

    /// A message that began at `began_at` ended well. One that began before a run of failures ends the run, and tells
    /// nothing of how long such a run can be; while an outage is suspected, one that began before counts for nothing.
    /// `again`: it had failed before.
    meaning succeeded(tick began_at, bool again, tick now);

    enum class failing {
        fresh,   ///< the message had not failed before
        counted, ///< nor had this one, but somebody has counted its key in this run: it says nothing new
        again,   ///< the message had failed before
    };
    void failed(failing how, tick now);

    /// Somebody who knows more says that nothing works. Changes nothing where that is known.
    void suspect(tick now);

    /// Since when an outage has been suspected; absent: it is not.
    std::optional<tick> suspected_since() const { return suspected_at_; }

    /// "half open for 34 s, 2 a second until one succeeds: 12 in a row failed"
    std::string explain(tick now);

private:
    /// A run that a success ended, and how its messages end when they are tried again.
    struct trial {
        std::size_t length = 0; // 0: there is none
        tick at{};
        int lead = 0;    // of those that succeeded over those that failed
        int pending = 0; // failures since the last success: they do not count if an outage has begun with them
    };

    meaning learn(bool again);
    double usual(tick now);
    void count(tick now);

    // Starts of the last minute, in slots of ten seconds.
    static constexpr std::int64_t slots = 6;
    static constexpr std::chrono::seconds slot{10};

    double const share_;
    std::size_t run_ = 0; // fresh messages that failed, in a row
    tick run_began_{};
    double usual_before_ = 0; // starts a second, when the run began
    bool proven_ = false;     // something has succeeded
    trial trial_;
    std::size_t longest_ = 0; // partial run
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
