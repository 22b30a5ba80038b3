#include <quern/policy/rate_limit.hpp>

#include <algorithm>
#include <numeric>

namespace quern::policy {
namespace {

/// The bound of credit and of debt; twice this still fits.
constexpr std::int64_t most = std::int64_t(1) << 61;

} // namespace

std::optional<failure> rate::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (count < 1) return wrong("rate.count must be at least 1");
    if (per.count() < 1) return wrong("rate.per must be positive");
    if (burst < 1) return wrong("rate.burst must be at least 1");
    auto const token = per.count() / std::gcd(count, per.count());
    if (burst > most / token)
        return wrong("rate.burst must be smaller, or per shorter: both together are not countable");
    return {};
}

std::string to_string(rate const& r)
{
    using std::chrono::nanoseconds;
    auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(r.per);
    auto out = std::to_string(r.count);
    if (r.per == std::chrono::seconds(1))
        out += " a second";
    else if (r.per % std::chrono::seconds(1) == nanoseconds(0))
        out += " in " + std::to_string(ms.count() / 1'000) + " s";
    else if (r.per % std::chrono::milliseconds(1) == nanoseconds(0))
        out += " in " + std::to_string(ms.count()) + " ms";
    else
        out += " in " + std::to_string(r.per.count()) + " ns";
    return r.burst == rate().burst ? out : out + ", " + std::to_string(r.burst) + " at once";
}

rate_limit::rate_limit(rate const& r, tick now) : updated_(now)
{
    set(r);
    credit_ = r.full_at_first ? full_ : 0;
}

std::size_t rate_limit::available(tick now)
{
    refill(now);
    return static_cast<std::size_t>(std::max<std::int64_t>(credit_, 0) / token_);
}

std::size_t rate_limit::expected(tick now, std::chrono::nanoseconds ahead)
{
    refill(now);
    return static_cast<std::size_t>(std::max<std::int64_t>(credit_ + brought_in(ahead), 0) / token_);
}

void rate_limit::take(std::size_t n, tick now)
{
    refill(now);
    auto const bearable = static_cast<std::size_t>((credit_ + most) / token_);
    credit_ -= static_cast<std::int64_t>(std::min(n, bearable)) * token_;
}

tick rate_limit::wake_at(std::size_t n) const
{
    auto const burst = static_cast<std::size_t>(full_ / token_);
    return updated_ + tick::duration(until(static_cast<std::int64_t>(std::min(n, burst)) * token_));
}

std::optional<tick> rate_limit::wake_at(std::size_t n, std::chrono::nanoseconds ahead) const
{
    if (n > static_cast<std::size_t>(most / token_)) return {};
    auto const credit = static_cast<std::int64_t>(n) * token_ - brought_in(ahead);
    if (credit > full_) return {};
    return updated_ + tick::duration(until(credit));
}

void rate_limit::change(rate const& r, tick now)
{
    refill(now);
    auto const old = token_;
    auto const whole = credit_ / old;
    auto const part = static_cast<long double>(credit_ % old) / static_cast<long double>(old);
    set(r);
    credit_ = std::clamp(whole, -(most / token_), full_ / token_) * token_;
    credit_ = std::clamp(credit_ + static_cast<std::int64_t>(part * static_cast<long double>(token_)), -most, full_);
}

void rate_limit::set(rate const& r)
{
    auto const common = std::gcd(r.count, r.per.count());
    token_ = r.per.count() / common;
    inflow_ = r.count / common;
    full_ = r.burst * token_;
}

void rate_limit::refill(tick now)
{
    if (now <= updated_) return;
    auto const elapsed = std::chrono::nanoseconds(now - updated_).count();
    credit_ = elapsed >= until(full_) ? full_ : credit_ + elapsed * inflow_;
    updated_ = now;
}

std::int64_t rate_limit::brought_in(std::chrono::nanoseconds ahead) const
{
    return ahead.count() > most / inflow_ ? most : ahead.count() * inflow_;
}

/// Nanoseconds, rounded up.
std::int64_t rate_limit::until(std::int64_t credit) const
{
    auto const missing = credit - credit_;
    return missing <= 0 ? 0 : (missing - 1) / inflow_ + 1;
}

} // namespace quern::policy
