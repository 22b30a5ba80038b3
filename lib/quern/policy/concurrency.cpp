#include <quern/policy/concurrency.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace quern::policy {
namespace {

using real_seconds = std::chrono::duration<double>;
using std::chrono::nanoseconds;

constexpr nanoseconds shortest_window = std::chrono::milliseconds(250);
constexpr nanoseconds longest_window = std::chrono::seconds(30);
constexpr nanoseconds long_enough = std::chrono::seconds(1); // a window, however noisy,
constexpr double calls_long = 10;                            // if it lasts for so many
constexpr double fewest = 30;                                // calls in a window
constexpr double first_limit = 4;
constexpr int low_every = 4;        // windows: one of them below the middle
constexpr int most_often_fewer = 3; // in a row, before messages are known to be slower

constexpr double remembers = 0.75;    // what a call took before, beside the latest window below the middle
constexpr double typical_share = 0.4; // of the verdict: the typical call's, beside that of throughput
constexpr double in_doubt = 0.4;      // more: so much of what may be chance
constexpr double least_share = 0.25;  // of the way to where the knee seems to be
constexpr double grows = 2.2;         // the step of a climb
constexpr double backs_off = 0.7;
constexpr double too_many_refused = 0.5; // fewer may be the trouble of some tenants

} // namespace

std::optional<failure> automatic_concurrency::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (min < 1) return wrong("automatic_concurrency.min must be at least 1");
    if (max < min) return wrong("automatic_concurrency.max must be at least min");
    if (max > 1'000'000) return wrong("automatic_concurrency.max must be at most 1,000,000");
    return {};
}

concurrency_rule::concurrency_rule(automatic_concurrency const& options, tick now) : options_(options)
{
    middle_ = bounded(first_limit);
    set_limit(whole(middle_), reason::start, now);
}

void concurrency_rule::began(std::size_t in_flight, tick now)
{
    if (now < now_.from) return; // the limit has just changed: what runs is still that of the old one
    now_.most = std::max(now_.most, in_flight);
}

void concurrency_rule::ended(call_end how, nanoseconds took, std::size_t in_flight, bool more_waits, tick now)
{
    learn(how, took);
    if (refused_ >= too_many_refused) refuse(now);
    if (now < now_.from) return;
    now_.most = std::max(now_.most, in_flight + 1);
    if (!more_waits) ++now_.starved;
    ++now_.ended;
    auto const t = std::max(real_seconds(took).count(), 1e-6);
    if (how == call_end::ok) {
        ++now_.ok;
        now_.took += t;
        now_.logs += std::log(t);
    } else if (how == call_end::failed) {
        now_.failing += t;
    }
    poll(now);
}

std::optional<tick> concurrency_rule::wake_at() const
{
    if (now_.ended == 0) return {};
    return now_.from + longest_window;
}

bool concurrency_rule::is_over(tick now) const
{
    auto const elapsed = now - now_.from;
    if (now_.ended == 0) return false;
    if (elapsed >= longest_window) return true;
    auto const wanted = std::max(shortest_window, std::chrono::duration_cast<nanoseconds>(real_seconds(2 * mean_)));
    if (elapsed < wanted || now_.ended < fewest) return false;
    auto const calls = (step_ > smallest_step() ? 1.5 : 3.0) * fewest * noise();
    auto const enough = std::chrono::duration_cast<nanoseconds>(real_seconds(calls_long * mean_));
    return now_.ended >= calls || elapsed >= std::max(long_enough, enough);
}

void concurrency_rule::learn(call_end how, nanoseconds took)
{
    auto const bad = how == call_end::unavailable || how == call_end::timed_out || how == call_end::throttled;
    refused_ += ((bad ? 1.0 : 0.0) - refused_) / 32;
    auto const t = std::clamp(real_seconds(took).count(), 0.0, 1e6);
    durations_ = std::min(durations_ + 1, 200.0);
    mean_ += (t - mean_) / durations_;
    square_ += (t * t - square_) / durations_;
}

/// How much more the number of calls in a window varies than that of independent ones.
double concurrency_rule::noise() const
{
    auto const mean = mean_ * mean_;
    return mean <= 0 ? 1 : std::clamp(square_ / mean - 1, 0.5, 8.0);
}

void concurrency_rule::refuse(tick now)
{
    auto const mean = std::chrono::duration_cast<nanoseconds>(real_seconds(mean_));
    if (refused_at_ != tick::min() && now - refused_at_ < std::max(shortest_window, mean)) return;
    refused_at_ = now;
    refused_ = 0;
    step_ = 0;
    fewer_ = 0;
    middle_ = bounded(static_cast<double>(limit_) * backs_off);
    set_limit(whole(middle_), reason::refused, now);
}

void concurrency_rule::conclude(tick now)
{
    auto const elapsed = real_seconds(now - now_.from).count();
    if (now_.ok == 0 || elapsed <= 0 || !is_saturated()) {
        now_ = {};
        now_.from = now;
        return;
    }
    throughput_ = now_.ok / elapsed;
    // The logarithm of a mean of few calls is smaller than that of many.
    figures const seen{now_.ok / noise(), std::log(now_.took / now_.ok) + noise() / now_.ok, now_.logs / now_.ok};
    enough_for_ = seen.weight;
    if (low_) return check_base(learn_base(seen), now);
    move(seen, knee(seen, elapsed), now);
}

