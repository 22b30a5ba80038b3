#include <quern/sqs/detail/encode.hpp>

#include <quern/core/detail/text/json_writer.hpp>

namespace quern::sqs {
namespace {

using text::json_writer;

void write(json_writer& json, std::string_view name, std::string const& value)
{
    json.plain_key(name).string(value);
}

void write(json_writer& json, std::string_view name, seconds value)
{
    json.plain_key(name).integer(value.count());
}

void write(json_writer& json, std::string_view name, int value)
{
    json.plain_key(name).integer(value);
}

template <class T>
void write(json_writer& json, std::string_view name, std::optional<T> const& value)
{
    if (value) write(json, name, *value);
}

void write(json_writer& json, std::string_view name, std::vector<std::string> const& values)
{
    json.plain_key(name).begin_array();
    for (auto const& value : values)
        json.string(value);
    json.end_array();
}

void write(json_writer& json, std::string_view name, string_map const& values)
{
    json.plain_key(name).begin_object();
    for (auto const& [key, value] : values)
        json.member(key, value);
    json.end_object();
}

void write(json_writer& json, std::string_view name, attribute_map const& attributes)
{
    json.plain_key(name).begin_object();
    for (auto const& [key, value] : attributes) {
        json.key(key).begin_object().plain_key("DataType").string(value.data_type);
        if (value.is_binary()) {
            json.plain_key("BinaryValue").base64(value.value);
        } else {
            json.plain_key("StringValue").string(value.value);
        }
        json.end_object();
    }
    json.end_object();
}

template <class Entry>
void write(json_writer& json, std::string_view name, std::vector<Entry> const& entries);

/// A member of an object, by the name that it has on the wire.
template <class T>
struct field {
    std::string_view name;
    T const& value;
};
template <class T> // clang 14 does not deduce the arguments of an aggregate by itself
field(char const*, T const&)->field<T>;

/// The same, left out when it is empty.
template <class T>
struct filled {
    std::string_view name;
    T const& value;
};
template <class T>
filled(char const*, T const&) -> filled<T>;

template <class T>
void write(json_writer& json, field<T> const& f)
{
    write(json, f.name, f.value);
}

template <class T>
void write(json_writer& json, filled<T> const& f)
{
    if (!f.value.empty()) write(json, f.name, f.value);
}

template <class... Fields>
void write_object(json_writer& json, Fields const&... fields)
{
    json.begin_object();
    (write(json, fields), ...);
    json.end_object();
}

/// `long_text`: bytes of those texts that may be long, so that the string grows once.
template <class... Fields>
std::string object(std::size_t long_text, Fields const&... fields)
{
    constexpr std::size_t names_and_url = 512;
    std::string text;
    text.reserve(names_and_url + long_text);
    json_writer json(text);
    write_object(json, fields...);
    return text;
}

/// Fields that SendMessage and an entry of SendMessageBatch have in common.
template <class Message>
struct message_fields {
    Message const& sent;
};
template <class Message>
message_fields(Message const&) -> message_fields<Message>;

template <class Message>
void write(json_writer& json, message_fields<Message> const& f)
{
    write(json, "MessageBody", f.sent.body);
    write(json, "DelaySeconds", f.sent.delay);
    write(json, filled{"MessageAttributes", f.sent.attributes});
    write(json, filled{"MessageSystemAttributes", f.sent.system_attributes});
    write(json, "MessageDeduplicationId", f.sent.deduplication_id);
    write(json, "MessageGroupId", f.sent.group_id);
}

void write_entry(json_writer& json, send_message_entry const& entry)
{
    write_object(json, field{"Id", entry.id}, message_fields{entry});
}

void write_entry(json_writer& json, delete_message_entry const& entry)
{
    write_object(json, field{"Id", entry.id}, field{"ReceiptHandle", entry.receipt_handle});
}

void write_entry(json_writer& json, change_visibility_entry const& entry)
{
    write_object(json, field{"Id", entry.id}, field{"ReceiptHandle", entry.receipt_handle},
        field{"VisibilityTimeout", entry.visibility_timeout});
}

template <class Entry>
void write(json_writer& json, std::string_view name, std::vector<Entry> const& entries)
{
    json.plain_key(name).begin_array();
    for (auto const& entry : entries)
        write_entry(json, entry);
    json.end_array();
}

/// A body with room for escapes: JSON in JSON grows by its quotes, about an eighth.
std::size_t long_text(std::string const& body)
{
    return body.size() + body.size() / 8;
}

template <class Entry>
std::size_t long_text(std::vector<Entry> const& entries)
{
    constexpr std::size_t names = 128;
    std::size_t size = 0;
    for (auto const& entry : entries) {
        if constexpr (requires { entry.body; }) {
            size += names + long_text(entry.body);
        } else {
            size += names + entry.receipt_handle.size();
        }
    }
    return size;
}

template <class Request>
std::string batch(Request const& r)
{
    return object(long_text(r.entries), field{"QueueUrl", r.queue_url}, field{"Entries", r.entries});
}

} // namespace

std::string encode(send_message_request const& r)
{
    return object(long_text(r.body), field{"QueueUrl", r.queue_url}, message_fields{r});
}

std::string encode(send_message_batch_request const& r)
{
    return batch(r);
}

std::string encode(receive_message_request const& r)
{
    return object(0, field{"QueueUrl", r.queue_url}, field{"MaxNumberOfMessages", r.max_messages},
        field{"VisibilityTimeout", r.visibility_timeout}, field{"WaitTimeSeconds", r.wait_time},
        filled{"MessageSystemAttributeNames", r.system_attribute_names},
        filled{"MessageAttributeNames", r.attribute_names}, field{"ReceiveRequestAttemptId", r.attempt_id});
}

std::string encode(delete_message_request const& r)
{
    return object(r.receipt_handle.size(), field{"QueueUrl", r.queue_url}, field{"ReceiptHandle", r.receipt_handle});
}

std::string encode(delete_message_batch_request const& r)
{
    return batch(r);
}

std::string encode(change_message_visibility_request const& r)
{
    return object(r.receipt_handle.size(), field{"QueueUrl", r.queue_url}, field{"ReceiptHandle", r.receipt_handle},
        field{"VisibilityTimeout", r.visibility_timeout});
}

std::string encode(change_message_visibility_batch_request const& r)
{
    return batch(r);
}

std::string encode(create_queue_request const& r)
{
    // "tags" here, "Tags" in TagQueue.
    return object(0, field{"QueueName", r.queue_name}, filled{"Attributes", r.attributes}, filled{"tags", r.tags});
}

std::string encode(queue_request const& r)
{
    return object(0, field{"QueueUrl", r.queue_url});
}

std::string encode(get_queue_url_request const& r)
{
    return object(0, field{"QueueName", r.queue_name}, field{"QueueOwnerAWSAccountId", r.owner_account_id});
}

std::string encode(list_queues_request const& r)
{
    return object(0, field{"QueueNamePrefix", r.name_prefix}, field{"NextToken", r.next_token},
        field{"MaxResults", r.max_results});
}

std::string encode(get_queue_attributes_request const& r)
{
    return object(0, field{"QueueUrl", r.queue_url}, filled{"AttributeNames", r.attribute_names});
}

std::string encode(set_queue_attributes_request const& r)
{
    return object(0, field{"QueueUrl", r.queue_url}, field{"Attributes", r.attributes});
}

std::string encode(list_dead_letter_source_queues_request const& r)
{
    return object(
        0, field{"QueueUrl", r.queue_url}, field{"NextToken", r.next_token}, field{"MaxResults", r.max_results});
}

std::string encode(tag_queue_request const& r)
{
    return object(0, field{"QueueUrl", r.queue_url}, field{"Tags", r.tags});
}

std::string encode(untag_queue_request const& r)
{
    return object(0, field{"QueueUrl", r.queue_url}, field{"TagKeys", r.tag_keys});
}

std::string encode(add_permission_request const& r)
{
    return object(0, field{"QueueUrl", r.queue_url}, field{"Label", r.label}, field{"AWSAccountIds", r.account_ids},
        field{"Actions", r.actions});
}

std::string encode(remove_permission_request const& r)
{
    return object(0, field{"QueueUrl", r.queue_url}, field{"Label", r.label});
}

std::string encode(start_message_move_task_request const& r)
{
    return object(0, field{"SourceArn", r.source_arn}, field{"DestinationArn", r.destination_arn},
        field{"MaxNumberOfMessagesPerSecond", r.max_messages_per_second});
}

std::string encode(cancel_message_move_task_request const& r)
{
    return object(0, field{"TaskHandle", r.task_handle});
}

std::string encode(list_message_move_tasks_request const& r)
{
    return object(0, field{"SourceArn", r.source_arn}, field{"MaxResults", r.max_results});
}

} // namespace quern::sqs
