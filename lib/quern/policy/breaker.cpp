#include <quern/policy/breaker.hpp>

#include <algorithm>
#include <cmath>

namespace quern::policy {

using namespace std::chrono_literals;

namespace {

/// Failures before the first success that may have been ordinary ones: believed once, they make half of all failures
/// usual, and of those it takes as many in a row as `min_calls` wants anyway.
constexpr std::size_t most_recalled = 40;

/// No chance explains the run, even where failures are more usual than they look by a standard error of what is known
/// of them: where nearly all calls fail that makes the difference between a hundred in a row and two hundred.
bool beyond_doubt(streak const& run, std::size_t floor)
{
    constexpr double chance = 1e-6, news = 64; // as many as usual() is of
    auto const usual = run.usual();
    auto const at_most = usual + std::sqrt(usual * (1 - usual) / news);
    if (at_most >= 1) return false;
    return run.implausible(floor) && static_cast<double>(run.length()) * std::log(at_most) <= std::log(chance);
}

} // namespace

std::optional<failure> breaker_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (buckets < 1 || buckets > 1'000) return wrong("breaker.buckets must be from 1 to 1000");
    if (window < 1ms * buckets || window > 24h) return wrong("breaker.window must be from 1 ms a bucket to 24 h");
    if (min_calls < 1) return wrong("breaker.min_calls must be at least 1");
    if (!(failure_ratio > 0 && failure_ratio <= 1)) return wrong("breaker.failure_ratio must be above 0, at most 1");
    if (unavailable_weight < 1) return wrong("breaker.unavailable_weight must be at least 1");
    if (unavailable_in_a_row < 2 || unavailable_in_a_row > static_cast<int>(streak::most_different)) {
        return wrong("breaker.unavailable_in_a_row must be from 2, since one message may have its own fault, to 64");
    }
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
    case phase::half_open: return at_once();
    case phase::slow_start: return allowed_;
    }
    return 0;
}

void breaker::succeeded(ticket t, tick now)
{
    advance(now);
    if (!counts(t)) return;
    if (phase_ == phase::half_open) return probed(true, now, 1);
    window_.add({1, 0}, now);
    down_.good();
    failing_.good();
}

void breaker::failed(ticket t, std::uint64_t who, tick now)
{
    advance(now);
    if (!counts(t)) return;
    if (phase_ == phase::half_open) {
        down_probes_ = 0;
        return probed(cause_ == cause::unavailable, now, patience());
    }
    down_.good();
    record(false, who, now);
}

void breaker::unavailable(ticket t, std::uint64_t who, tick now)
{
    advance(now);
    if (!counts(t)) return;
    if (phase_ == phase::half_open) {
        ++down_probes_;
        return probed(false, now, 1);
    }
    down_.bad(who);
    if (!down_.implausible(static_cast<std::size_t>(options_.unavailable_in_a_row))) return record(true, who, now);
    reopen(
        now, cause::unavailable, std::to_string(down_.length()) + " calls in a row found the dependency unavailable");
}

void breaker::record(bool found_down, std::uint64_t who, tick now)
{
    failing_.bad(who);
    suspects(who, now);
    auto const weight = found_down ? static_cast<std::uint64_t>(options_.unavailable_weight) : 1;
    window_.add({weight, weight}, now);

    auto const seen = window_.total(now);
    if (seen.calls < static_cast<std::uint64_t>(options_.min_calls) || !several_fail(now)) return;
    auto const ratio = static_cast<double>(seen.failures) / static_cast<double>(seen.calls);
    if (ratio < options_.failure_ratio) return;
    if (options_.failure_ratio >= 1 && !beyond_doubt(failing_, failed_last_.size())) return;
    reopen(now, cause::failures, std::to_string(std::lround(100 * ratio)) + " % of the calls failed");
}

/// Remembers the last messages that failed, each once.
void breaker::suspects(std::uint64_t who, tick now)
{
    auto const known = failed_last_.begin() + static_cast<std::ptrdiff_t>(failed_);
    auto at = std::ranges::find(failed_last_.begin(), known, who, &suspect::who);
    if (at == known) {
        failed_ = std::min(failed_ + 1, failed_last_.size());
        at = failed_last_.begin() + static_cast<std::ptrdiff_t>(failed_ - 1);
    }
    std::rotate(failed_last_.begin(), at, at + 1);
    failed_last_.front() = {who, now};
}

