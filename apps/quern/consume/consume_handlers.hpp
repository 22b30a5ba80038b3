#pragma once

#include "common/line_writer.hpp"
#include "consume/exit_rule.hpp"

#include <quern/consumer/consumer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace quern::app {

/// Writes each message as a JSON line, and acknowledges it when the line is out. When that fails: tells, and gives it
/// back. `queue_url`: of these lines, see json_line().
handler print_messages(
    std::shared_ptr<line_writer> to, std::function<void(failure const&)> broken, std::string queue_url);

/// Variables that a command gets besides; null: none.
using more_variables = std::function<std::vector<std::string>(delivery const&)>;

/// A command for each message.
struct command_work {
    std::string command, queue_url;
    std::chrono::milliseconds grace{};
    exit_rule exits;
    more_variables more; ///< null: none
};

/// Runs a shell command for each message; see variables() and aws::detail::run_shell_command(). One that cannot be
/// started for want of descriptors, memory or processes waits for them here: that says nothing of its message.
handler run_for_each(command_work);

/// The environment of such a command: QUERN_MESSAGE_ID, QUERN_RECEIVE_COUNT, QUERN_QUEUE_URL, QUERN_ATTRIBUTES
/// (JSON), QUERN_ATTRIBUTES_FILE, QUERN_SENT_AT, QUERN_FIRST_RECEIVED_AT, QUERN_GROUP. Always all of them, empty
/// where the message has no such thing, so that none comes from whoever started this program; without the bytes 0,
/// which would cut them. `attributes_file`: has the attributes where a variable has no room for them; else empty.
std::vector<std::string> variables(
    delivery const&, std::string const& queue_url, std::string const& attributes_file = {});

} // namespace quern::app
