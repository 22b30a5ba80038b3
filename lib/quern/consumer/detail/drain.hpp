#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <cstddef>

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
    };

    drain(tick now, std::chrono::milliseconds limit)
        : began_at(now), cancel_at_(now + limit * 9 / 10), release_at_(cancel_at_), end_at_(now + limit)
    {}

    step next(state const&, tick now);

    /// Brings the end forward: handlers are cancelled at once.
    void hurry(tick now) { cancel_at_ = std::min(cancel_at_, now); }

    /// Whether a message that is not wanted waits until no receive of ours is open that could bring it back, but not
    /// to the last.
    bool keeps_back(tick now) const { return now < release_at_; }

    tick wake_at(tick now) const
    {
        if (!cancelled_) return cancel_at_;
        return now < release_at_ ? release_at_ : end_at_;
    }

    tick const began_at;

private:
    tick cancel_at_, release_at_, end_at_;
    bool cancelled_ = false;
};

} // namespace quern::detail
