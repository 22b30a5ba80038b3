#pragma once

#include <boost/asio/awaitable.hpp>

#include <string>

namespace quern::app {

/// Completes with why the shell would find nothing to run for this command; empty when it finds it, or when only the
/// shell can tell, as with "$HANDLER" or "(cd /srv; ./handle)".
boost::asio::awaitable<std::string> missing_command(std::string command);

/// The first word, when it stands for itself; else empty.
std::string plain_first_word(std::string const& command);

} // namespace quern::app
