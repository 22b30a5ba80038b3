#include <quern/relay/detail/told_rate.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

namespace quern::relay::detail {
namespace {

policy::rate rate_of(double a_second)
{
    policy::rate out;
    out.per = std::chrono::seconds(a_second < 20 ? 10 : 1); // to be near it, in whole numbers
    out.count = std::max(std::lround(a_second * std::chrono::duration<double>(out.per).count()), 1L);
    return out;
}

std::string text_of(refusal_rule::change const& what)
{
    char text[120];
    auto const written = std::snprintf(
        text, sizeof text, "%.0f %% were refused, %.1f a second were not: ", 100 * what.refused, what.admitted);
    std::string out(text, static_cast<std::size_t>(written));
    if (!what.limit) return out + "no limit any more";
    std::snprintf(text, sizeof text, "%.1f a second at most from now on", *what.limit);
    return out + text;
}

} // namespace

void told_rate::learn(refusal_rule::counts n, log_throttle& log)
{
    auto const now = time_.now();
    auto const what = rule_.answered(n, now, time_.wall());
    if (!what) return;
    if (is_worth_a_line(*what)) {
        log.write_each(log_level::info, "HTTP 429", text_of(*what), now);
        logged_ = what->limit.value_or(0);
    }
    now_ = what->limit ? std::optional(rate_of(*what->limit)) : std::nullopt;
    tell_(now_);
}

bool told_rate::is_worth_a_line(refusal_rule::change const& what) const
{
    if (logged_ == 0 || !what.limit) return true;
    return *what.limit > 1.5 * logged_ || *what.limit < logged_ / 1.5;
}

} // namespace quern::relay::detail
