#pragma once

#include <quern/core/error.hpp>
#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <string>
#include <string_view>

namespace quern::broker::detail {

/// How an answer is written.
struct answer_form {
    std::string_view action = {};     ///< "ReceiveMessage"
    std::string_view request_id = {}; ///< stands in XML
    bool xml = false;
};

/// Appends an answer, of any type of an operation's response.
///
/// JSON  lists that are empty are left out, as SQS leaves them out: a receive that got nothing is {}. An operation
///       without an output has an empty body.
/// XML   <ActionResponse><ActionResult>…</ActionResult><ResponseMetadata>…, of the query protocol.
template <class Response>
void encode(answer_form const&, Response const&, std::string& to);

/// Appends {"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"…"}.
void encode_error(std::string_view json_type, std::string_view message, std::string& to);

/// Appends <ErrorResponse>; `type` is Sender or Receiver.
void encode_xml_error(std::string_view type, std::string_view code, std::string_view message,
    std::string_view request_id, std::string& to);

} // namespace quern::broker::detail
