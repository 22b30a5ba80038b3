#pragma once

#include <quern/consumer/detail/message/ledger.hpp>
#include <quern/consumer/outcome.hpp>
#include <quern/policy/breaker.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace quern::detail {

/// The rule of bad times: how many messages may be worked on while what handlers depend on is down, or the user has
/// paused, and what becomes of those that are here already.
///
/// Receives stop. A message that may not run goes back, later and not with all the others. Two kinds wait here instead,
/// their leases extended: one to probe with, so that probing costs no receive, and every message on its last receive
/// before the dead-letter queue, which an outage must not fill.
class outage {
public:
    /// What a handler's end says about its dependency.
    enum class sign { none, good, bad, down };

    /// Reasons of the message itself say nothing.
    static sign sign_of(outcome const&);

    /// No breaker: only pausing is left.
    outage(std::optional<policy::breaker_options>, std::size_t max_in_flight, std::uint64_t seed);

    void pause(std::string why);
    void resume() { paused_ = false; }
    void force_open(bool);                              ///< a flag from outside: the dependency is known to be down
    void set_max_receives(int n) { max_receives_ = n; } ///< of the queue's redrive policy

    bool paused() const { return paused_; }

    /// How many handlers may run at once.
    std::size_t allowance(tick now);

    /// A handler may start now.
    bool admits(tick now) { return working_ < allowance(now); }

    /// For the intake: of how many places, and how many of them are taken. `waiting`: in flight, and soon to start.
    struct places {
        std::size_t taken, all;
    };
    places room(std::size_t in_flight, std::size_t waiting, tick now);

    void started(held&);
    void ended(held&, sign, tick now);

    /// Whether a message that may not run waits here; otherwise it goes back, visible again after put_off().
    bool keeps(held const&) const;
    void keep(held_ptr);
    std::chrono::milliseconds put_off();

    /// Those kept that may run now; the caller starts each, or stops asking.
    held_ptr next_kept(tick now);
    std::vector<held_ptr> take_kept();                               ///< all, to be given back
    bool lets_go(tick now) { return !kept_.empty() && admits(now); } ///< one of them may run

    std::optional<tick> wake_at() const;
    std::string explain(tick now) const; ///< empty in good times

private:
    std::optional<policy::breaker> breaker_;
    std::size_t max_in_flight_;
    std::mt19937_64 random_;
    std::deque<held_ptr> kept_;
    policy::breaker::ticket counted_{}; // of the handlers counted in working_
    std::size_t working_ = 0;
    int max_receives_ = 0; // 0: none, or not known
    bool paused_ = false;
    std::string why_paused_; // for a human; may be empty
};

} // namespace quern::detail
