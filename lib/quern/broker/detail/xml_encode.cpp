#include <quern/broker/detail/xml_encode.hpp>

#include <quern/core/detail/text/base64.hpp>

namespace quern::broker {
namespace {

constexpr std::string_view xmlns = " xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"";

/// How many bytes at the front are a character that XML cannot have, not even escaped: controls, U+FFFE and U+FFFF.
std::size_t unfit(std::string_view text)
{
    auto const c = static_cast<unsigned char>(text.front());
    if (c < 0x20) return c != '\t' && c != '\n' && c != '\r' ? 1 : 0;
    if (c != 0xEF) return 0;
    return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF") ? 3 : 0;
}

void append_text(std::string& to, std::string_view text)
{
    for (std::size_t i = 0; i != text.size(); ++i) {
        if (auto const size = unfit(text.substr(i)); size != 0) {
            to += "\xEF\xBF\xBD"; // U+FFFD
            i += size - 1;
            continue;
        }
        char const c = text[i];
        switch (c) {
        case '&': to += "&amp;"; break;
        case '<': to += "&lt;"; break;
        case '>': to += "&gt;"; break;
        case '"': to += "&quot;"; break;
        case '\r': to += "&#xD;"; break; // by itself a reader would make a line feed of it
        default: to += c;
        }
    }
}

/// <name>…</name> around whatever `inside` appends.
template <class Inside>
void element(std::string& to, std::string_view name, Inside inside)
{
    to.append(1, '<').append(name).append(1, '>');
    inside();
    to.append("</").append(name).append(1, '>');
}

void leaf(std::string& to, std::string_view name, std::string_view text)
{
    element(to, name, [&] { append_text(to, text); });
}

void leaf(std::string& to, std::string_view name, std::int64_t number)
{
    leaf(to, name, std::to_string(number));
}

void leaf_if_any(std::string& to, std::string_view name, std::string_view text)
{
    if (!text.empty()) leaf(to, name, text);
}

template <class Inside>
void envelope(xml_envelope const& e, std::string& to, Inside inside)
{
    auto const response = std::string(e.action) + "Response";
    to.append("<?xml version=\"1.0\"?><").append(response).append(xmlns).append(1, '>');
    inside();
    element(to, "ResponseMetadata", [&] { leaf(to, "RequestId", e.request_id); });
    to.append("</").append(response).append(1, '>');
}

template <class Members>
void answer(xml_envelope const& e, std::string& to, Members members)
{
    envelope(e, to, [&] { element(to, std::string(e.action) + "Result", members); });
}

void pairs(std::string& to, std::string_view name, std::string_view key, sqs::string_map const& all)
{
    for (auto const& one : all) {
        element(to, name, [&] {
            leaf(to, key, one.first);
            leaf(to, "Value", one.second);
        });
    }
}

void sent(std::string& to, sqs::send_message_response const& r)
{
    leaf(to, "MessageId", r.message_id);
    leaf(to, "MD5OfMessageBody", r.md5_of_body);
    leaf_if_any(to, "MD5OfMessageAttributes", r.md5_of_attributes);
    leaf_if_any(to, "MD5OfMessageSystemAttributes", r.md5_of_system_attributes);
    leaf_if_any(to, "SequenceNumber", r.sequence_number);
}

template <class Done, class Members>
void batch(xml_envelope const& e, sqs::batch_response<Done> const& r, std::string& to, Members members)
{
    answer(e, to, [&] {
        for (auto const& done : r.successful) {
            element(to, std::string(e.action) + "ResultEntry", [&] {
                leaf(to, "Id", done.id);
                members(done);
            });
        }
        for (auto const& failed : r.failed) {
            element(to, "BatchResultErrorEntry", [&] {
                leaf(to, "Id", failed.id);
                leaf(to, "Code", failed.code);
                leaf_if_any(to, "Message", failed.message);
                leaf(to, "SenderFault", failed.sender_fault ? "true" : "false");
            });
        }
    });
}

void message(std::string& to, sqs::message const& m)
{
    leaf(to, "MessageId", m.id);
    leaf(to, "ReceiptHandle", m.receipt_handle);
    leaf(to, "MD5OfBody", m.md5_of_body);
    leaf(to, "Body", m.body);
    for (auto const& a : m.system_attributes) {
        element(to, "Attribute", [&] {
            leaf(to, "Name", a.name);
            leaf(to, "Value", a.value);
        });
    }
    leaf_if_any(to, "MD5OfMessageAttributes", m.md5_of_attributes);
    for (auto const& a : m.attributes) {
        element(to, "MessageAttribute", [&] {
            leaf(to, "Name", a.name);
            element(to, "Value", [&] {
                if (a.is_binary())
                    element(to, "BinaryValue", [&] { text::append_base64(to, a.value); });
                else
                    leaf(to, "StringValue", a.value);
                leaf(to, "DataType", a.data_type);
            });
        });
    }
}

void write_task(std::string& to, sqs::message_move_task const& t)
{
    leaf_if_any(to, "TaskHandle", t.task_handle);
    leaf(to, "Status", t.status);
    leaf(to, "SourceArn", t.source_arn);
    leaf_if_any(to, "DestinationArn", t.destination_arn);
    if (t.max_messages_per_second) leaf(to, "MaxNumberOfMessagesPerSecond", *t.max_messages_per_second);
    leaf(to, "ApproximateNumberOfMessagesMoved", t.messages_moved);
    if (t.messages_to_move) leaf(to, "ApproximateNumberOfMessagesToMove", *t.messages_to_move);
    leaf_if_any(to, "FailureReason", t.failure_reason);
    leaf(to, "StartedTimestamp", t.started_at_ms);
}

} // namespace

void encode_xml(xml_envelope e, sqs::empty_response const&, std::string& to)
{
    envelope(e, to, [] {});
}

void encode_xml(xml_envelope e, sqs::send_message_response const& r, std::string& to)
{
    answer(e, to, [&] { sent(to, r); });
}

void encode_xml(xml_envelope e, sqs::send_message_batch_response const& r, std::string& to)
{
    batch(e, r, to, [&](sqs::sent_message const& done) { sent(to, done); });
}

void encode_xml(xml_envelope e, sqs::batch_response<sqs::done_entry> const& r, std::string& to)
{
    batch(e, r, to, [](sqs::done_entry const&) {});
}

void encode_xml(xml_envelope e, sqs::receive_message_response const& r, std::string& to)
{
    answer(e, to, [&] {
        for (auto const& m : r.messages)
            element(to, "Message", [&] { message(to, m); });
    });
}

void encode_xml(xml_envelope e, sqs::queue_url_response const& r, std::string& to)
{
    answer(e, to, [&] { leaf(to, "QueueUrl", r.queue_url); });
}

void encode_xml(xml_envelope e, sqs::queue_urls_response const& r, std::string& to)
{
    answer(e, to, [&] {
        for (auto const& url : r.queue_urls)
            leaf(to, "QueueUrl", url);
        leaf_if_any(to, "NextToken", r.next_token);
    });
}

void encode_xml(xml_envelope e, sqs::attributes_response const& r, std::string& to)
{
    answer(e, to, [&] { pairs(to, "Attribute", "Name", r.attributes); });
}

void encode_xml(xml_envelope e, sqs::tags_response const& r, std::string& to)
{
    answer(e, to, [&] { pairs(to, "Tag", "Key", r.tags); });
}

void encode_xml(xml_envelope e, sqs::task_handle_response const& r, std::string& to)
{
    answer(e, to, [&] { leaf(to, "TaskHandle", r.task_handle); });
}

void encode_xml(xml_envelope e, sqs::moved_response const& r, std::string& to)
{
    answer(e, to, [&] { leaf(to, "ApproximateNumberOfMessagesMoved", r.messages_moved); });
}

void encode_xml(xml_envelope e, sqs::list_message_move_tasks_response const& r, std::string& to)
{
    answer(e, to, [&] {
        for (auto const& t : r.tasks)
            element(to, "ListMessageMoveTasksResultEntry", [&] { write_task(to, t); });
    });
}

void encode_xml_error(
    std::string_view type, std::string_view code, std::string_view text, std::string_view request_id, std::string& to)
{
    to.append("<?xml version=\"1.0\"?><ErrorResponse").append(xmlns).append(1, '>');
    element(to, "Error", [&] {
        leaf(to, "Type", type);
        leaf(to, "Code", code);
        leaf(to, "Message", text);
        to += "<Detail/>";
    });
    leaf(to, "RequestId", request_id);
    to += "</ErrorResponse>";
}

} // namespace quern::broker
