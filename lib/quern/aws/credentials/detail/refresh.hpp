#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <optional>

namespace quern::aws::detail {

/// When temporary credentials are renewed. A rule: it is told what happened and what time it is, and decides.
///
/// Ahead    they are renewed in the last quarter of their life, but no more than 15 minutes early (botocore's
///          window); when exactly, jitter decides, so that machines started together do not ask together. What comes
///          back is often the same with less life left: the quarter is then one of that, which spaces the questions
///          out.
/// Failing  keeps the old ones. The next attempt follows after 1 s, 2 s, 4 s .. 60 s, of which jitter takes up to
///          half.
/// Expiry   counts 10 s early (as in the AWS SDK for Rust): a signature must still be good when it arrives.
/// Refused  ones are not used again, and others asked for at once. Where those are refused too it was not their age,
///          or what hands them out is behind: they are used, and the next refusal counts after 10 s, 20 s .. 60 s, of
///          which jitter takes up to half.
class refresh_rule {
public:
    static constexpr std::chrono::minutes earliest{15};
    static constexpr std::chrono::seconds slack{10};
    static constexpr std::chrono::seconds longest_pause{60};

    struct moment {
        tick now;       ///< for pauses
        wall_time wall; ///< for expiry: machines sleep, and calendars are set
    };

    enum class advice {
        use,   ///< those that there are
        renew, ///< start to get new ones, and use the old ones until then
        wait,  ///< there are none to use: wait for new ones
        fail,  ///< there are none to use, and the last attempt to get some is too recent
    };
    advice at(moment) const;

    /// New ones have come. `jitter`: 0 to 1. False when they are of no use, having expired: to be told to failed().
    bool loaded(moment, std::optional<wall_time> expires_at, double jitter);

    /// None have come.
    void failed(moment, double jitter);

    /// The service refuses them, having expired: they are not used again. False so soon after the last time that
    /// asking for others would not help.
    bool refused(moment, double jitter);

private:
    bool usable(wall_time) const;

    bool any_ = false;
    bool refused_ = false;
    std::optional<wall_time> expires_at_, renew_at_;
    std::optional<tick> not_before_;        ///< the next attempt, after one that failed
    std::optional<tick> trust_refusals_at_; ///< from then on another refusal is news
    int failures_ = 0;
    int refusals_ = 0; ///< one soon after the other
};

} // namespace quern::aws::detail