/// Time of a call while nothing queues downstream; returns by how much it changed, 0 where that may be chance.
double concurrency_rule::learn_base(figures const& seen)
{
    auto const chance = 3 * std::sqrt(1 / seen.weight + 1 / std::max(base_.weight, 1.0));
    auto const change = seen.took - base_.took;
    auto const first = base_.weight <= 0;
    auto const keeps = change > chance || change < -0.67 * chance ? 0.0 : remembers;
    auto const before = base_.weight * keeps;
    auto const share = seen.weight / (seen.weight + before);
    base_.took += share * change;
    base_.typical += share * (seen.typical - base_.typical);
    base_.weight = seen.weight + before;
    return first || keeps > 0 ? 0 : change;
}

/// Where calls take longer all at once, or than they ever did, far fewer show why, and fewer again: too many may run,
/// or messages be slower. Others who see the same try fewer at the same time, so none waits for another's queue.
void concurrency_rule::check_base(double change, tick now)
{
    auto const chance = 2.5 / std::sqrt(base_.weight);
    auto const is_longer = change > 0.45 || base_.took > shortest_ + 0.2 + chance;
    if (is_longer && fewer_ < most_often_fewer && middle_ > static_cast<double>(options_.min)) return try_fewer(now);
    shortest_ = fewer_ != 0 ? base_.took : std::min(shortest_, base_.took + chance);
    if (std::exchange(fewer_, 0) == most_often_fewer) {
        step_ = 1;
        ceiling_ = 0;
    }
    next(why_, now);
}

/// First no more than were enough when calls were at their shortest.
void concurrency_rule::try_fewer(tick now)
{
    low_ = true;
    auto const half = middle_ / 2;
    auto const knows = fewer_++ == 0 && good_ > 0;
    good_ = middle_ = bounded(knows ? std::min(half, throughput_ * std::exp(shortest_)) : half);
    set_limit(whole(middle_), reason::unsure, now);
}

/// Calls that would keep downstream busy without a queue, as a logarithm: those of this window, less the share of
/// their time in which they waited; by throughput, and by the typical call. Calls that failed for their message's
/// sake were busy too.
double concurrency_rule::knee(figures const& seen, double elapsed) const
{
    auto const by_throughput = std::log(now_.ok / elapsed * (1 + now_.failing / now_.took)) + base_.took;
    auto const by_duration = std::log(static_cast<double>(limit_)) + base_.typical - seen.typical;
    return (1 - typical_share) * by_throughput + typical_share * by_duration;
}

void concurrency_rule::move(figures const& seen, double to, tick now)
{
    auto const at = std::log(middle_);
    auto const top = std::log(static_cast<double>(limit_));
    auto const chance = std::sqrt(1 / seen.weight + 1 / base_.weight);
    to += in_doubt * std::min(chance, 0.3);
    auto const change = std::min(to, top) - at;
    auto const certain = std::pow(change / ((change < -0.5 ? 3 : 4) * chance), 2); // a breakdown is seen at once
    auto const climbed = to - at > 0.6 * (top - at) && top > at;
    auto const fast = step_ > smallest_step();
    if (climbed) {
        auto const share = fast ? 1.0 : std::clamp(certain, 2 * least_share, 1.0);
        middle_ = bounded(middle_ * std::exp(change * share));
        good_ = middle_;
        ceiling_ = static_cast<double>(limit_) >= ceiling_ ? 0 : 0.97 * ceiling_;
        step_ = std::min(std::max(step_, smallest_step()) * grows, 1.0);
        if (middle_ < ceiling_ && middle_ * (1 + step_) > 0.9 * ceiling_) step_ = 0;
    } else if (fast && good_ <= 0) {
        return try_fewer(now); // the first climb of all: what it began with may have been too many
    } else if (fast) {
        middle_ = bounded(std::max(middle_ * std::exp(change), good_));
        ceiling_ = static_cast<double>(limit_);
        step_ = 0;
    } else {
        middle_ = bounded(middle_ * std::exp(change * std::clamp(certain, least_share, 1.0)));
        step_ = 0;
    }
    next(climbed ? reason::more_helps : change < -2 * chance ? reason::fewer_do : reason::enough, now);
}

/// The next window: above the middle, or now and then below.
void concurrency_rule::next(reason why, tick now)
{
    auto const climbing = step_ > 2 * smallest_step();
    low_ = !low_ && ++since_low_ >= (climbing ? 3 * low_every : middle_ < 4 ? 2 * low_every : low_every);
    if (low_) {
        since_low_ = 0;
        auto const low = whole(middle_ * (1 - std::max(2 * smallest_step(), 0.1)));
        return set_limit(std::max(options_.min, std::min(low, whole(middle_ - 0.75))), why, now);
    }
    auto const step = std::max(step_, smallest_step());
    auto const least = static_cast<std::size_t>(middle_ + 1.5);
    set_limit(std::min(options_.max, std::max(whole(middle_ * (1 + step)), least)), why, now);
}

/// The more a window tells, the smaller.
double concurrency_rule::bounded(double limit) const
{
    return std::clamp(limit, static_cast<double>(options_.min), static_cast<double>(options_.max));
}

void concurrency_rule::set_limit(std::size_t limit, reason why, tick now)
{
    auto const before = limit_;
    limit_ = limit;
    why_ = why;
    now_ = {};
    now_.from = now;
    if (limit_ != before)
        now_.from += std::min(std::chrono::duration_cast<nanoseconds>(real_seconds(mean_)), long_enough);
}

std::string concurrency_rule::explain() const
{
    static constexpr std::array words{"to begin with", "more bring more", "more would bring nothing",
        "fewer do as much", "fewer are tried, because calls take longer", "too many calls were refused"};
    std::array<char, 120> text{};
    std::snprintf(text.data(), text.size(), "%zu at once: %s (%.1f/s)", limit_,
        words.at(static_cast<std::size_t>(why_)), throughput_);
    return text.data();
}

} // namespace quern::policy
