#pragma once

#include <chrono>

namespace quern::test {

/// Time of this whole process, as every library in it reads it: clock_gettime() and its like are defined here, a
/// timerfd goes off when virtual time comes to it, and std::random_device says the same each time. Asio has a timerfd
/// for each io_context, so a program that runs its contexts until none has work left, and then jumps, runs as it is:
/// real sockets, no waiting.
///
/// Threads  one. What asks another thread (a resolver) would be answered in real time.
namespace virtual_time {

/// From now on, with no timer set: an hour after the epoch of steady clocks, at the same date each time.
void begin();

std::chrono::nanoseconds now(); ///< since begin()

/// Jumps to the next timer, which goes off. False when there is none before `end`; then it is `end`.
bool jump(std::chrono::nanoseconds end);

} // namespace virtual_time

} // namespace quern::test
