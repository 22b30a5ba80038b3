#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace quern::aws {

/// The service refuses signatures from too long ago or too far ahead. Where our clock is the wrong one, its answers
/// say by how much.
class clock_skew {
public:
    /// Now, as the service would put it.
    wall_time corrected(wall_time now) const { return now + offset_; }

    /// Our clock's reading of a point of the service's time. It is theirs unless an answer has blamed our clock: a
    /// Date header may be of whoever stands in between.
    wall_time ours(wall_time theirs) const { return is_blamed_ ? theirs - offset_ : theirs; }

    /// Looks at an answer that is an error. True when it was signed with a time so wrong that the next attempt, with
    /// the corrected one, may succeed: the answer says so, or its Date header is 4 minutes or more away (as in the
    /// AWS SDK for C++; the service's own limit is 15) in a refusal that is final. More than a day is not believed.
    bool learn(failure const&, std::string_view date_header, wall_time now);

    /// A remark for the error that blames our clock with a Date that is not believed; empty for any other.
    static std::string doubt(failure const&, std::string_view date_header, wall_time now);

private:
    std::chrono::seconds offset_{0};
    bool is_blamed_ = false;
};

/// How far the service's clock is ahead of ours, by the Date headers of its answers, whatever they answer. Read once
/// a minute, and at the first answer after ours was set. A difference of a second and less is none: a header tells no
/// more. A jump of four minutes or more counts when the next answer says the same; one to more than a day away never.
///
/// Threads  one strand; offset() from any.
class service_clock {
public:
    /// The next answer should be looked at.
    bool is_due(wall_time wall, tick now) const
    {
        auto const step = (wall - wall_at_look_) - (now - last_look_);
        return now >= next_look_ || std::chrono::abs(step) > std::chrono::seconds(1);
    }

    void look(std::string_view date_header, wall_time wall, tick now);

    std::chrono::milliseconds offset() const
    {
        return std::chrono::milliseconds(offset_.load(std::memory_order_relaxed));
    }

private:
    std::atomic<std::chrono::milliseconds::rep> offset_{0};
    std::optional<std::chrono::milliseconds> unconfirmed_;
    tick next_look_ = tick::min(), last_look_{};
    wall_time wall_at_look_{};
};

} // namespace quern::aws
