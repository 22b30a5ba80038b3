#include <quern/broker/detail/wire_encode.hpp>

#include <quern/core/detail/text/json_writer.hpp>

namespace quern::broker {
namespace {

using text::json_writer;

/// An object around whatever `members` writes.
template <class Members>
void object(std::string& to, Members members)
{
    json_writer out(to);
    out.begin_object();
    members(out);
    out.end_object();
}

void write_text(json_writer& out, std::string_view name, std::string_view value)
{
    if (!value.empty()) out.member(name, value);
}

template <class List, class Each>
void list(json_writer& out, std::string_view name, List const& items, Each each)
{
    if (items.empty()) return;
    out.key(name).begin_array();
    for (auto const& item : items)
        each(item);
    out.end_array();
}

void map(json_writer& out, std::string_view name, sqs::string_map const& items)
{
    if (items.empty()) return;
    out.key(name).begin_object();
    for (auto const& [key, value] : items)
        out.member(key, value);
    out.end_object();
}

void sent(json_writer& out, sqs::send_message_response const& r)
{
    out.member("MessageId", r.message_id).member("MD5OfMessageBody", r.md5_of_body);
    write_text(out, "MD5OfMessageAttributes", r.md5_of_attributes);
    write_text(out, "MD5OfMessageSystemAttributes", r.md5_of_system_attributes);
    write_text(out, "SequenceNumber", r.sequence_number);
}

template <class Done, class Members>
void batch(std::string& to, sqs::batch_response<Done> const& r, Members members)
{
    object(to, [&](json_writer& out) {
        list(out, "Successful", r.successful, [&](Done const& done) {
            out.begin_object().member("Id", done.id);
            members(out, done);
            out.end_object();
        });
        list(out, "Failed", r.failed, [&](sqs::batch_failure const& f) {
            out.begin_object().member("Id", f.id).member("SenderFault", f.sender_fault).member("Code", f.code);
            write_text(out, "Message", f.message);
            out.end_object();
        });
    });
}

void message(json_writer& out, sqs::message const& m)
{
    out.begin_object().member("MessageId", m.id).member("ReceiptHandle", m.receipt_handle);
    out.member("MD5OfBody", m.md5_of_body).member("Body", m.body);
    if (!m.system_attributes.empty()) {
        out.key("Attributes").begin_object();
        for (auto const& a : m.system_attributes)
            out.member(a.name, a.value);
        out.end_object();
    }
    write_text(out, "MD5OfMessageAttributes", m.md5_of_attributes);
    if (!m.attributes.empty()) {
        out.key("MessageAttributes").begin_object();
        for (auto const& a : m.attributes) {
            out.key(a.name).begin_object();
            if (a.is_binary())
                out.key("BinaryValue").base64(a.value);
            else
                out.member("StringValue", a.value);
            out.member("DataType", a.data_type).end_object();
        }
        out.end_object();
    }
    out.end_object();
}

void write_task(json_writer& out, sqs::message_move_task const& t)
{
    out.begin_object();
    write_text(out, "TaskHandle", t.task_handle);
    out.member("Status", t.status).member("SourceArn", t.source_arn);
    write_text(out, "DestinationArn", t.destination_arn);
    if (t.max_messages_per_second) out.member("MaxNumberOfMessagesPerSecond", *t.max_messages_per_second);
    out.member("ApproximateNumberOfMessagesMoved", t.messages_moved);
    if (t.messages_to_move) out.member("ApproximateNumberOfMessagesToMove", *t.messages_to_move);
    write_text(out, "FailureReason", t.failure_reason);
    out.member("StartedTimestamp", t.started_at_ms).end_object();
}

} // namespace

void encode(sqs::empty_response const&, std::string&) {}

void encode(sqs::send_message_response const& r, std::string& to)
{
    object(to, [&](json_writer& out) { sent(out, r); });
}

void encode(sqs::send_message_batch_response const& r, std::string& to)
{
    batch(to, r, [](json_writer& out, sqs::sent_message const& done) { sent(out, done); });
}

void encode(sqs::batch_response<sqs::done_entry> const& r, std::string& to)
{
    batch(to, r, [](json_writer&, sqs::done_entry const&) {});
}

void encode(sqs::receive_message_response const& r, std::string& to)
{
    object(to, [&](json_writer& out) {
        list(out, "Messages", r.messages, [&](sqs::message const& m) { message(out, m); });
    });
}

void encode(sqs::queue_url_response const& r, std::string& to)
{
    object(to, [&](json_writer& out) { out.member("QueueUrl", r.queue_url); });
}

void encode(sqs::queue_urls_response const& r, std::string& to, std::string_view member)
{
    object(to, [&](json_writer& out) {
        list(out, member, r.queue_urls, [&](std::string const& url) { out.string(url); });
        write_text(out, "NextToken", r.next_token);
    });
}

void encode(sqs::attributes_response const& r, std::string& to)
{
    object(to, [&](json_writer& out) { map(out, "Attributes", r.attributes); });
}

void encode(sqs::tags_response const& r, std::string& to)
{
    object(to, [&](json_writer& out) { map(out, "Tags", r.tags); });
}

void encode(sqs::task_handle_response const& r, std::string& to)
{
    object(to, [&](json_writer& out) { out.member("TaskHandle", r.task_handle); });
}

void encode(sqs::moved_response const& r, std::string& to)
{
    object(to, [&](json_writer& out) { out.member("ApproximateNumberOfMessagesMoved", r.messages_moved); });
}

void encode(sqs::list_message_move_tasks_response const& r, std::string& to)
{
    object(to, [&](json_writer& out) {
        list(out, "Results", r.tasks, [&](sqs::message_move_task const& t) { write_task(out, t); });
    });
}

void encode_error(std::string_view json_type, std::string_view message, std::string& to)
{
    object(to, [&](json_writer& out) { out.member("__type", json_type).member("message", message); });
}

} // namespace quern::broker
