#pragma once

#include "common/commands.hpp"

#include <string>

namespace quern::app {

/// Writes the messages of the queue to a file, and leaves them in the queue.
int export_to_file(command_line const&, std::string const& queue, std::string const& path);

/// `quern redrive import`.
void add_import(command& redrive, command_line&);

} // namespace quern::app
