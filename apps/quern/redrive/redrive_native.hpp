#pragma once

#include "common/session.hpp"
#include "redrive/redrive_options.hpp"

#include <string>

namespace quern::app {

/// The first option given that a move task of SQS has no way to follow; empty when there is none.
std::string beyond_a_move_task(redrive_options const&);

/// Has SQS move the messages; completes when the task has ended, with an exit_code. A signal cancels the task.
boost::asio::awaitable<int> move_natively(session&, redrive_options const&, std::string dlq_url, std::string to_url);

} // namespace quern::app
