#pragma once

#include <cstddef>
#include <memory>
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

} // namespace quern::sqs
