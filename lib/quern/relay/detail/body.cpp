#include <quern/relay/detail/body.hpp>

#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/text/json_find.hpp>
#include <quern/core/detail/text/json_writer.hpp>

namespace quern::relay::detail {

using namespace quern::detail;

std::string sent_time(letter const& of)
{
    auto const at = of.message.sent_at();
    return at ? text::rfc3339(*at) : std::string();
}

bool is_sns_notification(std::string_view body)
{
    return body.find("\"TopicArn\"") != body.npos && text::find_json_word(body, "/Type") == "Notification" &&
        text::find_json_word(body, "/TopicArn") && text::find_json_word(body, "/Message");
}

published::published(sqs::message const& notification)
{
    if (!is_sns_notification(notification.body)) return;
    try {
        from_ = read_sns(notification.body);
    } catch (parse_error const&) { // a member of it is not what SNS writes: it is somebody's own
        return;
    }
    message_ = notification;
    message_.body = from_->message;
    message_.attributes.clear();
    for (auto const& a : from_->attributes) {
        sqs::message_attribute one{a.name, a.type, a.value};
        if (one.is_binary()) one.value = decoded_.emplace_back(text::base64_decode(a.value).value_or(std::string()));
        message_.attributes.push_back(one);
    }
}

bool is_json_type(std::string_view content_type)
{
    auto const type = content_type.substr(0, content_type.find_first_of("; "));
    return type == "application/json" || type.ends_with("+json");
}

std::string sns_body(letter const& of)
{
    if (is_sns_notification(of.message.body)) return std::string(of.message.body);
    std::string out;
    text::json_writer json(out);
    json.begin_object();
    json.member("Type", "Notification").member("MessageId", of.message.id).member("TopicArn", of.queue.arn);
    json.member("Message", of.message.body);
    if (auto const at = sent_time(of); !at.empty()) json.member("Timestamp", at);
    if (!of.message.attributes.empty()) {
        json.key("MessageAttributes").begin_object();
        for (auto const& a : of.message.attributes) {
            json.key(a.name).begin_object().member("Type", a.data_type).key("Value");
            if (a.is_binary())
                json.base64(a.value);
            else
                json.string(a.value);
            json.end_object();
        }
        json.end_object();
    }
    json.end_object();
    return out;
}

std::string cloudevent_body(letter const& of, std::string_view content_type)
{
    auto const json_data = is_json_type(content_type) ? text::find_json(of.message.body, "").found : std::nullopt;
    std::string out;
    text::json_writer json(out);
    json.begin_object();
    json.member("specversion", "1.0").member("id", of.message.id).member("source", of.queue.arn);
    json.member("type", "com.amazon.sqs.message");
    if (auto const at = sent_time(of); !at.empty()) json.member("time", at);
    json.member("datacontenttype", content_type);
    json.key("data");
    if (json_data)
        out += json_data->json; // a byte order mark must not stand within
    else
        json.string(of.message.body);
    json.end_object();
    return out;
}

namespace {

void add_record(text::json_writer& json, letter const& of)
{
    auto const& m = of.message;
    json.begin_object();
    json.member("messageId", m.id).member("receiptHandle", m.receipt_handle).member("body", m.body);
    json.key("attributes").begin_object();
    for (auto const& a : m.system_attributes)
        json.member(a.name, a.value);
    json.end_object().key("messageAttributes").begin_object();
    for (auto const& a : m.attributes) {
        json.key(a.name).begin_object();
        if (a.is_binary())
            json.key("binaryValue").base64(a.value);
        else
            json.member("stringValue", a.value);
        json.key("stringListValues").begin_array().end_array().key("binaryListValues").begin_array().end_array();
        json.member("dataType", a.data_type).end_object();
    }
    json.end_object().member("md5OfBody", m.md5_of_body);
    if (!m.md5_of_attributes.empty()) json.member("md5OfMessageAttributes", m.md5_of_attributes);
    json.member("eventSource", "aws:sqs").member("eventSourceARN", of.queue.arn).member("awsRegion", of.queue.region);
    json.end_object();
}

} // namespace

std::string lambda_body(std::span<letter const> all)
{
    std::string out;
    text::json_writer json(out);
    json.begin_object().key("Records").begin_array();
    for (auto const& one : all)
        add_record(json, one);
    json.end_array().end_object();
    return out;
}

} // namespace quern::relay::detail
