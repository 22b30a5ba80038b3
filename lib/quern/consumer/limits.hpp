#pragma once

#include <quern/core/error.hpp>
#include <quern/policy/rate_limit.hpp>

#include <cstddef>
#include <optional>

namespace quern {

struct consumer_options;

/// Limits that can be turned while a consumer runs, see consumer::set_limits(). Each is what the member of
/// consumer_options with that name is. Absent: it stays as it is.
struct consumer_limits {
    std::optional<std::size_t> max_in_flight;
    std::optional<std::size_t> max_bytes_in_flight;
    std::optional<policy::rate> rate; ///< no rate any more where its count is zero: `policy::rate()`
    std::optional<std::size_t> max_polls;
    std::optional<std::size_t> handler_concurrency;

    /// All of them, as the options say.
    static consumer_limits of(consumer_options const&);

    /// These, and those of `base` that are absent here.
    consumer_limits over(consumer_limits const& base) const;

    /// The first that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;

    bool operator==(consumer_limits const&) const = default;
};

} // namespace quern
