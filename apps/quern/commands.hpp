#pragma once

#include "endpoint_options.hpp"

#include <functional>

namespace CLI {
class App;
}

namespace quern::app {

/// The command line, read.
struct command_line {
    endpoint_options where;
    std::function<int()> run; ///< the command that was named; returns an exit_code
};

// One file each.
void add_alarms(CLI::App&, command_line&);
void add_broker(CLI::App&, command_line&);
void add_queue(CLI::App&, command_line&);
void add_send(CLI::App&, command_line&);
void add_consume(CLI::App&, command_line&);
void add_relay(CLI::App&, command_line&);
void add_idempotency(CLI::App&, command_line&);
void add_demo(CLI::App&, command_line&);
void add_sim(CLI::App&, command_line&);
void add_top(CLI::App&, command_line&);
void add_redrive(CLI::App&, command_line&);
void add_sample(CLI::App& to, char const* name, command_line&);

} // namespace quern::app
