#include <quern/broker/detail/wire_encode.hpp>

#include <quern/broker/detail/xml_text.hpp>
#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/json_writer.hpp>

#include <type_traits>

// Members of each answer, told to a writer of JSON or to one of XML.

namespace quern::broker {
namespace {

/// Names of a member that is more than one: that of all in JSON, that of each in XML, and there of what a map's
/// entries are found by.
struct plural {
    std::string_view json;
    std::string_view xml = {}; ///< empty: that of the operation's entries, "DeleteMessageBatchResultEntry"
    std::string_view key = "Name";
};

class json_form {
public:
    json_form(answer_form const& form, std::string& to) : action(form.action), out_(to) {}

    template <class Members>
    void whole(Members members)
    {
        out_.begin_object();
        members();
        out_.end_object();
    }
    void text(std::string_view name, std::string_view value) { out_.member(name, value); }
    void number(std::string_view name, std::int64_t value) { out_.member(name, value); }
    void flag(std::string_view name, bool value) { out_.member(name, value); }
    void bytes(std::string_view name, std::string_view value) { out_.key(name).base64(value); }

    void texts(plural name, std::vector<std::string> const& all)
    {
        if (all.empty()) return;
        out_.key(name.json).begin_array();
        for (auto const& one : all)
            out_.string(one);
        out_.end_array();
    }
    template <class All, class Each>
    void list(plural name, All const& all, Each each)
    {
        if (all.empty()) return;
        out_.key(name.json).begin_array();
        for (auto const& one : all)
            whole([&] { each(one); });
        out_.end_array();
    }
    template <class All>
    void text_map(plural name, All const& all)
    {
        if (all.empty()) return;
        out_.key(name.json).begin_object();
        for (auto const& [key, value] : all)
            out_.member(key, std::string_view(value));
        out_.end_object();
    }
    template <class All, class Each>
    void map(plural name, All const& all, Each each)
    {
        if (all.empty()) return;
        out_.key(name.json).begin_object();
        for (auto const& one : all) {
            out_.key(one.name);
            whole([&] { each(one); });
        }
        out_.end_object();
    }

    std::string_view const action;

private:
    text::json_writer out_;
};

class xml_form {
public:
    xml_form(answer_form const& form, std::string& to) : action(form.action), to_(to) {}

    template <class Members>
    void whole(Members members)
    {
        xml_element(to_, std::string(action) + "Result", members);
    }
    void text(std::string_view name, std::string_view value) { xml_leaf(to_, name, value); }
    void number(std::string_view name, std::int64_t value) { text(name, std::to_string(value)); }
    void flag(std::string_view name, bool value) { text(name, value ? "true" : "false"); }
    void bytes(std::string_view name, std::string_view value) { text(name, text::base64_encode(value)); }

    void texts(plural name, std::vector<std::string> const& all)
    {
        for (auto const& one : all)
            text(name.xml, one);
    }
    template <class All, class Each>
    void list(plural name, All const& all, Each each)
    {
        for (auto const& one : all)
            xml_element(to_, name.xml.empty() ? std::string(action) + "ResultEntry" : name.xml, [&] { each(one); });
    }
    template <class All>
    void text_map(plural name, All const& all)
    {
        list(name, all, [&](auto const& one) {
            auto const& [key, value] = one;
            text(name.key, key);
            text("Value", value);
        });
    }
    template <class All, class Each>
    void map(plural name, All const& all, Each each)
    {
        list(name, all, [&](auto const& one) {
            text(name.key, one.name);
            xml_element(to_, "Value", [&] { each(one); });
        });
    }

