#include <quern/relay/detail/gentle_pace.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace quern::relay::detail {

using namespace std::chrono_literals;

namespace {

constexpr auto second = std::chrono::seconds(1);

/// Whoever waits for its turn may wake so late without slowing those behind it.
constexpr auto late = 10ms;

} // namespace

void gentle_pace::count(tick now)
{
    if (second_ == tick::min() || now - second_ >= 2 * second) {
        second_ = now;
        in_second_ = in_last_ = 0;
    } else if (now - second_ >= second) {
        second_ += second;
        in_last_ = std::exchange(in_second_, 0);
    }
}

double gentle_pace::lately(tick now) const
{
    bool const is_old = second_ == tick::min() || now - second_ >= 2 * second;
    return is_old ? 0 : static_cast<double>(std::max(in_second_, in_last_));
}

tick gentle_pace::begin(tick now)
{
    auto begins = now;
    if (rate_ != 0 && since_ != tick::min()) {
        auto const at = since_ + distance();
        if (at > now) return at;
        begins = std::max(at, now - late);
    }
    since_ = begins;
    count(now);
    ++in_second_;
    return now;
}

tick::duration gentle_pace::distance() const
{
    return std::chrono::duration_cast<tick::duration>(std::chrono::duration<double>(1 / rate_));
}

void gentle_pace::refused(tick now)
{
    if (cut_at_ != tick::min() && now - cut_at_ < second) return;
    cut_at_ = now;
    refused_at_ = rate_ != 0 ? rate_ : std::max(lately(now), 1.0);
    rate_ = std::max(refused_at_ / 2, least);
    since_ = now;
}

void gentle_pace::succeeded()
{
    if (rate_ == 0) return;
    rate_ += 0.1;
    if (rate_ > 2 * std::max(refused_at_, 1.0)) rate_ = 0;
}

std::optional<double> gentle_pace::rate() const
{
    if (rate_ == 0) return {};
    return rate_;
}

} // namespace quern::relay::detail
