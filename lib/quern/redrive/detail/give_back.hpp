#pragma once

#include <quern/core/clock.hpp>
#include <quern/redrive/detail/held_messages.hpp>
#include <quern/sqs/api.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace quern::redrive::detail {

/// End of a give_back().
struct given_back {
    std::size_t hidden = 0;   ///< of which it was not confirmed: they become visible by themselves
    std::size_t requests = 0; ///< that it cost
};

/// Makes visible again what these receipt handles hide. After a batch of which nothing could be told twice, nothing
/// more is tried.
boost::asio::awaitable<given_back> give_back(
    sqs::api&, clock&, std::string queue_url, std::vector<std::string> handles);

/// Extends the leases whose turn has come, with one request; false: none is due. What cannot be extended comes to
/// light by itself.
boost::asio::awaitable<bool> extend_due(sqs::api&, clock&, std::string queue_url, held_messages&);

} // namespace quern::redrive::detail
