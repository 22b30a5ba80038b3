#pragma once

#include <quern/core/error.hpp>

#include <chrono>
#include <optional>
#include <string_view>

namespace quern::aws {

inline constexpr int usual_attempts = 3;

/// The AWS SDKs' "standard" retries as they are since November 2026.
struct retry_options {
    /// Attempts of one call, the first included. Absent: AWS_MAX_ATTEMPTS or the profile's in sqs::client, else 3.
    std::optional<int> max_attempts{};
    int quota = 500;                                  ///< what failing calls may spend together, see retry_quota
    std::chrono::milliseconds transient_base{50};     ///< backoff before the second attempt, doubled each time
    std::chrono::milliseconds throttling_base{1'000}; ///< the same when the service asked for fewer requests
    std::chrono::milliseconds max_backoff{20'000};    ///< before jitter

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Tokens that retries of all calls of one lane share: when most calls fail, retrying stops being worth it.
///
/// Threads  one strand.
class retry_quota {
public:
    explicit retry_quota(int capacity) : capacity_(capacity), left_(capacity) {}
    retry_quota(int capacity, int left) : capacity_(capacity), left_(left) {}

    bool take(int cost);
    void put(int amount);
    int left() const { return left_; }

private:
    int capacity_;
    int left_;
};

/// Advice after a failed attempt.
struct retry_advice {
    enum class verdict { again, final_error, out_of_attempts, out_of_quota } is;
    std::chrono::nanoseconds wait{}; ///< before trying again; out of quota, a long poll waits before it gives up
};

/// The retries of one call: told how each attempt ended, says what comes next.
class retries {
public:
    /// `long_poll`: the call is one of a loop that would spin if it failed at once while the quota is empty.
    retries(retry_options const&, retry_quota&, bool long_poll);

    /// `hint`: see parse_retry_after(); `jitter`: 0 to 1, the part of the backoff to wait.
    retry_advice failed(failure const&, std::optional<std::chrono::milliseconds> hint, double jitter);
    void succeeded();

private:
    retry_options options_;
    retry_quota* quota_;
    bool long_poll_;
    int attempts_ = 0;
    int taken_ = 0; ///< tokens of the last retry, given back when it succeeds
};

/// Value of x-amz-retry-after, in milliseconds; nothing when it is no number or a negative one.
std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view);

} // namespace quern::aws
