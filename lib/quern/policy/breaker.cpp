#include <quern/policy/breaker.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace quern::policy {

using namespace std::chrono_literals;
using real_seconds = std::chrono::duration<double>;

namespace {

constexpr std::size_t shortest_run = 10;  // failures that are suspicious
constexpr auto shortest_time = 1s;        // that a suspicious run lasts
constexpr std::size_t unproven_run = 100; // is long enough however short, as long as nothing has ever succeeded
constexpr auto memory = 1h;               // of the longest partial run
constexpr int clear_lead = 4;             // tells whether a run was partial
constexpr auto time_for_tries = 15min;    // messages that were put off come back within ten minutes
constexpr double between_probes = 15;     // seconds at most
constexpr double doublings = 16;          // then there is no limit any more: times 65,536

/// Starts may be so late without slowing those behind them.
constexpr auto late = 50ms;

tick::duration ticks(double s)
{
    return std::chrono::duration_cast<tick::duration>(real_seconds(s));
}

} // namespace

std::optional<failure> breaker_options::validate() const
{
    if (share >= 0 && share <= 1) return {};
    return failure(errc::invalid_option, "breaker.share must be from 0 to 1");
}

std::optional<double> breaker::limit(tick now)
{
    if (suspected_at_) return trickle_;
    if (!recovers_since_) return {};
    auto const since = real_seconds(now - *recovers_since_).count();
    if (since < doublings) return trickle_ * std::exp2(since);
    recovers_since_.reset();
    return {};
}

void breaker::started(tick now)
{
    count(now);
    ++starts_[static_cast<std::size_t>(newest_ % slots)];
    if (auto const most = limit(now)) next_ = std::max(next_, now - late) + ticks(1 / *most);
}

breaker::meaning breaker::succeeded(tick began_at, bool again, tick now)
{
    if (suspected_at_ && began_at < *suspected_at_) return meaning::nothing;
    proven_ = true;
    if (now - trial_.at > time_for_tries) trial_ = {};
    auto means = meaning::well;
    if (suspected_at_)
        trial_.pending = 0;
    else
        means = learn(again);
    auto const raises =
        2 * run_ >= std::max(shortest_run, 2 * longest_); // the number of failures that are suspicious
    if (raises && began_at >= run_began_ && run_ >= trial_.length) trial_ = {.length = run_, .at = now};
    run_ = 0;
    if (!suspected_at_) return means;
    suspected_at_.reset();
    recovers_since_ = now;
    next_ = now;
    return means;
}

/// Decides whether the run on trial was partial.
breaker::meaning breaker::learn(bool again)
{
    if (trial_.length == 0) return meaning::well;
    trial_.lead += again - std::exchange(trial_.pending, 0);
    if (std::abs(trial_.lead) < clear_lead) return meaning::well;
    auto const was = std::exchange(trial_, {});
    if (was.lead > 0) return meaning::over;
    longest_ = was.length;
    longest_at_ = was.at;
    return meaning::well;
}

void breaker::failed(failing how, tick now)
{
    if (how == failing::fresh && run_++ == 0) {
        run_began_ = now;
        usual_before_ = usual(now);
    }
    if (how == failing::again && trial_.length != 0) ++trial_.pending;
    if (now - longest_at_ > memory) longest_ = 0;
    if (run_ < std::max(shortest_run, 2 * longest_)) return;
    if (now - run_began_ >= shortest_time || (!proven_ && run_ >= unproven_run)) suspect(now);
}

void breaker::suspect(tick now)
{
    if (suspected_at_) return;
    auto const before = recovers_since_ ? trickle_ : 0; // of the last minute more was the trickle than the usual
    trickle_ = std::max(before, 1 / between_probes);
    if (share_ > 0) trickle_ = std::max({trickle_, share_ * usual_before_, std::min(usual(now), 1.0)});
    suspected_at_ = now;
    recovers_since_.reset();
    next_ = now;
}

void breaker::count(tick now)
{
    auto const at = (now - counted_from_) / std::chrono::duration_cast<tick::duration>(slot);
    for (newest_ = std::max(newest_, at - slots); newest_ < at;)
        starts_[static_cast<std::size_t>(++newest_ % slots)] = 0;
}

/// Starts a second over the last minute; over ten seconds where it has not seen more, so that a burst at the
/// beginning is not taken for the rule.
double breaker::usual(tick now)
{
    count(now);
    double all = 0;
    for (auto const n : starts_)
        all += n;
    auto const in_slot = real_seconds((now - counted_from_) - newest_ * tick::duration(slot)).count();
    auto const seen =
        std::min(real_seconds(now - counted_from_).count(), real_seconds(slot).count() * (slots - 1) + in_slot);
    return std::max(all, 1.0) / std::max(seen, real_seconds(slot).count());
}

std::string breaker::explain(tick now)
{
    char text[160];
    auto const whole = [](tick::duration d) {
        return static_cast<long long>(std::chrono::floor<std::chrono::seconds>(d).count());
    };
    if (suspected_at_) {
        std::snprintf(text, sizeof text,
            "half open for %lld s, %.3g a second until one succeeds: %zu in a row failed",
            whole(now - *suspected_at_), trickle_, run_);
        return text;
    }
    if (auto const most = limit(now)) {
        std::snprintf(text, sizeof text, "closed again for %lld s, %.3g a second and soon more",
            whole(now - *recovers_since_), *most);
        return text;
    }
    return "closed";
}

} // namespace quern::policy
