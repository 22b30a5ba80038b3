#include <quern/producer/detail/send_calls.hpp>

#include <algorithm>
#include <utility>

namespace quern::detail {

namespace {

constexpr auto long_enough = std::chrono::seconds(5); // a climb doubles in less

} // namespace

void send_calls::began(tick now)
{
    if (!rule_ && most_ > always) rule_.emplace(policy::automatic_concurrency{always, most_}, now);
    ++under_way_;
    if (rule_) rule_->began(under_way_, now);
}

void send_calls::ended(policy::call_end how, tick::duration took, std::size_t messages, bool more_waits, tick now)
{
    --under_way_;
    auto const ns = static_cast<double>(std::chrono::nanoseconds(took).count());
    auto const share = took_ == 0 ? 1.0 : 1.0 / 16;
    took_ += share * (ns - took_);
    messages_ += share * (static_cast<double>(messages) - messages_);
    if (!rule_) return;
    rule_->ended(how, took, under_way_, more_waits, now);
    if (!marked_at_) marked_at_ = now;
    most_lately_ = std::max(most_lately_, rule_->limit());
    if (now - *marked_at_ < long_enough) return;
    grows_ = most_lately_ > mark_ + mark_ / 4;
    mark_ = std::exchange(most_lately_, rule_->limit());
    marked_at_ = now;
}

} // namespace quern::detail
