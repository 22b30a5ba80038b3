#pragma once

#include <quern/relay/rule.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::relay {

/// The word that the answer of a Lambda function has on each message of its event.
struct lambda_answer {
    std::vector<body_says> messages; ///< in the order of the event
    std::string error;               ///< why, where it is an error or unreadable
};

/// Reads the answer to an event of messages with these ids. An empty answer, null, and a list `batchItemFailures`
/// that is empty, null or absent say that all were handled. An answer with errorType or errorMessage, one that is no
/// JSON object, and a failure that names no message of the event say that none was: a message is deleted only on a
/// word that is understood. `in_order`: of a FIFO queue, where what follows a failure counts as failed.
lambda_answer read_lambda_answer(std::string_view body, std::span<std::string_view const> ids, bool in_order);

} // namespace quern::relay
