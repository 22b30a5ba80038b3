#include <quern/policy/backoff.hpp>

#include <algorithm>
#include <cmath>

namespace quern::policy {

using std::chrono::milliseconds;

milliseconds backoff::delay(int receive_count, std::mt19937_64& random) const
{
    auto const grown = static_cast<double>(base.count()) * std::pow(factor, std::max(receive_count, 1) - 1);
    auto const full = static_cast<std::int64_t>(std::min(grown, static_cast<double>(cap.count())));
    auto const least = spread == jitter::none ? full : spread == jitter::half ? full / 2 : 0;
    return milliseconds(std::uniform_int_distribution<std::int64_t>(least, full)(random));
}

std::optional<failure> backoff::validate() const
{
    if (base.count() < 0) return failure(errc::invalid_option, "backoff.base must not be negative");
    if (cap < base) return failure(errc::invalid_option, "backoff.cap must not be below backoff.base");
    if (!(factor >= 1.0)) return failure(errc::invalid_option, "backoff.factor must be at least 1");
    return {};
}

} // namespace quern::policy
