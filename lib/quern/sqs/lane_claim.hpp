#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

namespace quern::sqs {

/// A number of places in each lane of a client: connections that requests may use at once.
struct lane_places {
    std::size_t data = 0;    ///< for receives
    std::size_t control = 0; ///< for everything else
};

/// Places that somebody counts on; free again when the last copy is gone, before or after the client.
struct lane_claim {
    std::optional<lane_places> refused; ///< set: so few are free, and none are claimed
    std::shared_ptr<void const> places;
};

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

} // namespace quern::sqs
