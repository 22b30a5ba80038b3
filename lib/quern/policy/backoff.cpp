#include <quern/policy/backoff.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <cmath>

namespace quern::policy {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

namespace {

constexpr milliseconds longest_delay = sqs::max_visibility;

double number(milliseconds d)
{
    return static_cast<double>(d.count());
}

/// Arithmetic in doubles cannot overflow; what is too much for a delay, or no number, becomes the cap.
double at_most(double delay, milliseconds cap)
{
    return delay < number(cap) ? delay : number(cap);
}

std::string_view problem_of(milliseconds base, milliseconds cap)
{
    if (base <= 0ms) return "base must be positive";
    if (cap < base) return "cap must not be below base";
    if (cap > longest_delay) return "cap must not exceed 12 h, for which SQS hides a message at most";
    return {};
}

} // namespace

milliseconds jitter::spread(milliseconds delay, std::mt19937_64& random) const
{
    auto const most = std::max<milliseconds::rep>(delay.count(), 0);
    auto const part = part_ > 0 ? std::min(part_, 1.0) : 0.0;
    auto const off = std::min(static_cast<double>(most) * part, 0x1p62);
    auto const least = std::max<milliseconds::rep>(most - static_cast<milliseconds::rep>(off), 0);
    return milliseconds(std::uniform_int_distribution<milliseconds::rep>(least, most)(random));
}

backoff::backoff() : backoff(exponential(1s)) {}

backoff backoff::exponential(milliseconds base, double factor, milliseconds cap)
{
    auto const is_growth = std::isfinite(factor) && factor >= 1;
    return {[=](int n) { return at_most(number(base) * std::pow(factor, n - 1), cap); },
        is_growth ? problem_of(base, cap) : "factor must be at least 1, and finite", jitter::half};
}

backoff backoff::linear(milliseconds base, milliseconds step, milliseconds cap)
{
    return {[=](int n) { return at_most(number(base) + number(step) * (n - 1), cap); },
        step < 0ms ? "step must not be negative" : problem_of(base, cap), jitter::half};
}

backoff backoff::fibonacci(milliseconds base, milliseconds cap)
{
    auto const at = [=](int n) {
        double last = 0, current = 1;
        for (int i = 1; i < std::min(n, 64); ++i) // the 64th would be 300 years already
            last = std::exchange(current, last + current);
        return at_most(number(base) * current, cap);
    };
    return {at, problem_of(base, cap), jitter::half};
}

backoff backoff::fixed(std::vector<milliseconds> list)
{
    auto const is_outside = [](milliseconds d) { return d < 0ms || d > longest_delay; };
    std::string_view problem;
    if (list.empty()) problem = "list must not be empty";
    if (std::ranges::any_of(list, is_outside)) problem = "list must hold delays from 0 to 12 h";
    auto at = [list = std::move(list)](int n) {
        return list.empty() ? 0 : number(list[std::min(static_cast<std::size_t>(n), list.size()) - 1]);
    };
    return {std::move(at), problem, jitter::none};
}

backoff backoff::custom(std::function<milliseconds(int)> function)
{
    std::string_view const problem = function ? "" : "function must not be empty";
    auto at = [function = std::move(function)](int n) {
        try {
            return number(function(n));
        } catch (...) {
            return backoff().at_(n);
        }
    };
    return {std::move(at), problem, jitter::none};
}

milliseconds backoff::delay(int receive_count, std::mt19937_64& random) const
{
    auto const n = std::max(receive_count, 1);
    auto const delay = at_most(at_(n), longest_delay);
    return jitter_.spread(milliseconds(static_cast<milliseconds::rep>(std::max(delay, 0.0))), random);
}

std::optional<failure> backoff::validate(std::string_view name) const
{
    auto what = problem_;
    if (what.empty() && !(jitter_.part() >= 0 && jitter_.part() <= 1)) what = "jitter must be from 0 to 1";
    if (what.empty()) return {};
    return failure(errc::invalid_option, std::string(name) + "." + std::string(what));
}

} // namespace quern::policy