    std::string_view const action;

private:
    std::string& to_;
};

template <class Form>
void text_if_any(Form& to, std::string_view name, std::string_view value)
{
    if (!value.empty()) to.text(name, value);
}

template <class Form>
void members(Form& to, sqs::send_message_response const& r)
{
    to.text("MessageId", r.message_id);
    to.text("MD5OfMessageBody", r.md5_of_body);
    text_if_any(to, "MD5OfMessageAttributes", r.md5_of_attributes);
    text_if_any(to, "MD5OfMessageSystemAttributes", r.md5_of_system_attributes);
    text_if_any(to, "SequenceNumber", r.sequence_number);
}

template <class Form, class Done>
void members(Form& to, sqs::batch_response<Done> const& r)
{
    to.list({"Successful"}, r.successful, [&](Done const& done) {
        to.text("Id", done.id);
        if constexpr (std::is_base_of_v<sqs::send_message_response, Done>)
            members(to, static_cast<sqs::send_message_response const&>(done));
    });
    to.list({"Failed", "BatchResultErrorEntry"}, r.failed, [&](sqs::batch_failure const& f) {
        to.text("Id", f.id);
        to.flag("SenderFault", f.sender_fault);
        to.text("Code", f.code);
        text_if_any(to, "Message", f.message);
    });
}

template <class Form>
void members(Form& to, sqs::receive_message_response const& r)
{
    to.list({"Messages", "Message"}, r.messages, [&](sqs::message const& m) {
        to.text("MessageId", m.id);
        to.text("ReceiptHandle", m.receipt_handle);
        to.text("MD5OfBody", m.md5_of_body);
        to.text("Body", m.body);
        to.text_map({"Attributes", "Attribute"}, m.system_attributes);
        text_if_any(to, "MD5OfMessageAttributes", m.md5_of_attributes);
        to.map({"MessageAttributes", "MessageAttribute"}, m.attributes, [&](auto const& a) {
            if (a.is_binary())
                to.bytes("BinaryValue", a.value);
            else
                to.text("StringValue", a.value);
            to.text("DataType", a.data_type);
        });
    });
}

template <class Form>
void members(Form& to, sqs::queue_url_response const& r)
{
    to.text("QueueUrl", r.queue_url);
}

template <class Form>
void members(Form& to, sqs::queue_urls_response const& r)
{
    bool const lower = to.action == "ListDeadLetterSourceQueues"; // the model names it so
    to.texts({lower ? "queueUrls" : "QueueUrls", "QueueUrl"}, r.queue_urls);
    text_if_any(to, "NextToken", r.next_token);
}

template <class Form>
void members(Form& to, sqs::attributes_response const& r)
{
    to.text_map({"Attributes", "Attribute"}, r.attributes);
}

template <class Form>
void members(Form& to, sqs::tags_response const& r)
{
    to.text_map({"Tags", "Tag", "Key"}, r.tags);
}

template <class Form>
void members(Form& to, sqs::task_handle_response const& r)
{
    to.text("TaskHandle", r.task_handle);
}

template <class Form>
void members(Form& to, sqs::moved_response const& r)
{
    to.number("ApproximateNumberOfMessagesMoved", r.messages_moved);
}

template <class Form>
void members(Form& to, sqs::list_message_move_tasks_response const& r)
{
    to.list({"Results"}, r.tasks, [&](sqs::message_move_task const& t) {
        text_if_any(to, "TaskHandle", t.task_handle);
        to.text("Status", t.status);
        to.text("SourceArn", t.source_arn);
        text_if_any(to, "DestinationArn", t.destination_arn);
        if (t.max_messages_per_second) to.number("MaxNumberOfMessagesPerSecond", *t.max_messages_per_second);
        to.number("ApproximateNumberOfMessagesMoved", t.messages_moved);
        if (t.messages_to_move) to.number("ApproximateNumberOfMessagesToMove", *t.messages_to_move);
        text_if_any(to, "FailureReason", t.failure_reason);
        to.number("StartedTimestamp", t.started_at_ms);
    });
}

template <class Form, class Response>
void write(answer_form const& form, Response const& r, std::string& to)
{
    if constexpr (!std::is_same_v<Response, sqs::empty_response>) {
        Form out(form, to);
        out.whole([&] { members(out, r); });
    }
}

} // namespace

template <class Response>
void encode(answer_form const& form, Response const& r, std::string& to)
{
    if (!form.xml) return write<json_form>(form, r, to);
    xml_document(to, std::string(form.action) + "Response", [&] {
        write<xml_form>(form, r, to);
        xml_element(to, "ResponseMetadata", [&] { xml_leaf(to, "RequestId", form.request_id); });
    });
}

template void encode(answer_form const&, sqs::empty_response const&, std::string&);
template void encode(answer_form const&, sqs::send_message_response const&, std::string&);
template void encode(answer_form const&, sqs::send_message_batch_response const&, std::string&);
template void encode(answer_form const&, sqs::receive_message_response const&, std::string&);
template void encode(answer_form const&, sqs::batch_response<sqs::done_entry> const&, std::string&);
template void encode(answer_form const&, sqs::queue_url_response const&, std::string&);
template void encode(answer_form const&, sqs::queue_urls_response const&, std::string&);
template void encode(answer_form const&, sqs::attributes_response const&, std::string&);
template void encode(answer_form const&, sqs::tags_response const&, std::string&);
template void encode(answer_form const&, sqs::task_handle_response const&, std::string&);
template void encode(answer_form const&, sqs::moved_response const&, std::string&);
template void encode(answer_form const&, sqs::list_message_move_tasks_response const&, std::string&);

void encode_error(std::string_view json_type, std::string_view message, std::string& to)
{
    text::json_writer(to).begin_object().member("__type", json_type).member("message", message).end_object();
}

void encode_xml_error(
    std::string_view type, std::string_view code, std::string_view text, std::string_view request_id, std::string& to)
{
    xml_document(to, "ErrorResponse", [&] {
        xml_element(to, "Error", [&] {
            xml_leaf(to, "Type", type);
            xml_leaf(to, "Code", code);
            xml_leaf(to, "Message", text);
            to += "<Detail/>";
        });
        xml_leaf(to, "RequestId", request_id);
    });
}

} // namespace quern::broker
