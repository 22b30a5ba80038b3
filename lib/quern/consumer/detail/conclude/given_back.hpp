#pragma once

#include <quern/core/clock.hpp>

#include <boost/unordered/unordered_flat_set.hpp>

#include <chrono>
#include <cstdint>
#include <utility>

namespace quern::detail {

/// Ids of the messages that were given back within the last second, or two.
class given_back {
public:
    /// True when it was there.
    bool add(std::uint64_t id, tick now)
    {
        if (now >= began_ + second) {
            before_ = now < began_ + 2 * second ? std::move(latest_) : ids();
            latest_ = ids();
            began_ = now;
        }
        auto const known = before_.contains(id) || latest_.contains(id);
        latest_.insert(id);
        return known;
    }

private:
    using ids = boost::unordered_flat_set<std::uint64_t>;
    static constexpr std::chrono::seconds second{1};

    ids before_, latest_;
    tick began_{};
};

} // namespace quern::detail
