#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

namespace quern::relay::detail {

/// Rule for a web service that answers 429: how many messages a second it is given at most.
///
/// An answer of 429 is about its own message. It says something about other messages only if sending fewer brings as
/// many successes. That is so for a service with a fixed rate, not for messages that are refused one by one. The rule
/// tries a limit, and drops it if the successes fall.
///
///     no limit   half or more are refused, and as many admitted as usual,   1.1 of these: a trial
///                or requests come in crowds, with idle time between
///     limit      over 15 % refused, as many admitted as of more messages    1.1 of these
///                over 15 % refused, fewer admitted than of more             none; no trial for 5 s, then 10, 20, …
///                5 to 15 % refused                                          stays for ten windows, then grows once
///                fewer, or its growth brought more successes                grows by 1.25, 1.5, 2, 4, 4, …
///                half of it is asked for                                    none
///
/// A window is a second, or longer until it has enough answers, at most five. Time counts only while a request is
/// under way or the limit holds it back: what was put off comes again in crowds, and the time between tells nothing.
///
/// Trials begin at round times of the calendar, so that several programs begin theirs at once: one that asks for less
/// alone gets less.
///
/// Threads  one strand.
class refusal_rule {
public:
    /// Messages by their answer. Those without one, or with one that tells of a fault of the service, are in neither.
    struct counts {
        std::size_t admitted = 0; ///< the service took it up, if only to find fault with it
        std::size_t refused = 0;  ///< 429
    };

    /// Another limit from now on, and what it follows from.
    struct change {
        std::optional<double> limit; ///< messages a second; absent: none
        double refused = 0;          ///< part of the answers
        double admitted = 0;         ///< a second
    };

    void began(tick now); ///< a request
    void ended(tick now); ///< a request, also one without an answer

    std::optional<change> answered(counts, tick now, wall_time wall);

    /// Messages a second; absent: no limit.
    std::optional<double> limit() const;

private:
    struct window {
        tick::duration length{}; // negative: until it is 0, answers to what was sent before the change do not count
        tick::duration looked_at{};
        tick::duration idle{}; // no request was under way
        std::size_t admitted = 0, refused = 0;

        double answers() const { return static_cast<double>(admitted + refused); }
        double share() const { return static_cast<double>(refused) / answers(); }
        double rate() const { return static_cast<double>(admitted) / seconds(); }
        double asked() const { return answers() / seconds(); }
        double seconds() const { return std::chrono::duration<double>(length).count(); }
    };

    void pass_time(tick now);
    bool is_over();
    void look_for_trial(window const&, wall_time now);
    change begin_trial(wall_time now);
    double next_limit(window const&, wall_time now);
    double raised(window const&);
    double lowered(window const&, wall_time now);
    bool has_fallen(window const&) const;
    double usual_rate() const;

    std::size_t under_way_ = 0;
    std::optional<tick> seen_at_;
    window now_;
    std::deque<window> before_; // newest last

    double limit_ = 0; // 0: none
    wall_time limited_at_{};
    int raises_ = 0; // in a row
    int steady_ = 0; // windows in a row in which it stayed

    std::optional<wall_time> trial_at_;
    std::optional<wall_time> refuted_at_;
    std::chrono::seconds pause_{5}; // between two times at which a trial may begin
};

} // namespace quern::relay::detail
