#pragma once

#include "common/endpoint_options.hpp"

#include <functional>

namespace quern::app {

class command;

/// The command line, read.
struct command_line {
    endpoint_options where;
    std::function<int()> run; ///< the command that was named; returns an exit_code
};

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
