#pragma once

#include "common/exit_code.hpp"

#include <quern/core/error.hpp>
#include <quern/net/endpoint.hpp>
#include <quern/telemetry/log.hpp>

#include <string>
#include <string_view>

namespace quern::app {

/// One line: what went wrong, and what to do about it where that is known.
/// `region`: that was asked; empty: not told.
std::string explain(failure const&, net::endpoint const& at, std::string const& region = {});

/// A sentence of the library about its options, by the names that these have on the command line.
std::string by_options_of_program(std::string);

/// The command line or the environment is wrong, rather than something that may pass.
bool blames_usage(failure const&);

/// Writes "quern: <what>" to standard error. Returns the exit code.
exit_code complain(std::string_view what, exit_code = failed);

/// Prints a failure from before anything was sent: its message alone says which option or variable. Returns `usage`
/// when that is to blame.
exit_code complain(failure const&);

/// The library's log, and the program's.
log_sink to_stderr();

/// Writes a line to it. spdlog stands behind it, whose headers cost each file that includes them a second and a half.
void log_line(log_level, std::string_view text);

/// False where such a line is dropped: it need not be made.
bool logs(log_level);

/// Logs to standard error from this level on: debug, info, warning, error or off. `format`: text, json or ecs.
void start_log(std::string const& level, std::string const& format);

} // namespace quern::app
