#pragma once

#include <boost/unordered/unordered_flat_set.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>

namespace quern::detail {

/// Ids of messages. The one after the last place takes that of the oldest.
class remembered {
public:
    static constexpr std::size_t most = 65'536;

    bool contains(std::uint64_t id) const { return known_.contains(id); }

    /// True when it is new.
    bool add(std::uint64_t id)
    {
        if (!known_.insert(id).second) return false;
        by_age_.push_back(id);
        if (by_age_.size() <= most) return true;
        known_.erase(by_age_.front());
        by_age_.pop_front();
        return true;
    }

    /// True when it was known. Leaves its place in the order of age until that is the oldest.
    bool forget(std::uint64_t id) { return known_.erase(id) != 0; }

private:
    boost::unordered_flat_set<std::uint64_t> known_;
    std::deque<std::uint64_t> by_age_; // some are forgotten already
};

} // namespace quern::detail
