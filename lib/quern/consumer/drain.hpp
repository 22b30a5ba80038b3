#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace quern {

/// How a consumer stopped.
struct drain_report {
    std::chrono::milliseconds took{};
    std::size_t finished = 0;  ///< handlers that ended by themselves during the drain
    std::size_t cancelled = 0; ///< handlers that ended because the drain's time ran out; their messages were released
    std::size_t released = 0;  ///< messages made visible again at once: received and not started, or cancelled
    std::size_t stranded = 0;  ///< hidden though nobody works on them: their release was not confirmed in time
    std::size_t running = 0;   ///< handlers still running; their messages stay hidden until their leases end
    std::size_t at_risk = 0;   ///< handled, but the delete is not confirmed: may be delivered again
    std::size_t lost = 0;  ///< leases lost since it began: they come back, after a visibility timeout at the latest
    std::size_t polls = 0; ///< receives that had not been answered: what they may yet bring stays hidden for a while

    /// Nothing was left behind.
    bool clean() const { return stranded + running + at_risk + lost + polls == 0; }
};

/// {"took_ms":812,"finished":12,…}, one line.
std::string to_json(drain_report const&);

/// The drain's rule: what is still to be done, and when patience ends.
class drain {
public:
    enum class step {
        wait,   ///< for polls, handlers and settlements
        cancel, ///< tell the handlers to end; said once
        end,
    };
    struct state {
        std::size_t polls = 0, held = 0; ///< receives under way; messages in flight here
    };

    drain(tick now, std::chrono::milliseconds limit)
        : began_at(now), cancel_at_(now + limit * 9 / 10), release_at_(cancel_at_), end_at_(now + limit)
    {}

    step next(state const&, tick now);

    /// Brings the end forward: handlers are cancelled at once.
    void hurry(tick now) { cancel_at_ = std::min(cancel_at_, now); }

    /// Whether messages that are not wanted still wait: until no receive of ours is open that could bring them back,
    /// but not to the last.
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

} // namespace quern
