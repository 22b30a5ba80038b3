#pragma once

#include <quern/consumer/detail/message/ledger.hpp>
#include <quern/policy/rate_limit.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace quern::detail {

/// The rule of a rate limit: who may begin to be handled now, and how many more messages are worth receiving.
///
/// A receive takes its time, so messages are received a little before their turn and stand in line for it, their
/// leases extended. No more than can begin within `ahead`: a message that waits here could be handled by somebody
/// else.
class pace {
public:
    static constexpr std::chrono::seconds ahead{1};

    /// Absent: everybody may begin.
    pace(std::optional<policy::rate> const&, tick now);

    /// Another rate from now on, or none: those in line stay there, for their turn by the new one.
    void set(std::optional<policy::rate> const&, tick now);

    /// One who comes now may begin.
    bool admits(tick now) { return line_.empty() && has_turn(now); }

    /// The next in line may begin.
    bool has_turn(tick now);

    void started(tick now); ///< somebody has begun

    void wait(held_ptr h) { line_.push_back(std::move(h)); }
    held_ptr next(); ///< takes the first in line whose lease holds; null when there is none
    std::size_t waiting() const { return line_.size(); }
    std::vector<held_ptr> take_waiting(); ///< all, to be given back

    /// How many messages may be asked for besides those that are `coming`. None while only so few could begin in time
    /// that the receive would cost more than their wait.
    std::size_t room(std::size_t coming, tick now);

    /// Nothing is asked for, whatever there is room for: no time makes that worth asking again.
    void no_room() { room_at_.reset(); }

    /// When the next in line may begin, or room() is worth asking again.
    /// `other`: somebody who waits elsewhere may begin as soon as it has its turn.
    /// `held_up`: nobody may begin, whoever has a turn, until something else happens.
    std::optional<tick> wake_at(bool other = false, bool held_up = false) const;

private:
    std::optional<policy::rate_limit> limit_;
    std::size_t worth_it_ = 1;
    std::optional<tick> room_at_;
    std::deque<held_ptr> line_;
};

} // namespace quern::detail
