#pragma once

#include <quern/core/clock.hpp>
#include <quern/policy/backoff.hpp>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

namespace quern::detail {

/// When the queue is asked for its redrive policy, which says where rejected messages go and which receive is the
/// last: at the start, every ten minutes, and whenever an outage may begin, because then it decides which messages
/// are kept from the dead-letter queue; and again after each failure until there is an answer.
class redrive_inquiry {
public:
    /// 144 requests a day, for a policy that hardly ever changes.
    static constexpr std::chrono::minutes between{10};

    /// At least, when outages are suspected one after the other.
    static constexpr std::chrono::seconds pause_at_openings{10};

    redrive_inquiry(bool wanted, tick now)
    {
        if (wanted) at_ = now;
    }

    /// True when it is time to; the caller asks, and tells what came of it.
    bool due(tick now)
    {
        if (!at_ || now < *at_) return false;
        at_.reset();
        asked_at_ = now;
        return true;
    }

    /// True when a failure has been told before.
    bool succeeded(tick now)
    {
        failures_ = 0;
        at_ = now + (std::exchange(opened_, false) ? tick::duration(pause_at_openings) : between);
        return std::exchange(told_, false);
    }

    /// True when it is worth telling: once, and not while receives fail as well, which say more.
    bool failed(bool receives_work, tick now, std::mt19937_64& random)
    {
        at_ = now + pauses_.delay(++failures_, random);
        opened_ = false;
        return receives_work && !std::exchange(told_, true);
    }

    /// An outage is suspected.
    void opened()
    {
        if (!asked_at_) return; // not wanted, or due anyway
        if (at_)
            at_ = std::min(*at_, *asked_at_ + pause_at_openings);
        else
            opened_ = true; // the answer under way may be older
    }

    /// A message has found down what it needs, the first after others did not: it may be the first of an outage.
    void in_doubt()
    {
        if (at_ && asked_at_) at_ = std::min(*at_, *asked_at_ + pause_at_openings);
    }

    std::optional<tick> wake_at() const { return at_; }

private:
    /// A minute at most: an outage may begin at any time. Where the permission is missing, that is 2,880 requests a
    /// day at most.
    policy::backoff pauses_ = policy::backoff::exponential(std::chrono::seconds(1), 2.0, std::chrono::seconds(60));
    std::optional<tick> at_;       // absent: being asked for, or of no use
    std::optional<tick> asked_at_; // last
    int failures_ = 0;
    bool opened_ = false; // a breaker, since it was asked for
    bool told_ = false;
};

} // namespace quern::detail
