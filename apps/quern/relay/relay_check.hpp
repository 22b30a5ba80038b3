#pragma once

#include "common/session.hpp"
#include "relay/relay_settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

namespace quern::app {

/// Looks whether the queues are there, and whether somebody listens at the URL: of which a warning tells, for a
/// service may start later. Returns the exit code.
boost::asio::awaitable<int> check_surroundings(session&, relay_settings const&, std::vector<std::string> queues);

} // namespace quern::app
