#pragma once

#include <quern/core/clock.hpp>
#include <quern/policy/rate_limit.hpp>

#include <cstddef>
#include <optional>

namespace quern::detail {

/// The rule of a rate limit: whether one may begin to be handled now, and how many more messages are worth receiving.
///
/// A receive takes its time, so messages are received a little before their turn and wait for it, their leases
/// extended. No more than can begin within `ahead`: a message that waits here could be handled by somebody
/// else.
class pace {
public:
    static constexpr std::chrono::seconds ahead{1};

    /// Absent: everybody may begin.
    pace(std::optional<policy::rate> const&, tick now);

    /// Another rate from now on, or none.
    void set(std::optional<policy::rate> const&, tick now);

    /// One may begin.
    bool has_turn(tick now) { return !limit_ || limit_->available(now) != 0; }

    void started(tick now); ///< somebody has begun

    /// How many messages may be asked for besides those that are `coming`, or wait here. None while only so few could
    /// begin in time that the receive would cost more than their wait.
    std::size_t room(std::size_t coming, tick now);

    /// Nothing is asked for, whatever there is room for: no time makes that worth asking again.
    void no_room() { room_at_.reset(); }

    /// When one may begin, where `somebody` waits for that alone, or room() is worth asking again.
    std::optional<tick> wake_at(bool somebody) const;

private:
    std::optional<policy::rate_limit> limit_;
    std::size_t worth_it_ = 1;
    std::optional<tick> room_at_;
};

} // namespace quern::detail
