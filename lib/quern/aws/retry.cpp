#include <quern/aws/retry.hpp>

#include <quern/core/clock.hpp>
#include <quern/core/detail/text/reading.hpp>

#include <algorithm>
#include <cmath>

namespace quern::aws {

using namespace quern::detail;

namespace {

using fraction = std::chrono::duration<double>;

// AWS developer blog, "Updated default retry behavior for AWS SDKs and tools", November 2026.
constexpr int transient_cost = 14;
constexpr int throttling_cost = 5;
constexpr int refill = 1; ///< for a call that needed no retry
constexpr std::chrono::seconds hint_reach{5};

} // namespace

std::optional<failure> retry_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (max_attempts && *max_attempts < 1) return wrong("retry max_attempts must be at least 1");
    if (quota < 0) return wrong("retry quota must not be negative");
    if (transient_base.count() < 0) return wrong("retry transient_base must not be negative");
    if (throttling_base.count() < 0) return wrong("retry throttling_base must not be negative");
    if (max_backoff.count() < 0) return wrong("retry max_backoff must not be negative");
    if (max_backoff > longest_wait) return wrong("retry max_backoff must not exceed a day");
    return {};
}

bool retry_quota::take(int cost)
{
    if (cost > left_) return false;
    left_ -= cost;
    return true;
}

void retry_quota::put(int amount)
{
    left_ = std::min(left_ + amount, capacity_);
}

retries::retries(retry_options const& options, retry_quota& quota, bool long_poll)
    : options_(options), quota_(&quota), long_poll_(long_poll)
{}

retry_advice retries::failed(failure const& why, std::optional<std::chrono::milliseconds> hint, double jitter)
{
    using verdict = retry_advice::verdict;
    ++attempts_;
    if (!why.retryable) return {verdict::final_error};
    if (attempts_ >= options_.max_attempts.value_or(usual_attempts)) return {verdict::out_of_attempts};

    bool const throttled = why.code == errc::throttled;
    fraction const base = throttled ? options_.throttling_base : options_.transient_base;
    auto const doublings = std::min(attempts_ - 1, 62); // zero times infinity would be no number
    fraction wait = jitter * std::min<fraction>(base * std::exp2(doublings), options_.max_backoff);
    if (hint) wait = std::clamp<fraction>(*hint, wait, wait + hint_reach);
    auto const rounded = std::chrono::round<std::chrono::nanoseconds>(wait);

    auto const cost = throttled ? throttling_cost : transient_cost;
    if (quota_->take(cost)) {
        taken_ = cost;
        return {verdict::again, rounded};
    }
    if (long_poll_) return {verdict::out_of_quota, rounded};
    return {verdict::out_of_quota};
}

void retries::succeeded()
{
    quota_->put(taken_ > 0 ? taken_ : refill);
}

std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view text)
{
    auto const value = text::number_in<int>(text).value_or(-1);
    if (value < 0) return {};
    return std::chrono::milliseconds(value);
}

} // namespace quern::aws
