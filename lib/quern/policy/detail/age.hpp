#pragma once

#include <quern/core/clock.hpp>
#include <quern/sqs/limits.hpp>

#include <chrono>
#include <optional>

// Delays that follow from the calendar. Times are wall_time because they come from elsewhere: SQS, or a user.

namespace quern::policy::detail {

/// The delay before the next try of a message that may be `max_age` old, counted from its first receive: `delay`, or
/// less where that came too late, so that the last try still falls within the age. Nothing when the message is too
/// old, or so nearly so that no whole second is left: SQS counts delays in seconds, and a shorter one would be spent
/// on several tries in a row.
///
/// A first receive in the future, which is a difference between two clocks, counts as now. `max_age` bounds the total
/// across all consumers and restarts, since SQS reports the first receive (ApproximateFirstReceiveTimestamp).
std::optional<std::chrono::milliseconds> within_age(
    wall_time first_received_at, wall_time now, std::chrono::milliseconds delay, std::chrono::milliseconds max_age);

/// The delay until `at`: rounded up, 0 when that is past, and at most `horizon_left`, what is left of the 12 hours
/// for which one receive can hide a message. A message for a later time comes back earlier and is put off again.
std::chrono::milliseconds delay_until(
    wall_time at, wall_time now, std::chrono::milliseconds horizon_left = sqs::max_visibility);

} // namespace quern::policy::detail
