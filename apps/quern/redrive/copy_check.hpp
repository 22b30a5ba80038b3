#pragma once

#include <cstddef>
#include <string>

namespace quern::app {

/// Counts of a copy of a queue: of what was received, and what the queue said.
struct copy_of_queue {
    std::string queue; ///< by name
    std::size_t copied = 0, damaged = 0;
    std::size_t before = 0, after = 0; ///< messages in all, when it began and when it had ended
    std::size_t in_flight_after = 0, delayed_after = 0;
    bool interrupted = false;
};

/// Words about the messages that are missing, and what to do about it. Empty: the copy is complete.
std::string what_is_missing(copy_of_queue const&);

} // namespace quern::app
