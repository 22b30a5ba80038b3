#pragma once

#include <quern/core/clock.hpp>
#include <quern/sqs/api.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace quern::redrive {

/// Makes visible again what these receipt handles hide; the number of those of which it was not confirmed. They
/// become visible by themselves; after a batch of which nothing could be told twice, nothing more is tried.
boost::asio::awaitable<std::size_t> give_back(
    sqs::api&, clock&, std::string queue_url, std::vector<std::string> handles);

} // namespace quern::redrive
