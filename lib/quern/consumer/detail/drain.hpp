#pragma once

#include <quern/core/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace quern::detail {

/// The drain's rule: what is still to be done, and when patience ends.
class drain {
public:
    enum class step {
        wait,   ///< for polls, handlers and settlements
        cancel, ///< tell the handlers to end, for want of time or because they wait for us; said once
        end,
    };
    struct state {
        std::size_t polls = 0, held = 0; ///< receives under way; messages in flight here
        std::size_t waiting = 0;         ///< of these, with handlers that wait for the end of this drain
        tick::duration releases{};       ///< the time that giving all of them back takes
    };

    drain(tick now, std::chrono::milliseconds limit)
        : began_at(now), cancel_at_(now + limit * 9 / 10), end_at_(now + limit), release_at_(cancel_at_)
    {}

    /// Cancels in the last tenth; earlier where giving back what is held then takes longer than half of that, but not
    /// in the first half.
    step next(state const& now_held, tick now)
    {
        if (now_held.polls + now_held.held == 0) return step::end;
        auto const limit = end_at_ - began_at;
        release_at_ = end_at_ - std::clamp(2 * now_held.releases, limit / 10, limit / 2);
        auto const stuck = now_held.polls == 0 && now_held.held == now_held.waiting;
        auto const over = stuck || now >= std::min(cancel_at_, release_at_);
        if (over && !std::exchange(cancelled_, true)) return step::cancel; // however late
        return now < end_at_ ? step::wait : step::end;
    }

    /// Brings the end forward: handlers are cancelled at once.
    void hurry(tick now) { cancel_at_ = std::min(cancel_at_, now); }

    /// Whether a message that is not wanted waits until no receive of ours is open that could bring it back, but not
    /// to the last.
    bool keeps_back(tick now) const { return now < release_at_; }

    tick wake_at(tick now) const
    {
        if (!cancelled_) return std::min(cancel_at_, release_at_);
        return now < release_at_ ? release_at_ : end_at_;
    }

    tick const began_at;

private:
    tick cancel_at_;
    tick const end_at_;
    tick release_at_;
    bool cancelled_ = false;
};

} // namespace quern::detail
