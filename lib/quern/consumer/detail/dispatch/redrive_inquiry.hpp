#pragma once

#include <quern/core/clock.hpp>
#include <quern/policy/backoff.hpp>

#include <optional>
#include <random>
#include <string_view>
#include <utility>

namespace quern::detail {

/// The maxReceiveCount of a RedrivePolicy; 0 where there is none.
int max_receives_in(std::string_view redrive_policy);

/// When the queue is asked for its redrive policy: at the start, and again after each failure until there is an answer.
class redrive_inquiry {
public:
    redrive_inquiry(bool wanted, tick now)
    {
        if (wanted) at_ = now;
    }

    /// True when it is time to; the caller asks, and tells when that failed.
    bool due(tick now)
    {
        if (!at_ || now < *at_) return false;
        at_.reset();
        return true;
    }

    /// True when it is worth telling: once, and not while receives fail as well, which say more.
    bool failed(bool receives_work, tick now, std::mt19937_64& random)
    {
        at_ = now + pauses_.delay(++failures_, random);
        return receives_work && !std::exchange(told_, true);
    }

    bool told() const { return told_; }
    std::optional<tick> wake_at() const { return at_; }

private:
    /// A minute at most: an outage may begin at any time. Where the permission is missing, that is 2,880 requests a
    /// day at most.
    policy::backoff pauses_ = policy::backoff::exponential(std::chrono::seconds(1), 2.0, std::chrono::seconds(60));
    std::optional<tick> at_; // absent: known, being asked for, or of no use
    int failures_ = 0;
    bool told_ = false;
};

} // namespace quern::detail
