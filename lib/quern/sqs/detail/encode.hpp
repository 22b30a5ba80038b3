#pragma once

#include <quern/sqs/types.hpp>

#include <string>

namespace quern::sqs {

// The JSON body of each request. What is absent or empty and not required is left out.
// Text must be UTF-8: limits.hpp checks bodies and attributes.

std::string encode(send_message_request const&);
std::string encode(send_message_batch_request const&);
std::string encode(receive_message_request const&);
std::string encode(delete_message_request const&);
std::string encode(delete_message_batch_request const&);
std::string encode(change_message_visibility_request const&);
std::string encode(change_message_visibility_batch_request const&);

std::string encode(create_queue_request const&);
std::string encode(queue_request const&); ///< DeleteQueue, PurgeQueue, ListQueueTags
std::string encode(get_queue_url_request const&);
std::string encode(list_queues_request const&);
std::string encode(get_queue_attributes_request const&);
std::string encode(set_queue_attributes_request const&);
std::string encode(list_dead_letter_source_queues_request const&);

std::string encode(tag_queue_request const&);
std::string encode(untag_queue_request const&);

std::string encode(add_permission_request const&);
std::string encode(remove_permission_request const&);

std::string encode(start_message_move_task_request const&);
std::string encode(cancel_message_move_task_request const&);
std::string encode(list_message_move_tasks_request const&);

} // namespace quern::sqs
