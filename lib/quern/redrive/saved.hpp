#pragma once

#include <quern/core/error.hpp>
#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <string>
#include <string_view>

namespace quern::redrive {

/// One line of JSON, with its line feed, from which parse_saved() makes the same message: its body, attributes of
/// every type and label, binary ones in base64, its trace header and its group. Its id, times, receive count and
/// source are there to be read.
std::string saved_line(sqs::message const&);

/// A message from such a line.
struct saved_message {
    std::string id; ///< that it had
    sqs::send_message_entry copy;
};

/// Reads such a line, without its line feed. The failure, errc::invalid_request, says what is missing or wrong. To a
/// FIFO queue the message has its former id as deduplication id, and as group where it had none.
[[nodiscard]] result<saved_message> parse_saved(std::string_view line, bool to_fifo);

} // namespace quern::redrive
