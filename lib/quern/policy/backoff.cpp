#include <quern/policy/backoff.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <cmath>

namespace quern::policy {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

namespace {

constexpr milliseconds longest_delay = sqs::max_visibility;
constexpr milliseconds usual_base = 1s;
constexpr double usual_factor = 2;

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

backoff::backoff() : backoff(geometric{usual_base, usual_factor, usual_cap}, jitter::half) {}

backoff backoff::exponential(milliseconds base, double factor, milliseconds cap)
{
    return {geometric{base, factor, cap}, jitter::half};
}

backoff backoff::linear(milliseconds base, milliseconds step, milliseconds cap)
{
    return {arithmetic{base, step, cap}, jitter::half};
}

backoff backoff::fibonacci(milliseconds base, milliseconds cap)
{
    return {additive{base, cap}, jitter::half};
}

backoff backoff::fixed(std::vector<milliseconds> list)
{
    return {listed{std::move(list)}, jitter::none};
}

backoff backoff::custom(std::function<milliseconds(int)> function)
{
    return {computed{std::move(function)}, jitter::none};
}

backoff backoff::with(jitter j) const
{
    return {series_, j};
}

milliseconds backoff::delay(int receive_count, std::mt19937_64& random) const
{
    auto const n = std::max(receive_count, 1);
    auto const delay = at_most(std::visit([n](auto const& s) { return s.at(n); }, series_), longest_delay);
    return jitter_.spread(milliseconds(static_cast<milliseconds::rep>(std::max(delay, 0.0))), random);
}

std::optional<failure> backoff::validate(std::string_view name) const
{
    auto what = std::visit([](auto const& s) { return s.problem(); }, series_);
    if (what.empty() && !(jitter_.part() >= 0 && jitter_.part() <= 1)) what = "jitter must be from 0 to 1";
    if (what.empty()) return {};
    return failure(errc::invalid_option, std::string(name) + "." + std::string(what));
}

double backoff::geometric::at(int n) const
{
    return at_most(number(base) * std::pow(factor, n - 1), cap);
}

std::string_view backoff::geometric::problem() const
{
    if (!std::isfinite(factor) || factor < 1) return "factor must be at least 1, and finite";
    return problem_of(base, cap);
}

double backoff::arithmetic::at(int n) const
{
    return at_most(number(base) + number(step) * (n - 1), cap);
}

std::string_view backoff::arithmetic::problem() const
{
    if (step < 0ms) return "step must not be negative";
    return problem_of(base, cap);
}

double backoff::additive::at(int n) const
{
    double last = 0, current = 1;
    for (int i = 1; i < std::min(n, 64); ++i) // the 64th would be 300 years already
        last = std::exchange(current, last + current);
    return at_most(number(base) * current, cap);
}

std::string_view backoff::additive::problem() const
{
    return problem_of(base, cap);
}

double backoff::listed::at(int n) const
{
    if (list.empty()) return 0;
    return number(list[std::min(static_cast<std::size_t>(n), list.size()) - 1]);
}

std::string_view backoff::listed::problem() const
{
    if (list.empty()) return "list must not be empty";
    auto const [least, most] = std::minmax_element(list.begin(), list.end());
    if (*least < 0ms || *most > longest_delay) return "list must hold delays from 0 to 12 h";
    return {};
}

double backoff::computed::at(int n) const
{
    try {
        return number(function(n));
    } catch (...) {
        return geometric{usual_base, usual_factor, usual_cap}.at(n);
    }
}

std::string_view backoff::computed::problem() const
{
    return function ? std::string_view() : "function must not be empty";
}

} // namespace quern::policy
