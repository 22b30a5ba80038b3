#pragma once

#include <quern/core/error.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::policy {

/// Which part of a delay is left to chance, so that what failed together does not come back together. Only ever
/// shortens: a delay without jitter is the longest one.
class jitter {
public:
    static const jitter none; ///< the delay itself
    static const jitter half; ///< uniform from half the delay to all of it
    static const jitter full; ///< uniform from 0 to the delay

    /// Uniform from (1 - part) of the delay to all of it; 0.25 takes up to a quarter away. 0 to 1.
    static constexpr jitter fraction(double part) { return jitter(part); }

    constexpr double part() const { return part_; }

    /// Never negative and never above `delay`, whatever the part.
    std::chrono::milliseconds spread(std::chrono::milliseconds delay, std::mt19937_64& random) const;

private:
    constexpr explicit jitter(double part) : part_(part) {}

    double part_;
};

inline constexpr jitter jitter::none{0.0};
inline constexpr jitter jitter::half{0.5};
inline constexpr jitter jitter::full{1.0};

/// How long a message that failed stays invisible: a series that the receive count goes through, then jitter.
///
/// The receive count comes from the service, so the delay grows across consumers and restarts. A count below 1 is
/// taken for 1.
class backoff {
public:
    using milliseconds = std::chrono::milliseconds;

    /// 15 minutes: a day of retries is about a hundred, and a message waits no longer than that once an outage is
    /// over.
    static constexpr milliseconds usual_cap{900'000};

    /// exponential(1 s, 2.0, 15 min): long enough to get over a hiccup at first, and as rare as bearable from the
    /// eleventh receive on. Half jitter, here and in every growing series: it spreads, and still waits.
    backoff();

    /// base, base x factor, base x factor^2, ... up to the cap. Doubled, the usual cap is reached after ten receives
    /// from a second.
    static backoff exponential(milliseconds base, double factor = 2.0, milliseconds cap = usual_cap);

    /// base, base + step, base + 2 step, ... up to the cap.
    static backoff linear(milliseconds base, milliseconds step, milliseconds cap = usual_cap);

    /// base times 1, 1, 2, 3, 5, 8, ... up to the cap.
    static backoff fibonacci(milliseconds base, milliseconds cap = usual_cap);

    /// The delays of the list, one a receive; the last repeats. Without jitter unless given some: who writes delays
    /// down means them. They may be 0.
    static backoff fixed(std::vector<milliseconds> list);

    /// The function's delay for the receive count, brought into 0 to 12 h; without jitter unless given some. Where
    /// the function throws, the default series decides: a bug in it neither loses a message nor retries it hot.
    /// Called on the thread that settles, and must not block.
    static backoff custom(std::function<milliseconds(int receive_count)> function);

    /// The same series with another jitter.
    backoff with(jitter j) const { return {at_, problem_, j}; }

    /// Delay for the given receive count (1 after the first receive). Never negative; never above the cap, nor above
    /// 12 h, for which SQS hides a message at most.
    milliseconds delay(int receive_count, std::mt19937_64& random) const;

    /// The first setting that cannot work, by name: "backoff.base must be positive". `name` is that of the option
    /// which holds this one.
    [[nodiscard]] std::optional<failure> validate(std::string_view name = "backoff") const;

private:
    /// `at`: the delay of receive n >= 1 in milliseconds, not yet in range. `problem`: a setting that cannot work.
    backoff(std::function<double(int n)> at, std::string_view problem, jitter j)
        : at_(std::move(at)), problem_(problem), jitter_(j)
    {}

    std::function<double(int n)> at_;
    std::string_view problem_; ///< empty: none
    jitter jitter_;
};

} // namespace quern::policy
