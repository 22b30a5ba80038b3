#include <quern/consumer/detail/gate/pace.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <limits>

namespace quern::detail {

pace::pace(std::optional<policy::rate> const& rate, tick now)
{
    set(rate, now);
}

void pace::set(std::optional<policy::rate> const& rate, tick now)
{
    room_at_.reset();
    if (!rate) return limit_.reset();
    if (limit_)
        limit_->change(*rate, now);
    else
        limit_.emplace(*rate, now);
    auto const in_time = static_cast<double>(rate->count) * (std::chrono::duration<double>(ahead) / rate->per);
    worth_it_ = static_cast<std::size_t>(std::clamp(in_time, 1.0, double(sqs::max_batch_messages)));
}

void pace::started(tick now)
{
    if (limit_) limit_->take(1, now);
}

std::size_t pace::room(std::size_t coming, tick now)
{
    room_at_.reset();
    if (!limit_) return std::numeric_limits<std::size_t>::max();
    auto const in_time = limit_->expected(now, ahead);
    if (in_time >= coming + worth_it_) return in_time - coming;
    room_at_ = limit_->wake_at(coming + worth_it_, ahead);
    return 0;
}

std::optional<tick> pace::wake_at(bool somebody) const
{
    if (!limit_ || !somebody) return room_at_;
    auto const turn = limit_->wake_at(1);
    return std::min(room_at_.value_or(turn), turn);
}

} // namespace quern::detail
