#pragma once

#include "histogram.hpp"
#include "options.hpp"

#include <algorithm>
#include <string>

namespace yardstick {

/// Counts between two resets. Plain numbers; the service adds them up.
struct counts {
    // requests
    std::uint64_t receives = 0, empty_receives = 0, deletes = 0, changes = 0, others = 0;
    // messages, or entries of requests
    std::uint64_t handed = 0, redelivered = 0, deleted = 0, repeated = 0, stale = 0, unknown = 0, changed = 0,
                  expired = 0;
    histogram latency; ///< from due to deleted, in microseconds

    std::size_t most_in_flight = 0;

    /// To be called before the number in flight changes.
    void in_flight_was(std::size_t many, micros now)
    {
        most_in_flight = std::max(most_in_flight, many);
        message_micros_ += static_cast<double>(many) * static_cast<double>(now - last_);
        last_ = now;
    }

    /// A new count, from now on.
    static counts from(micros now);

    /// As a JSON object. Not const: the number in flight is counted up to now.
    std::string to_json(std::size_t in_flight, std::size_t connections, micros behind, micros now);

private:
    micros began_ = 0, last_ = 0, cpu_began_ = 0;
    double message_micros_ = 0;
};

} // namespace yardstick
