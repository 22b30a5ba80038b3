#include <quern/redrive/run_rule.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace quern::redrive {
namespace {

using namespace std::chrono_literals;

constexpr double slowest = 0.1, fastest = 100'000; // messages a second
constexpr double most_slowed = 1.0 / 64;
constexpr auto slow_time = 10s; // without a failure, until the rate doubles again

bool is_rate(double r)
{
    return r >= slowest && r <= fastest;
}

/// A tenth of a second's worth may go at once.
policy::rate bucket_for(double per_second)
{
    policy::rate out;
    out.count = std::llround(std::max(per_second, slowest) * 10);
    out.per = 10s;
    out.burst = std::max<std::int64_t>(1, std::llround(per_second / 10));
    return out;
}

std::string percent(double ratio)
{
    return std::to_string(std::llround(ratio * 100)) + " %";
}

} // namespace

std::optional<failure> run_limits::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (rate && !is_rate(*rate)) return wrong("rate must be 0.1 to 100,000 messages a second");
    if (rate && ramp) return wrong("rate and ramp are two answers to one question: give one");
    if (ramp && (!is_rate(ramp->from) || !is_rate(ramp->to)))
        return wrong("ramp: both rates must be 0.1 to 100,000 messages a second");
    if (ramp && (ramp->over < 1s || ramp->over > 24h)) return wrong("ramp: its time must be 1 s to 24 h");
    if (canary && canary->count == 0) return wrong("canary must be at least 1 message");
    if (canary && (canary->watch < 0s || canary->watch > 24h)) return wrong("canary: its time must be 0 to 24 h");
    if (stop_on_return && !(*stop_on_return >= 0 && *stop_on_return <= 1))
        return wrong("stop_on_return must be 0 to 100 %");
    if (stop_on_failure && (stop_on_failure->count == 0 || stop_on_failure->per < 1s || stop_on_failure->per > 24h))
        return wrong("stop_on_failure must be at least 1, in 1 s to 24 h");
    if (limit && *limit == 0) return wrong("limit must be at least 1");
    return {};
}

run_rule::run_rule(run_limits limits, tick now)
    : limits_(std::move(limits)), ramp_began_(now), paced_at_(now),
      canary_(limits_.canary ? canary_phase::sending : canary_phase::over), watch_until_(now), depth_at_(now),
      slowed_at_(now)
{
    if (limits_.rate || limits_.ramp) bucket_.emplace(bucket_for(rate_at(now)), now);
}

double run_rule::rate_at(tick now) const
{
    if (!limits_.ramp) return *limits_.rate * slowed_;
    auto const& r = *limits_.ramp;
    auto const part = std::clamp(std::chrono::duration<double>(now - ramp_began_) / r.over, 0.0, 1.0);
    return (r.from + (r.to - r.from) * part) * slowed_;
}

void run_rule::pace(tick now)
{
    if (slowed_ < 1 && now - slowed_at_ >= slow_time) {
        slowed_ = std::min(1.0, slowed_ * 2);
        slowed_at_ = now;
        paced_at_ = tick::min();
    }
    if (paced_at_ != tick::min() && now - paced_at_ < 1s) return;
    bucket_->change(bucket_for(rate_at(now)), now);
    paced_at_ = now;
}

run_rule::turn run_rule::ask(tick now, bool paced, bool again)
{
    judge();
    if (why_stopped_) return {answer::stopped, {}};
    if (limits_.limit && !again && begun_ >= *limits_.limit) return {answer::enough, {}};
    if (paced && canary_ == canary_phase::sending && paced_ >= limits_.canary->count) return {answer::wait, {}};
    if (paced && canary_ == canary_phase::watching) {
        if (now < watch_until_) return {answer::wait, watch_until_};
        if (first_depth_ && depth_at_ < watch_until_) return {answer::wait, now + 1s}; // the last look decides
        canary_ = canary_phase::over;
        ramp_began_ = now;
    }
    if (paced && bucket_) {
        pace(now);
        if (bucket_->available(now) == 0) return {answer::wait, std::min(bucket_->wake_at(1), now + 1s)};
        bucket_->take(1, now);
    }
    if (!again) ++begun_;
    if (paced) ++paced_;
    return {answer::go, {}};
}

void run_rule::sent(tick now, std::chrono::milliseconds delay)
{
    ++sent_;
    if (canary_ != canary_phase::sending) return;
    watch_until_ = std::max(watch_until_, now + delay + limits_.canary->watch);
    if (sent_ >= limits_.canary->count) canary_ = canary_phase::watching;
}

void run_rule::removed(tick now)
{
    ++removed_;
    if (removals_.empty() || now - removals_.back().first >= 1s)
        removals_.emplace_back(now, removed_);
    else
        removals_.back().second = removed_;
}

void run_rule::withdrawn(bool paced, bool again)
{
    if (!again) --begun_;
    if (paced) --paced_;
}

void run_rule::send_failed(tick now)
{
    if (bucket_) {
        slowed_ = std::max(most_slowed, slowed_ / 2);
        slowed_at_ = now;
        paced_at_ = tick::min();
    }
    if (!limits_.stop_on_failure) return;
    failures_.push_back(now);
    while (now - failures_.front() > limits_.stop_on_failure->per)
        failures_.pop_front();
    if (failures_.size() >= limits_.stop_on_failure->count)
        stop(std::to_string(failures_.size()) + " sends failed within " +
            std::to_string(std::chrono::ceil<std::chrono::seconds>(limits_.stop_on_failure->per).count()) + " s");
}

void run_rule::came_back()
{
    ++seen_back_;
    judge();
}

void run_rule::halted(tick since, tick now)
{
    ramp_began_ += now - since;
    if (canary_ != canary_phase::over && sent_ != 0)
        watch_until_ = std::max(watch_until_, now + limits_.canary->watch);
}

/// Removals of the second in which `at` lies count as later: never too many.
std::size_t run_rule::removed_until(tick at) const
{
    std::size_t out = 0;
    for (auto const& [when, count] : removals_) {
        if (when + 1s > at) break;
        out = count;
    }
    return out;
}

/// A depth may be that of any moment of the last `depth_lag`. By then at least so many were gone as before that time,
/// hence at least so many have come.
void run_rule::depth_is(std::size_t depth, std::size_t removed_before, tick now)
{
    depth_at_ = now;
    if (!first_depth_) {
        first_depth_ = depth;
        return;
    }
    auto const gone = limits_.depth_lag.count() == 0 ? removed_before : removed_until(now - limits_.depth_lag);
    auto const expected = *first_depth_ - std::min(gone, *first_depth_);
    grown_by_ = depth > expected ? depth - expected : 0;
    while (removals_.size() > 1 && removals_[1].first + 1s <= now - limits_.depth_lag)
        removals_.pop_front();
    judge();
}

void run_rule::judge()
{
    if (sent_ == 0 || !wants_depth()) return;
    auto const of = std::max(sent_, limits_.canary ? limits_.canary->count : 0);
    auto const bearable = limits_.stop_on_return.value_or(0) * static_cast<double>(of);
    auto const back = came_back_count();
    if (static_cast<double>(back) <= bearable) return;
    auto why = std::to_string(back) + " of " + std::to_string(sent_) + " messages have come back (" +
        percent(static_cast<double>(back) / static_cast<double>(sent_)) + "); the limit is " +
        percent(limits_.stop_on_return.value_or(0));
    if (canary_ != canary_phase::over) why = "canary: " + why;
    stop(std::move(why));
}

} // namespace quern::redrive
