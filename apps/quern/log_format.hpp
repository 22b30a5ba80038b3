#pragma once

#include <spdlog/formatter.h>

#include <memory>
#include <string>

namespace quern::app {

/// Lines of the log as JSON: "json" has the members timestamp, level, logger and message; "ecs" those of the Elastic Common
/// Schema. Requires one of the two.
std::unique_ptr<spdlog::formatter> json_log_format(std::string const& form);

} // namespace quern::app
