#pragma once

#include <quern/core/clock.hpp>
#include <quern/policy/rate_limit.hpp>
#include <quern/relay/detail/refusal_rule.hpp>
#include <quern/telemetry/log.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace quern::relay::detail {

/// A refusal_rule with somebody who keeps to its limit.
///
/// Threads  one strand.
class told_rate {
public:
    using listener = std::function<void(std::optional<policy::rate>)>;

    told_rate(clock& time, listener tell) : time_(time), tell_(std::move(tell)) {}

    /// A request under way, until its end. Null: nobody wants to know.
    class request {
    public:
        explicit request(std::shared_ptr<told_rate> of) : of_(std::move(of))
        {
            if (of_) of_->rule_.began(of_->time_.now());
        }
        request(request const&) = delete;
        ~request()
        {
            if (of_) of_->rule_.ended(of_->time_.now());
        }

    private:
        std::shared_ptr<told_rate> const of_;
    };

    /// Tells of another limit, and the log when it begins, ends or is quite another.
    void learn(refusal_rule::counts, log_throttle&);

    std::optional<policy::rate> now() const { return now_; }

private:
    bool is_worth_a_line(refusal_rule::change const&) const;

    clock& time_;
    listener tell_;
    refusal_rule rule_;
    std::optional<policy::rate> now_;
    double logged_ = 0;
};

} // namespace quern::relay::detail
