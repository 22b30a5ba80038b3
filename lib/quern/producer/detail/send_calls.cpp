#include <quern/producer/detail/send_calls.hpp>

#include <algorithm>

namespace quern {

using policy::concurrency_rule;

std::size_t send_calls::limit() const
{
    return rule_ ? rule_->limit() : std::min(most_, always);
}

void send_calls::began(tick now)
{
    if (!rule_ && most_ > always) rule_.emplace(policy::automatic_concurrency{always, most_}, now);
    ++under_way_;
    if (rule_) rule_->began(under_way_, now);
}

void send_calls::ended(
    policy::call_end how, tick::duration took, std::size_t messages, bool more_waits, tick now)
{
    --under_way_;
    auto const ns = static_cast<double>(std::chrono::nanoseconds(took).count());
    auto const share = took_ == 0 ? 1.0 : 1.0 / 16;
    took_ += share * (ns - took_);
    messages_ += share * (static_cast<double>(messages) - messages_);
    if (rule_) rule_->ended(how, took, under_way_, more_waits, now);
}

bool send_calls::is_service_bound() const
{
    if (!rule_ || rule_->limit() == most_) return false;
    return rule_->why() != concurrency_rule::reason::start && rule_->why() != concurrency_rule::reason::more_helps;
}

std::chrono::nanoseconds send_calls::took() const
{
    return std::chrono::nanoseconds(static_cast<std::int64_t>(took_));
}

} // namespace quern
