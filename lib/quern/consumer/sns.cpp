#include <quern/consumer/json.hpp>
#include <quern/consumer/sns.hpp>

#include <algorithm>

namespace quern {

namespace {

namespace od = simdjson::ondemand;

std::vector<sns_envelope::attribute> attributes_of(od::object all)
{
    std::vector<sns_envelope::attribute> out;
    for (auto field : all) {
        sns_envelope::attribute one;
        one.name = std::string(std::string_view(field.unescaped_key()));
        od::object its = field.value().get_object();
        one.type = json_member<std::string>(its, "Type");
        one.value = json_member<std::string>(its, "Value");
        out.push_back(std::move(one));
    }
    return out;
}

sns_envelope decode_envelope(json_document& document)
{
    sns_envelope out;
    std::string type;
    bool has_message = false;
    for (auto field : document.get_object()) {
        std::string_view const name = field.unescaped_key();
        auto const into = [&](std::string& to) { to = std::string(std::string_view(field.value().get_string())); };
        if (name == "Type") into(type);
        if (name == "MessageId") into(out.message_id);
        if (name == "TopicArn") into(out.topic_arn);
        if (name == "Subject" && !field.value().is_null()) into(out.subject);
        if (name == "SequenceNumber") into(out.sequence_number);
        if (name == "Timestamp") into(out.timestamp);
        if (name == "MessageAttributes") out.attributes = attributes_of(field.value().get_object());
        if (name != "Message") continue;
        into(out.message);
        has_message = true;
    }
    if (type != "Notification") throw parse_error("SNS, member \"Type\": it is not \"Notification\"");
    if (!has_message) throw parse_error("SNS, member \"Message\": missing");
    return out;
}

} // namespace

sns_envelope::attribute const* sns_envelope::find(std::string_view name) const
{
    auto const found = std::ranges::find(attributes, name, &attribute::name);
    return found == attributes.end() ? nullptr : &*found;
}

sns_envelope read_sns(std::string_view text)
{
    return read_json(text, decode_envelope);
}

} // namespace quern
