#pragma once

#include "common/line_writer.hpp"

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

/// Runs a shell command for each message; see variables() and aws::run_shell_command().
handler run_for_each(
    std::string command, std::string queue_url, std::chrono::milliseconds grace, more_variables more = {});

/// The environment of such a command: QUERN_MESSAGE_ID, QUERN_RECEIVE_COUNT, QUERN_QUEUE_URL, QUERN_ATTRIBUTES
/// (JSON), QUERN_SENT_AT, QUERN_FIRST_RECEIVED_AT, QUERN_GROUP. Always all of them, empty where the message has no
/// such thing, so that none comes from whoever started this program; without the bytes 0, which would cut them.
std::vector<std::string> variables(delivery const&, std::string const& queue_url);

} // namespace quern::app
