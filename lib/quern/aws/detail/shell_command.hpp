#pragma once

#include <quern/core/error.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::aws::detail {

/// A command for `/bin/sh -c`, and what it is given. Not an aggregate: g++ 12.2 destroys those twice in a `co_await`
/// expression (GCC PR107288).
struct shell_command {
    std::string text;
    std::string_view input;               ///< becomes its standard input
    std::vector<std::string> environment; ///< NAME=VALUE, added to what this program has
    bool keep_output = false;             ///< its standard output comes back; else it is that of this program
    std::size_t output_limit = 64 * 1024; ///< of what comes back; a command that writes more has failed
    std::optional<std::chrono::milliseconds> limit; ///< from the start on; absent: none
    std::chrono::milliseconds grace{5'000}; ///< between SIGTERM and SIGKILL, when it is cancelled or over its limit

    explicit shell_command(std::string command) : text(std::move(command)) {}
};

/// How a command ended.
struct command_end {
    int status = 0;         ///< what it returned
    int signal = 0;         ///< what ended it instead; 0: nothing did
    bool cancelled = false; ///< it was told to end; it may have succeeded all the same
    bool timed_out = false; ///< likewise, by its limit
    std::string output;     ///< see shell_command::keep_output

    bool succeeded() const { return status == 0 && signal == 0; }
};

/// Runs it in a process group of its own, so that a signal for this program from the terminal does not hit the
/// command as well. Its standard error is that of this program.
///
/// Completes when it has ended.
/// Fails with    the system's code when it cannot be started; std::errc::file_too_large beyond output_limit
/// Cancellation  terminal: the group gets SIGTERM, and SIGKILL after `grace`. Completes when all of it has ended.
/// Lifetime      where the context is destroyed first, the group gets SIGKILL.
/// Threads       any; one of the executor at a time.
boost::asio::awaitable<result<command_end>> run_shell_command(shell_command);

} // namespace quern::aws::detail
