#pragma once

#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <string>
#include <string_view>

namespace quern::broker {

// Answers of the query protocol, appended to `to`: <ActionResponse><ActionResult>…</ActionResult><ResponseMetadata>…

struct xml_envelope {
    std::string_view action;
    std::string_view request_id;
};

void encode_xml(xml_envelope, sqs::empty_response const&, std::string& to);
void encode_xml(xml_envelope, sqs::send_message_response const&, std::string& to);
void encode_xml(xml_envelope, sqs::send_message_batch_response const&, std::string& to);
void encode_xml(xml_envelope, sqs::receive_message_response const&, std::string& to);
void encode_xml(xml_envelope, sqs::batch_response<sqs::done_entry> const&, std::string& to);
void encode_xml(xml_envelope, sqs::queue_url_response const&, std::string& to);
void encode_xml(xml_envelope, sqs::queue_urls_response const&, std::string& to);
void encode_xml(xml_envelope, sqs::attributes_response const&, std::string& to);
void encode_xml(xml_envelope, sqs::tags_response const&, std::string& to);
void encode_xml(xml_envelope, sqs::task_handle_response const&, std::string& to);
void encode_xml(xml_envelope, sqs::moved_response const&, std::string& to);
void encode_xml(xml_envelope, sqs::list_message_move_tasks_response const&, std::string& to);

/// <ErrorResponse>; `type` is Sender or Receiver.
void encode_xml_error(std::string_view type, std::string_view code, std::string_view message,
    std::string_view request_id, std::string& to);

} // namespace quern::broker
