#pragma once

#include "common/commands.hpp"
#include "redrive/redrive_options.hpp"

#include <quern/redrive/journal.hpp>

#include <memory>
#include <optional>

namespace quern::app {

/// The journal that the options name; nothing when they name none. Refuses one of a run with other settings.
result<std::optional<redrive::journal>> journal_for(redrive_options const&);

/// `quern redrive status`, history, resume, cancel and export.
void add_redrive_journal(command& redrive, command_line&);

/// Runs the redrive of these options.
int redrive_with(command_line const&, std::shared_ptr<redrive_options> const&);

} // namespace quern::app
