#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace quern::policy {

/// `count` messages, or whatever is limited, in every `per`: {.count = 50} is 50 a second, {5, 2min} one in 24
/// seconds.
struct rate {
    /// At least 1; has no default, because only the user knows what the rate is to protect.
    std::int64_t count = 0;

    std::chrono::nanoseconds per = std::chrono::seconds(1);

    /// How many may gather while nothing is taken. Ten: as many as one receive brings; with less, a receive would
    /// have to ask for less and cost the same.
    std::int64_t burst = 10;

    /// Whether these have gathered when it begins. False where what was before is not known, and may have used them.
    bool full_at_first = true;

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;

    bool operator==(rate const&) const = default;
};

/// "50 a second", "1 in 24 s", and ", 30 at once" where the burst is another than the usual.
std::string to_string(rate const&);

/// A token bucket. Counts in whole numbers, so it neither drifts nor loses a part of a token: over any
/// time no more than `burst` and what came in meanwhile can be taken, and all of that can be.
///
///     ask for    at most available(now), less what was asked for and has not come yet
///     take       what came
///
/// Threads  one strand.
class rate_limit {
public:
    /// Requires  rate.validate() found nothing.
    rate_limit(rate const&, tick now);

    /// How many can be taken now; 0 as long as more was taken than there was.
    std::size_t available(tick now);

    /// How many can be taken within `ahead` from now, each as soon as it comes in: of these the bucket need not hold
    /// any.
    std::size_t expected(tick now, std::chrono::nanoseconds ahead);

    /// Takes `n`, more than there are if need be: what happened has happened, and is waited for afterwards.
    void take(std::size_t n, tick now);

    /// When `n` will be available (a full bucket, where that is less) if nothing is taken until then; the time of the
    /// last call of another function when they already are.
    tick wake_at(std::size_t n) const;

    /// When so many will be expected() if nothing is taken until then; never, when a full bucket would not be enough.
    std::optional<tick> wake_at(std::size_t n, std::chrono::nanoseconds ahead) const;

    /// Another rate from now on. What has gathered, or is owed, stays; what the new bucket cannot hold is lost.
    void change(rate const&, tick now);

private:
    // Credit is counted so that both numbers are whole: a token is `token_` units, a nanosecond brings `inflow_`.
    void set(rate const&);
    void refill(tick now);
    std::int64_t until(std::int64_t credit) const;
    std::int64_t brought_in(std::chrono::nanoseconds) const;

    std::int64_t token_ = 1;
    std::int64_t inflow_ = 1;
    std::int64_t full_ = 0;
    std::int64_t credit_ = 0;
    tick updated_;
};

} // namespace quern::policy
