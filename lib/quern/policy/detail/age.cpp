#include <quern/policy/detail/age.hpp>

#include <algorithm>

namespace quern::policy::detail {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace std::chrono_literals;

namespace {

constexpr milliseconds forever = 24h * 365 * 1'000; // more than between any two times; far from overflow

milliseconds since(wall_time from, wall_time to)
{
    return std::chrono::floor<milliseconds>(to) - std::chrono::floor<milliseconds>(from);
}

} // namespace

std::optional<milliseconds> within_age(
    wall_time first_received_at, wall_time now, milliseconds delay, milliseconds max_age)
{
    auto const age = std::max(since(first_received_at, now), 0ms);
    auto const left = std::chrono::floor<seconds>(std::clamp(max_age, 0ms, forever) - age);
    if (left < 1s) return {};
    return std::clamp<milliseconds>(delay, 0ms, left);
}

milliseconds delay_until(wall_time at, wall_time now, milliseconds horizon_left)
{
    auto const delay = std::chrono::ceil<milliseconds>(at) - std::chrono::floor<milliseconds>(now);
    return std::clamp(delay, 0ms, std::max(horizon_left, 0ms));
}

} // namespace quern::policy::detail
