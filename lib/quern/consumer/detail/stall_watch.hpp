#pragma once

#include <quern/core/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace quern::detail {

/// When a consumer that has come to a standstill should say why: after a while, then after twice that, and so on, and
/// never twice in a minute.
class stall_watch {
public:
    /// Zero: never.
    stall_watch(std::chrono::milliseconds after, tick now) : after_(after), since_(now), tell_at_(now + after) {}

    /// True when it is time to. `progress` grows with everything that moves; `excused`: it stands still on purpose.
    bool due(std::uint64_t progress, bool excused, tick now)
    {
        if (progress != progress_ || excused) {
            progress_ = progress;
            since_ = now;
            tell_at_ = std::max(now + after_, not_before_);
        }
        if (after_.count() == 0 || excused || now < tell_at_) return false;
        not_before_ = now + std::chrono::minutes(1);
        tell_at_ = std::max(now + (now - since_), not_before_);
        return true;
    }

    tick since() const { return since_; }

    std::optional<tick> wake_at() const
    {
        if (after_.count() == 0) return {};
        return tell_at_;
    }

private:
    std::chrono::milliseconds after_;
    std::uint64_t progress_ = 0;
    tick since_, tell_at_;
    tick not_before_{};
};

} // namespace quern::detail
