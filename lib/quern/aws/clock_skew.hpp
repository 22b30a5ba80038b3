#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <chrono>
#include <string_view>

namespace quern::aws {

/// The service refuses signatures from too long ago or too far ahead. Where our clock is the wrong one, its answers say
/// by how much.
class clock_skew {
public:
    /// Now, as the service would put it.
    wall_time corrected(wall_time now) const { return now + offset_; }

    /// What a point of the service's time is on our clock. Theirs, unless an answer has blamed our clock: a Date header may be
    /// of whoever stands in between.
    wall_time ours(wall_time theirs) const { return is_blamed_ ? theirs - offset_ : theirs; }

    /// Looks at an answer that is an error. True when it was signed with a time so wrong that the next attempt, with the
    /// corrected one, may succeed: the answer says so, or its Date header is 4 minutes or more away (as in the AWS SDK
    /// for C++; the service's own limit is 15).
    bool learn(failure const&, std::string_view date_header, wall_time now);

private:
    std::chrono::seconds offset_{0};
    bool is_blamed_ = false;
};

} // namespace quern::aws
