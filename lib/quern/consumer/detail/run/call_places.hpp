#pragma once

#include <quern/consumer/detail/run/batches.hpp>
#include <quern/consumer/detail/run/call_limit.hpp>
#include <quern/consumer/detail/stage_context.hpp>
#include <quern/policy/concurrency.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

namespace quern::detail {

/// Calls of the handler at once, and the messages that gather to share one.
class call_places {
public:
    call_places(stage_context const& c, bool takes_batches)
        : context_(c), takes_batches_(takes_batches), limit_(0, messages_a_call()),
          gathering(batch_size(), c.options.batch.bytes.value_or(0),
              c.options.batch.window.value_or(std::chrono::milliseconds(0)))
    {
        if (auto bounds = c.options.concurrency) {
            auto const& limits = c.options.limits;
            bounds->max =
                std::min({bounds->max, limits.max_in_flight, limits.handler_concurrency.value_or(bounds->max)});
            bounds->min = std::min(bounds->min, bounds->max);
            rule_.emplace(*bounds, c.now());
        }
        follow();
    }

    bool takes_batches() const { return takes_batches_; }

    void limits_are_turned()
    {
        gathering.set_size(batch_size());
        follow();
    }

    /// One more call may begin.
    bool may_call() const { return limit_.is_none() || limit_.admits(under_way()); }

    /// One more message may begin, or gather for a call.
    bool may_place() const { return takes_batches_ || may_call(); }

    /// How many more messages handler_concurrency has room for, while so many come or wait.
    std::size_t room_beside(std::size_t coming) const
    {
        if (!are_limited()) return std::numeric_limits<std::size_t>::max();
        if (auto const& ahead = context_.options.fairness.look_ahead) return *ahead - std::min(*ahead, coming);
        return limit_.room(under_way(), coming + gathering.waiting(), rounds_of_a_receive());
    }

    void batch_begins() { ++batch_calls_; }
    void batch_ends() { --batch_calls_; }

    bool are_limited() const { return !limit_.is_none(); }

    /// Calls at once, zero: no limit.
    std::size_t most() const { return limit_.most(); }

    /// The rule by which they find themselves, where there is one.
    std::optional<policy::concurrency_rule> const& rule() const { return rule_; }

    /// A call has begun, of those under_way().
    void call_began(tick now)
    {
        if (rule_) rule_->began(under_way(), now);
    }

    /// Where they are limited: a call has ended, and is no longer among those. `more_waits`: for a place.
    void call_ended(policy::call_end how, std::chrono::nanoseconds took, bool more_waits, tick now)
    {
        takes_ += (took - takes_) / (takes_.count() == 0 ? 1 : 16);
        if (!rule_) return;
        rule_->ended(how, took, under_way(), more_waits || gathering.waiting() != 0, now);
        follow();
    }

    /// Says when time alone may change the limit.
    std::optional<tick> turn(tick now)
    {
        if (!rule_) return {};
        rule_->poll(now);
        follow();
        return rule_->wake_at();
    }

private:
    void follow()
    {
        auto most = context_.limits.handler_concurrency.value_or(0);
        if (rule_) most = most == 0 ? rule_->limit() : std::min(most, rule_->limit());
        limit_.set(most, messages_a_call());
    }

    /// Calls that may follow each other in one place while a receive is under way, which takes up to twice its least.
    double rounds_of_a_receive() const
    {
        if (takes_.count() == 0) return 0;
        return 2 * std::chrono::duration<double>(context_.receive_takes) / std::chrono::duration<double>(takes_);
    }

    std::size_t under_way() const { return takes_batches_ ? batch_calls_ : context_.running; }
    std::size_t batch_size() const { return std::min(context_.options.batch.size, context_.limits.max_in_flight); }
    std::size_t messages_a_call() const { return takes_batches_ ? batch_size() : 1; }

    stage_context const& context_;
    bool const takes_batches_;
    call_limit limit_;
    std::optional<policy::concurrency_rule> rule_;
    std::chrono::nanoseconds takes_{}; // a call, of late
    std::size_t batch_calls_ = 0;      // of other handlers each message is one

public:
    batches gathering;
};

} // namespace quern::detail
