#pragma once

#include <quern/core/error.hpp>
#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <string>

namespace quern::broker {

// Answers as JSON, appended to `to`. Lists that are empty are left out, as SQS leaves them out: a receive that got
// nothing is {}. An operation without an output has an empty body.

void encode(sqs::empty_response const&, std::string& to);
void encode(sqs::send_message_response const&, std::string& to);
void encode(sqs::send_message_batch_response const&, std::string& to);
void encode(sqs::receive_message_response const&, std::string& to);
void encode(sqs::batch_response<sqs::done_entry> const&, std::string& to);
void encode(sqs::queue_url_response const&, std::string& to);
/// `member` is "QueueUrls", but "queueUrls" for ListDeadLetterSourceQueues.
void encode(sqs::queue_urls_response const&, std::string& to, std::string_view member = "QueueUrls");
void encode(sqs::attributes_response const&, std::string& to);
void encode(sqs::tags_response const&, std::string& to);
void encode(sqs::task_handle_response const&, std::string& to);
void encode(sqs::moved_response const&, std::string& to);
void encode(sqs::list_message_move_tasks_response const&, std::string& to);

/// {"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"…"}
void encode_error(std::string_view json_type, std::string_view message, std::string& to);

} // namespace quern::broker