bool breaker::several_fail(tick now) const
{
    return failed_ == failed_last_.size() && now - failed_last_.back().at < options_.window;
}

void breaker::probed(bool good, tick now, std::size_t needed)
{
    if (!good) {
        ++in_vain_;
        if (++bad_probes_ < std::max(needed, bad_probes_needed())) return;
        auto const enough = static_cast<std::size_t>(options_.unavailable_in_a_row);
        if (cause_ == cause::failures && down_probes_ >= std::max(enough, down_.needed(0.05)))
            cause_ = cause::unavailable;
        return reopen(now, cause_,
            bad_probes_ == 1 ? "the probe failed" : "the last " + std::to_string(bad_probes_) + " probes failed");
    }
    bad_probes_ = down_probes_ = 0;
    if (++good_probes_ < options_.probes) return;
    // Up again nearly at once: it was chance that opened it, and the run belongs to ordinary times. Failures may have
    // been that in any case.
    if (cause_ == cause::failures)
        failing_.recall(std::min(opened_by_ + in_vain_, most_recalled));
    else if (in_vain_ <= 1)
        down_.recall(opened_by_);
    phase_ = phase::slow_start;
    allowed_ = options_.probes;
    round_began_ = now;
    close_if_at_full_speed();
}

void breaker::no_answer(ticket t, tick now)
{
    advance(now);
    if (!counts(t) || phase_ != phase::half_open) return;
    ++in_vain_;
    reopen(now, cause_, "a probe did not end");
}

/// Enough to tell an outage from ordinary times.
std::size_t breaker::bad_probes_needed() const
{
    auto const& ordinary = cause_ == cause::unavailable ? down_ : failing_;
    return std::max(options_.probes, std::min<std::size_t>(ordinary.needed(0.05), 64));
}

/// How many probes may fail before it opens again: where ordinary times are not known yet, and most calls fail in
/// them, one a turn would keep it open for ever. Each opening doubles it, up to 8.
std::size_t breaker::patience() const
{
    return std::size_t{1} << std::clamp(openings_ - 1, 0, 3);
}

/// The probes of a turn run together: where calls take half a minute, eight one by one would take four.
std::size_t breaker::at_once() const
{
    return cause_ == cause::failures ? std::max(options_.probes, patience()) : options_.probes;
}

void breaker::force_open(bool set)
{
    if (set && phase_ != phase::open) {
        in_vain_ = down_probes_ = opened_by_ = 0;
        open(tick::min(), cause::unavailable, "forced");
    }
    forced_ = set;
}

bool breaker::in_doubt() const
{
    return phase_ != phase::open && phase_ != phase::half_open && down_.different() >= 2 &&
        down_.length() >= down_.needed(0.01);
}

std::optional<tick> breaker::wake_at() const
{
    if (phase_ == phase::open && !forced_) return open_until_;
    if (phase_ == phase::slow_start) return round_began_ + options_.slow_start_round;
    return {};
}

std::string breaker::explain(tick now) const
{
    switch (phase_) {
    case phase::closed: return "closed";
    case phase::half_open: return "half open, " + std::to_string(at_once()) + " at a time: " + why_;
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
        good_probes_ = bad_probes_ = 0;
    }
    while (phase_ == phase::slow_start && now >= round_began_ + options_.slow_start_round) {
        allowed_ = allowed_ < unlimited / 2 ? 2 * allowed_ : unlimited;
        round_began_ += options_.slow_start_round;
        close_if_at_full_speed();
    }
}

void breaker::close_if_at_full_speed()
{
    if (allowed_ < options_.full_speed) return;
    phase_ = phase::closed;
    openings_ = 0;
}

void breaker::open(tick until, cause what, std::string why)
{
    phase_ = phase::open;
    current_ = ticket(static_cast<std::uint64_t>(current_) + 1);
    open_until_ = until;
    cause_ = what;
    why_ = std::move(why);
    window_.clear();
    down_.forget();
    failing_.forget();
    failed_ = 0;
}

void breaker::reopen(tick now, cause what, std::string why)
{
    openings_ = std::min(openings_ + 1, 1'000); // far beyond what makes a difference
    if (phase_ != phase::half_open) {
        in_vain_ = down_probes_ = 0;
        opened_by_ = (what == cause::unavailable ? down_ : failing_).length();
    }
    open(now + options_.open_for.delay(openings_, random_), what, std::move(why));
}

} // namespace quern::policy
