#pragma once

#include <quern/consumer/limits.hpp>
#include <quern/core/clock.hpp>
#include <quern/sim/scenario.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

namespace quern::sim::detail {

/// Books of what one process may hold, begin and ask for, by limits that may be turned. What is there already when
/// one is lowered may stay; nothing is added until there is less.
///
/// Slack  at the moment at which limits are turned, the old ones are as good: the process may have acted before.
class limit_book {
public:
    /// `handler_concurrency`: messages in handlers. `rate`: absent as well where
    /// handlers may start later than the consumer lets them.
    explicit limit_book(consumer_limits const& all);

    void turn(consumer_limits const&, tick now);

    // Each says what is wrong with it; empty: nothing.

    std::string holds(std::size_t held);

    /// A receive leaves. `held`: at this moment, absent where nobody knows; `again`: its answer was lost, and it
    /// keeps what it has.
    std::string asks(std::size_t most, std::optional<std::size_t> held, bool again, tick now);
    void answered(std::size_t most);

    /// A handler starts, and so many run with it.
    std::string starts(std::size_t running, tick now);

    std::optional<std::size_t> bytes(tick now) const; ///< absent: no limit
    std::size_t places() const { return now_.max_in_flight; }
    std::size_t places_beside(std::size_t asked) const ///< what receives may bring, so many more among it
    {
        return places() - std::min(places(), coming_ + asked);
    }

private:
    template <class Which>
    std::size_t limit(Which consumer_limits::*, tick now) const;

    consumer_limits before_, now_;
    tick turned_at_ = tick::min();
    std::size_t bound_; // of what may be held: the limit, or what was there when it was lowered
    std::size_t open_ = 0, coming_ = 0;
    std::size_t started_ = 0; // since
    std::optional<tick> counts_from_;
};

/// These limits as the books of such a day keep them: messages of batches, and no rate where it does not show.
consumer_limits seen_limits(scenario const&, consumer_limits);

} // namespace quern::sim::detail
