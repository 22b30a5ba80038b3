#pragma once

#include "common/endpoint_options.hpp"
#include "common/settings_sources.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace quern::app {

class command;
class program;
struct consume_options;

/// The command line, read.
struct command_line {
    endpoint_options where;
    std::string config; ///< --config
    std::string log_level = "info", log_format = "text";
    std::function<int()> run;                       ///< the command that was named; returns an exit_code
    std::vector<std::string> arguments;             ///< as they were
    std::vector<said_setting> said;                 ///< of options, elsewhere
    std::shared_ptr<consume_options const> consume; ///< where that command consumes; else null
};

/// Reads a command line, or the same once more: files and environment may have changed. Null when help or the version
/// was asked for, and printed.
///
/// Throws  usage_error
std::unique_ptr<program> read_arguments(command_line&, std::vector<std::string> arguments);

/// Has the program run this where the command line names the command.
void when_named(command&, command_line&, std::function<int()>);

// One file each.
void add_alarms(command&, command_line&);
void add_broker(command&, command_line&);
void add_queue(command&, command_line&);
void add_send(command&, command_line&);
void add_consume(command&, command_line&);
void add_relay(command&, command_line&);
void add_idempotency(command&, command_line&);
void add_demo(command&, command_line&);
void add_sim(command&, command_line&);
void add_top(command&, command_line&);
void add_health(command&, command_line&);
void add_init(command&, command_line&);
void add_redrive(command&, command_line&);
command& add_sample(command& to, char const* name, command_line&);

} // namespace quern::app
