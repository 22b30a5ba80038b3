#pragma once

#include "common/commands.hpp"

namespace quern::app {

/// `quern dead-letters edit`.
void add_edit(command& dead_letters, command_line&);

} // namespace quern::app
