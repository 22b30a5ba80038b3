#pragma once

#include <quern/core/error.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace quern::app {

/// How a command ended.
struct command_end {
    int status = 0;         ///< what it returned
    int signal = 0;         ///< what ended it instead; 0: nothing did
    bool cancelled = false; ///< it was told to end; it may have succeeded all the same

    bool succeeded() const { return status == 0 && signal == 0; }
};

/// Runs `/bin/sh -c command` in a process group of its own, so that a signal for this program from the terminal does not
/// hit the command as well.
///
/// `input`        becomes its standard input; standard output and error are those of this program.
/// `environment`  NAME=VALUE, added to those of this program.
///
/// Completes when it has ended.
/// Cancellation  terminal: the group gets SIGTERM, and SIGKILL after `grace`. Completes when the command has ended.
/// Threads       any; one of the executor at a time.
boost::asio::awaitable<result<command_end>> run_shell_command(std::string const& command, std::string_view input,
    std::vector<std::string> environment, std::chrono::milliseconds grace);

} // namespace quern::app
