#pragma once

#include <quern/consumer/limits.hpp>
#include <quern/core/error.hpp>
#include <quern/policy/rate_limit.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace quern::fleet {

/// A budget, or a slice of one, in whole numbers that can be added up.
struct amounts {
    std::int64_t rate = 0;        ///< thousandths of a message a second
    std::int64_t concurrency = 0; ///< handlers at once

    bool operator==(amounts const&) const = default;
};

/// Budget that all processes of a fleet share. Each of them has to name the same.
struct budget {
    /// Messages that begin in all processes together; absent: no bound. Its burst is not used: a slice bursts by a
    /// twentieth of what it may in a second, so that all together stay within 105 % of the rate.
    std::optional<policy::rate> rate{};

    /// Handlers at once in all processes together; absent: no bound. Processes beyond this number stand by.
    std::optional<std::size_t> concurrency{};

    /// The first setting that cannot work, by name: one of both is needed; a rate is 1 in 1,000 s at least, and
    /// 1,000,000 a second at most.
    [[nodiscard]] std::optional<failure> validate() const;
};

amounts amounts_of(budget const&);

/// Limits of a consumer that has this slice, for consumer::set_limits(). An empty slice of a bounded kind is one
/// message a day, and none on the first.
consumer_limits limits_of(amounts const& slice, budget const&);

/// One process, as the item has it.
struct member {
    std::string name;
    std::int64_t beat = 0; ///< grows while it lives, by one in two seconds or so
    amounts slice;
    amounts wish; ///< -1: as much as it can get

    bool operator==(member const&) const = default;
};

/// Work of a process since the last look, as far as somebody knows.
struct usage {
    std::optional<double> rate;              ///< messages a second
    std::optional<std::int64_t> concurrency; ///< handlers at work now
};

/// "12.5/s and 3 at once": of a slice, or a budget.
std::string to_string(amounts const&);

} // namespace quern::fleet
