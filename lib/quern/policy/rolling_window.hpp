#pragma once

#include <quern/core/clock.hpp>

#include <cstdint>
#include <vector>

namespace quern::policy {

/// Counts of calls and failures over the time just past. It moves on by a bucket at a time: what is remembered is
/// between `length` less a bucket and `length` old.
class rolling_window {
public:
    struct counts {
        std::uint64_t calls = 0;
        std::uint64_t failures = 0;
    };

    /// Requires  buckets >= 1, and at least a nanosecond for each
    rolling_window(tick::duration length, int buckets)
        : width_(length / buckets), buckets_(static_cast<std::size_t>(buckets))
    {}

    void add(counts, tick now);
    counts total(tick now);
    void clear();

private:
    void move_on(tick now);

    tick::duration width_;
    std::vector<counts> buckets_;
    std::size_t current_ = 0;
    tick current_began_{};
    counts total_;
};

} // namespace quern::policy
