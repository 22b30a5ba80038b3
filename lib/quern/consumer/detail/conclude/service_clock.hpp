#pragma once

#include <quern/core/clock.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

namespace quern::detail {

/// The rule of the time by the service's clock, by which ages are told. It is read as our calendar and its distance
/// from the service's, which is measured now and then: a step of the calendar makes the reading wrong until the next
/// measurement, by hours perhaps. In between the steady clock is believed, and of the two that disagree the one that
/// makes messages younger; after `doubt` the reading, for a machine may have slept.
class service_clock {
public:
    /// Measurements come once a minute under load and with each long poll where it is idle, and two have to agree.
    static constexpr auto doubt = std::chrono::minutes(5);

    /// More than calendars drift, or are slewed, between two looks.
    static constexpr auto tolerance = std::chrono::seconds(2);

    wall_time at(wall_time reading, tick now)
    {
        if (!known_) known_ = {reading, now};
        auto const expected = known_->is + std::chrono::duration_cast<wall_time::duration>(now - known_->when);
        auto const agrees = reading <= expected + tolerance && expected <= reading + tolerance;
        if (agrees) {
            doubts_since_.reset();
        } else {
            if (!doubts_since_) doubts_since_ = now;
            if (now - *doubts_since_ < doubt) return std::min(reading, expected);
            doubts_since_.reset();
        }
        known_ = {reading, now};
        return reading;
    }

private:
    struct moment {
        wall_time is;
        tick when;
    };
    std::optional<moment> known_;
    std::optional<tick> doubts_since_;
};

} // namespace quern::detail
