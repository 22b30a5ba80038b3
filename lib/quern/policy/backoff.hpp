#pragma once

#include <quern/core/error.hpp>

#include <chrono>
#include <optional>
#include <random>

namespace quern::policy {

/// How long a message that failed stays invisible: `base` x `factor`^(receive count - 1), at most `cap`, then jitter.
///
/// The receive count comes from the service, so the delay grows across consumers and restarts.
struct backoff {
    enum class jitter { none, full, half };

    std::chrono::milliseconds base{1'000}; ///< after the first failure: long enough to get over a hiccup
    double factor = 2.0;
    std::chrono::milliseconds cap{900'000}; ///< 15 minutes: a day of retries stays below a hundred
    /// full: uniform in [0, delay]; half: uniform in [delay / 2, delay]. Spreads what failed together.
    jitter spread = jitter::half;

    /// Delay for the given receive count (1 after the first receive). Never negative, never above `cap`.
    std::chrono::milliseconds delay(int receive_count, std::mt19937_64& random) const;

    std::optional<failure> validate() const;
};

} // namespace quern::policy
