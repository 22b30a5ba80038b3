#include <quern/policy/replicas.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace quern::policy {

using namespace std::chrono_literals;
using real_seconds = std::chrono::duration<double>;

namespace {

/// Rate of a process that was full: believed for so long. From then on a little more each time: should handlers
/// have become quicker, there will be one process less, and should they not, it is full and learns that.
constexpr auto believed_for = 1h;
constexpr double more_each_time = 1.03;

constexpr double almost_full = 0.9;        // of the handlers at work
constexpr double weight_of_newest = 0.5;   // interval, in the time of a handler
constexpr double weight_of_arrivals = 0.1; // of the last interval's; SQS tells approximate numbers
constexpr double many_more = 1.3;          // times as many arrive: that is no noise, and counts at once
constexpr double many_fewer = 0.5;         // likewise, at twice the weight
constexpr double spare = 0.2;              // of a process, before there are fewer; or
constexpr double spare_part = 0.06;        // of all of them
constexpr double most_processes = 10'000;  // an answer that cannot be followed is worse than one that is too small
constexpr auto shortest_between = 1s;      // two looks that are compared

/// One look may come in the middle of a change, and see what never was.
double median(std::array<double, 3> of)
{
    std::ranges::sort(of);
    return of[1];
}

} // namespace

std::optional<failure> replica_options::validate() const
{
    if (target_dwell < 1s || target_dwell > 24h)
        return failure(errc::invalid_option, "target_dwell must be from 1 s to 24 h");
    if (!(utilisation >= 0.1 && utilisation <= 1))
        return failure(errc::invalid_option, "utilisation must be from 0.1 to 1");
    return {};
}

void replica_rule::learn(queue_load const& now_is, double seconds, tick now)
{
    auto const done = now_is.done - last_->done;
    if (done == 0) return;
    auto const each = [done](std::chrono::duration<double> all) {
        return std::max(all.count() / static_cast<double>(done), 1e-4);
    };
    held_ = each(now_is.held - last_->held); // of this interval alone, as what is in flight now
    auto const handled = each(now_is.handled - last_->handled);
    handled_ = handled_ == 0 ? handled : handled_ + weight_of_newest * (handled - handled_);
    auto const rate = static_cast<double>(done) / seconds;
    auto const is_full = now_is.visible != 0 && last_->visible != 0 && !now_is.slowed && !last_->slowed &&
        static_cast<double>(std::min(now_is.running, last_->running)) >=
            almost_full * static_cast<double>(now_is.places);
    if (full_ != 0 && now - full_at_ > believed_for) {
        full_ *= more_each_time;
        full_at_ = now;
    }
    if (!is_full && (full_ == 0 || rate <= full_)) return;
    full_ = rate;
    full_at_ = now;
}

void replica_rule::observe(queue_load const& is, tick now)
{
    if (last_ && now - last_at_ < shortest_between) return;
    auto const before = last_;
    auto const seconds = last_ ? real_seconds(now - last_at_).count() : 0.0;
    if (last_) learn(is, seconds, now);
    last_ = is;
    last_at_ = now;
    waiting_ = is.visible;
    if (!before || held_ == 0) return;

    auto const here = static_cast<double>(is.in_flight);
    auto const hidden = static_cast<double>(is.put_off);
    auto const handled = is.put_off == 0 ? 1.0 : here / (here + hidden); // of what is not visible
    auto const together = static_cast<double>(is.not_visible) * handled / held_;
    auto const grown = (static_cast<double>(is.visible) - static_cast<double>(before->visible)) / seconds;
    seen_[2] = std::exchange(seen_[1], std::exchange(seen_[0], std::max(together + grown, 0.0)));
    looks_ = std::min(looks_ + 1, 3);
    auto const arrive = looks_ < 3 ? seen_[0] : median(seen_);
    auto const weight = arrive > many_more * arrivals_ ? 1.0
        : arrive < many_fewer * arrivals_              ? 2 * weight_of_arrivals
                                                       : weight_of_arrivals;
    arrivals_ += weight * (arrive - arrivals_);
    capacity_ = static_cast<double>(std::max<std::size_t>(is.places, 1)) / handled_;
    if (full_ != 0) capacity_ = std::min(capacity_, full_);
    if (is.rate) capacity_ = std::min(capacity_, *is.rate);

    auto const target = real_seconds(options_.target_dwell).count();
    auto const too_many = std::max(static_cast<double>(is.visible) - arrivals_ * target, 0.0);
    auto const needed = (arrivals_ / options_.utilisation + too_many / target) / capacity_;
    auto const whole = [](double n) {
        return static_cast<std::size_t>(std::clamp(std::ceil(n), 1.0, most_processes));
    };
    auto const fewer = whole(needed + std::max(spare, spare_part * needed));
    if (!wanted_ || whole(needed) > *wanted_)
        wanted_ = whole(needed);
    else if (fewer < *wanted_)
        wanted_ = fewer;
}

std::string replica_rule::explain() const
{
    if (!wanted_) return "not known yet";
    char text[160];
    std::snprintf(text, sizeof text, "%zu wanted: %.3g a second arrive, one handles %.3g a second, %llu wait",
        *wanted_, arrivals_, capacity_, static_cast<unsigned long long>(waiting_));
    return text;
}

} // namespace quern::policy
