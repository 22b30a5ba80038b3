#pragma once

#include "relay/relay_settings.hpp"

namespace quern::app {

/// Reads every file that the settings name, and asks the health URL once. Returns an exit code.
int check(relay_settings const&);

/// Prints the request that a message from standard input would make: a line of `quern consume`, or else a body. What
/// stands in --bearer-file and --basic-file is not shown. Returns an exit code.
int preview(relay_settings const&);

} // namespace quern::app
