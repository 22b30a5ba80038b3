#include <quern/policy/breaker.hpp>

#include <algorithm>
#include <cmath>

namespace quern::policy {

using namespace std::chrono_literals;

std::optional<failure> breaker_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (buckets < 1 || buckets > 1'000) return wrong("breaker.buckets must be from 1 to 1000");
    if (window < 1ms * buckets || window > 24h) return wrong("breaker.window must be from 1 ms a bucket to 24 h");
    if (min_calls < 1) return wrong("breaker.min_calls must be at least 1");
    if (!(failure_ratio > 0 && failure_ratio <= 1)) return wrong("breaker.failure_ratio must be above 0, at most 1");
    if (unavailable_weight < 1) return wrong("breaker.unavailable_weight must be at least 1");
    if (unavailable_in_a_row < 1) return wrong("breaker.unavailable_in_a_row must be at least 1");
    if (probes < 1) return wrong("breaker.probes must be at least 1");
    if (slow_start_round < 0ms || slow_start_round > 24h) return wrong("breaker.slow_start_round must be 0 to 24 h");
    return open_for.validate("breaker.open_for");
}

breaker::breaker(breaker_options options, std::uint64_t seed)
    : options_(std::move(options)), random_(seed), window_(options_.window, options_.buckets)
{}

std::size_t breaker::allowance(tick now)
{
    advance(now);
    switch (phase_) {
    case phase::closed: return unlimited;
    case phase::open: return 0;
    case phase::half_open: return options_.probes;
    case phase::slow_start: return allowed_;
    }
    return 0;
}

void breaker::succeeded(ticket t, tick now)
{
    advance(now);
    if (t != current_ || phase_ == phase::open) return;
    unavailable_in_a_row_ = 0;
    if (phase_ == phase::half_open) {
        if (++probed_ < options_.probes) return;
        phase_ = phase::slow_start;
        allowed_ = options_.probes;
        round_ = 0;
        round_began_ = now;
        return close_if_at_full_speed();
    }
    window_.add({1, 0}, now);
    ++round_;
}

void breaker::failed(ticket t, tick now)
{
    advance(now);
    if (t == current_) record(1, now);
}

void breaker::unavailable(ticket t, tick now)
{
    advance(now);
    if (t != current_ || phase_ == phase::open) return;
    if (++unavailable_in_a_row_ >= options_.unavailable_in_a_row)
        return reopen(
            now, std::to_string(unavailable_in_a_row_) + " calls in a row found the dependency unavailable");
    record(static_cast<std::uint64_t>(options_.unavailable_weight), now);
}

void breaker::record(std::uint64_t weight, tick now)
{
    if (phase_ == phase::open) return;
    if (phase_ == phase::half_open) return reopen(now, "the probe failed");
    window_.add({weight, weight}, now);
    round_ -= std::min<std::size_t>(round_, weight);

    auto const seen = window_.total(now);
    auto const enough = static_cast<std::size_t>(options_.min_calls);
    if (seen.calls < (phase_ == phase::slow_start ? std::min(enough, allowed_) : enough)) return;
    auto const ratio = static_cast<double>(seen.failures) / static_cast<double>(seen.calls);
    if (ratio < options_.failure_ratio) return;
    reopen(now, std::to_string(std::lround(100 * ratio)) + " % of the calls failed");
}

void breaker::force_open(bool set)
{
    if (set && phase_ != phase::open) open(tick::min(), "forced");
    forced_ = set;
}

std::optional<tick> breaker::wake_at() const
{
    if (phase_ == phase::open && !forced_) return open_until_;
    if (phase_ == phase::slow_start && round_ >= allowed_) return round_began_ + options_.slow_start_round;
    return {};
}

std::string breaker::explain(tick now) const
{
    switch (phase_) {
    case phase::closed: return "closed";
    case phase::half_open: return "half open, " + std::to_string(options_.probes) + " at a time: " + why_;
    case phase::slow_start: return "recovering, " + std::to_string(allowed_) + " at a time: " + why_;
    case phase::open: break;
    }
    if (forced_) return "open as long as its flag is set";
    auto const left = now < open_until_ ? std::chrono::ceil<std::chrono::seconds>(open_until_ - now) : 0s;
    return "open for " + std::to_string(left.count()) + " s more: " + why_;
}

void breaker::advance(tick now)
{
    if (phase_ == phase::open && !forced_ && now >= open_until_) {
        phase_ = phase::half_open;
        probed_ = 0;
    }
    if (phase_ == phase::slow_start && round_ >= allowed_ && now >= round_began_ + options_.slow_start_round) {
        allowed_ *= 2;
        round_ = 0;
        round_began_ = now;
        close_if_at_full_speed();
    }
}

void breaker::close_if_at_full_speed()
{
    if (allowed_ < options_.full_speed) return;
    phase_ = phase::closed;
    openings_ = 0;
}

void breaker::open(tick until, std::string why)
{
    phase_ = phase::open;
    current_ = ticket(static_cast<std::uint64_t>(current_) + 1);
    open_until_ = until;
    why_ = std::move(why);
    unavailable_in_a_row_ = 0;
    window_.clear();
}

void breaker::reopen(tick now, std::string why)
{
    openings_ = std::min(openings_ + 1, 1'000); // far beyond what makes a difference
    open(now + options_.open_for.delay(openings_, random_), std::move(why));
}

} // namespace quern::policy
