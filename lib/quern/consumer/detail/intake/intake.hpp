#pragma once

#include <quern/consumer/detail/intake/backlog.hpp>
#include <quern/core/clock.hpp>

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <random>

namespace quern::detail {

/// The intake's rule: how many long polls, and how many messages each may bring.
///
/// A receive asks only for places that are free, and waits for ten of them (a quarter of `max_in_flight` when that is
/// less, 20 ms at the most), because a receive of one costs as much as a receive of ten. On an idle queue it asks for
/// no more than that: the first message answers it, and the places that it reserves may be lent. For the same reason
/// receives are paced once they bring all that arrives, and that is several messages within `latency`. While a
/// backlog waits, their number doubles with each answer and nothing paces them. Where `latency` is zero, so many are
/// open that an arriving message meets one that waits.
class intake {
public:
    /// `they_wait`: receives are long polls. `latency`: consumer_options::receive_latency.
    intake(std::size_t max_in_flight, std::size_t max_polls, std::uint64_t seed, bool they_wait = true,
        tick::duration latency = std::chrono::milliseconds(5))
        : max_in_flight_(max_in_flight), max_polls_(max_polls), random_(seed), they_wait_(they_wait),
          latency_(latency)
    {}

    /// From now on. What is under way stays so; below what is held or under way none begins.
    void set_limits(std::size_t max_in_flight, std::size_t max_polls);

    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    /// How many messages a receive that starts now should ask for; 0: none now. `held` counts those in flight here;
    /// `more` may come besides what is coming().
    int next_poll(std::size_t held, tick now, std::size_t more = unlimited);

    /// Messages that the receives under way may bring.
    std::size_t coming() const { return coming_; }

    /// `started`: when next_poll() said so. An empty answer that did not wait must not be asked for in a hot loop.
    void answered(int asked, int got, tick started, tick now);
    void failed(int asked, tick now);

    void stop() { stopped_ = true; }
    bool stopped() const { return stopped_; }

    std::size_t target() const { return target_; }                           ///< polls wanted at once
    std::size_t polls() const { return polls_; }                             ///< under way
    bool is_paced() const { return pace_ != tick::duration() && !stopped_; } ///< more arrive in a few milliseconds
    int failures() const { return failures_; }                               ///< in a row; stops counting at 16

    /// No receive begins before: receives fail, or come back empty without a wait.
    tick pauses_until() const { return not_before_; }

    /// The quickest answer of late that brought something; the longest duration: there is none yet.
    tick::duration quickest() const { return backlog_.quickest(); }

    /// When to ask next_poll() again although nothing else happened.
    std::optional<tick> wake_at() const { return wake_at_; }

private:
    void set_pace(int asked, int got, tick now);
    std::size_t together() const;
    void keep_one_waiting(tick::duration took);
    void look_for_backlog(int asked, int got, tick started, tick now);

    std::size_t max_in_flight_;
    std::size_t max_polls_;
    std::mt19937_64 random_;
    bool they_wait_;
    tick::duration latency_;
    std::size_t target_ = 1; // polls wanted
    std::size_t polls_ = 0;
    std::size_t coming_ = 0;
    int failures_ = 0; // in a row
    tick not_before_{};
    tick begun_at_{};                          // the last receive, or the first of those that begin together,
    std::size_t begun_ = 0;                    // of which so many have
    tick::duration pace_{};                    // from one beginning to the next; zero: as they come
    std::size_t full_ = 0;                     // full answers in a row
    tick brought_at_{};                        // the last answer that was not empty
    std::chrono::duration<double> arriving_{}; // of late, for so many
    double arrived_ = 0;
    bool idle_ = true; // the last answer was empty
    backlog backlog_;
    std::size_t target_before_ = 1;     // the try
    std::optional<tick> waiting_since_; // for more places to come free
    std::optional<tick> wake_at_;
    bool stopped_ = false;
};

} // namespace quern::detail
