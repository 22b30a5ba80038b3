#pragma once

#include <quern/sqs/types.hpp>

#include <string>

namespace quern::sim::detail {

/// The attributes of that message, which was rejected once, on another queue, and came back.
sqs::attribute_map earlier_life(int number);

/// The trace header of a message that has one.
sqs::attribute_map trace_header();

/// A message as the process that rejects it has it.
struct rejected_message {
    int number = 0;
    std::string id, queue_url;
    int from = 1, to = 1;   ///< receive counts: of the one that was rejected, and the newest
    bool explained = true;  ///< it was said why
    bool came_back = false; ///< with what earlier_life() says
};

/// Compares the copy on the poison queue with the message: what the copy does not tell, or tells of another life.
/// Empty: nothing.
std::string untold_by(sqs::send_message_entry const& copy, rejected_message const&);

} // namespace quern::sim::detail
