#pragma once

#include <quern/sqs/lane_claim.hpp>

#include <memory>
#include <mutex>

namespace quern::sqs::detail {

/// How many places there are, and how many are claimed. A rule: nobody is kept from using what is claimed by others.
///
/// Threads  any.
class lane_ledger : public std::enable_shared_from_this<lane_ledger> {
public:
    explicit lane_ledger(lane_places all) : free_(all) {}

    /// All that is wanted, or nothing.
    lane_claim claim(lane_places wanted);

    lane_places free() const;

private:
    void give_back(lane_places);

    std::mutex mutable lock_;
    lane_places free_;
};

} // namespace quern::sqs::detail
