#pragma once

#include <quern/consumer/limits.hpp>
#include <quern/consumer/options.hpp>

namespace quern::detail {

/// The limits that a consumer works by at this moment: those of its options, until somebody turns them.
struct limits_in_force {
    explicit limits_in_force(consumer_options const& options)
        : max_in_flight(options.max_in_flight), max_bytes_in_flight(options.max_bytes_in_flight), rate(options.rate),
          max_polls(options.max_polls), handler_concurrency(options.handler_concurrency)
    {}

    /// Requires  validate() of these found nothing.
    void turn(consumer_limits const&);

    /// All of them, for whoever asks.
    consumer_limits told() const;

    std::size_t max_in_flight;
    std::size_t max_bytes_in_flight;
    std::optional<policy::rate> rate;
    std::size_t max_polls;
    std::size_t handler_concurrency;
};

/// "max_in_flight 50, no rate": what is otherwise than in `base`; empty when nothing is. Both are whole.
std::string differences(consumer_limits const& now, consumer_limits const& base);

} // namespace quern::detail
