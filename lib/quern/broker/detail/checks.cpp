#include <quern/broker/detail/checks.hpp>

#include <quern/broker/detail/errors.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/exact_number.hpp>
#include <quern/core/detail/text/utf8.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>

namespace quern::broker::detail {

using namespace quern::detail;

namespace {

using problem = std::optional<failure>;

problem refuse(std::string why)
{
    return fail(error::invalid_parameter_value, std::move(why));
}

problem check_token(std::string_view name, std::optional<std::string> const& value)
{
    if (!value || sqs::is_token(*value)) return {};
    return invalid_parameter(name, *value,
        std::string(name) + " can only include alphanumeric and punctuation characters. 1 to 128 in length.");
}

constexpr std::string_view invalid_characters =
    "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | "
    "#x10000 to #x10FFFF";

/// Letters with diacritics have been seen to pass on SQS, other signs beyond ASCII to be refused: of UTF-8, U+00C0 to
/// U+017F without the signs of multiplication and division.
bool has_only_letters_beyond_ascii(std::string_view name)
{
    for (std::size_t i = 0; i < name.size(); ++i) {
        auto const lead = static_cast<unsigned char>(name[i]);
        if (lead < 0x80) continue;
        if (lead < 0xC3 || lead > 0xC5 || ++i == name.size()) return false;
        auto const letter = (lead & 0x1F) << 6 | (static_cast<unsigned char>(name[i]) & 0x3F);
        if (letter == 0xD7 || letter == 0xF7) return false;
    }
    return true;
}

problem check_attribute(std::string const& name, sqs::attribute_value const& value)
{
    auto const whose = "Message (user) attribute '" + name + "' ";
    if (!sqs::is_attribute_name(name) || !has_only_letters_beyond_ascii(name)) {
        if (name.size() > sqs::max_attribute_name) {
            return refuse("Message (user) attribute names must be shorter than 256 Bytes");
        }
        auto const lower = text::lower_case(name);
        if (lower.starts_with("aws.") || lower.starts_with("amazon.") || name.starts_with('.') ||
            name.ends_with('.')) {
            return refuse("You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. These strings "
                          "are reserved for internal use. Additionally, they cannot start or end with '.'.");
        }
        return refuse("Message (user) attributes name can only contain upper and lower score characters, digits, "
                      "periods, hyphens and underscores. ");
    }
    if (value.data_type.empty()) return refuse(whose + "must contain a non-empty attribute type.");
    if (!sqs::is_attribute_type(value.data_type)) {
        return refuse("The type of message (user) attribute '" + name +
            "' is invalid. You must use only the following supported type prefixes: Binary, Number, String.");
    }
    auto const type = value.data_type.substr(0, value.data_type.find('.'));
    if (value.value.empty()) return refuse(whose + "must contain a non-empty value of type '" + type + "'.");
    if (type != "Binary" && !sqs::is_message_text(value.value)) return refuse(std::string(invalid_characters));
    if (type == "Number" && !text::exact_number(value.value)) {
        return refuse("Can't cast the value of message (user) attribute '" + name + "' to a number.");
    }
    return {};
}

problem check_attributes(sqs::attribute_map const& user, sqs::attribute_map const& system)
{
    if (user.size() > sqs::max_attributes) {
        return refuse(
            "Number of message attributes [" + std::to_string(user.size()) + "] exceeds the allowed maximum [10].");
    }
    for (auto const& [name, value] : user) {
        if (auto bad = check_attribute(name, value)) return bad;
    }
    for (auto const& [name, value] : system) {
        if (name != "AWSTraceHeader") {
            return refuse("Message system attribute name '" + name + "' is invalid.");
        }
        if (value.data_type != "String")
            return refuse("The type of message system attribute '" + name + "' is invalid.");
        if (auto bad = check_attribute("AWSTraceHeader", value)) return bad;
    }
    return {};
}

} // namespace

std::optional<failure> check_message(
    sqs::send_message_entry const& sent, queue_settings const& queue, bool within_batch)
{
    if (sent.body.empty()) return missing_parameter("MessageBody");
    if (sqs::message_size(sent.body, sent.attributes) > static_cast<std::size_t>(queue.maximum_message_size)) {
        return refuse(
            (within_batch ? "One or more parameters cannot be validated. Reason: Message must be shorter than "
                          : "One or more parameters are invalid. Reason: Message must be shorter than ") +
            std::to_string(queue.maximum_message_size) + " bytes.");
    }
    if (!sqs::is_message_text(sent.body)) {
        return fail(error::invalid_message_contents, std::string(invalid_characters));
    }
    if (auto bad = check_attributes(sent.attributes, sent.system_attributes)) return bad;
    if (auto bad = check_token("MessageDeduplicationId", sent.deduplication_id)) return bad;
    if (auto bad = check_token("MessageGroupId", sent.group_id)) return bad;

    auto const delay = sent.delay.value_or(sqs::seconds(0));
    auto const delay_text = std::to_string(delay.count());
    if (delay < sqs::seconds(0) || delay > sqs::max_delay) {
        return invalid_parameter("DelaySeconds", delay_text, "DelaySeconds must be >= 0 and <= 900.");
    }
    constexpr auto wrong_type = "The request include parameter that is not valid for this queue type.";
    if (queue.fifo && delay > sqs::seconds(0)) return invalid_parameter("DelaySeconds", delay_text, wrong_type);
    if (!queue.fifo && sent.deduplication_id) {
        return invalid_parameter("MessageDeduplicationId", *sent.deduplication_id, wrong_type);
    }
    return {};
}

std::optional<failure> check_fifo_ids(sqs::send_message_entry const& sent, queue_settings const& queue)
{
    if (!queue.fifo) return {};
    if (!sent.group_id || sent.group_id->empty()) return missing_parameter("MessageGroupId");
    if (!sent.deduplication_id && !queue.content_based_deduplication) {
        return refuse("The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId "
                      "provided explicitly");
    }
    return {};
}

std::optional<failure> check_receive(sqs::receive_message_request const& request, queue_settings const& queue)
{
    if (request.max_messages < 1 || request.max_messages > static_cast<int>(sqs::max_batch_messages)) {
        return invalid_parameter(
            "MaxNumberOfMessages", std::to_string(request.max_messages), "Must be between 1 and 10, if provided.");
    }
    auto const out_of = [](std::optional<sqs::seconds> value, sqs::seconds most) {
        return value && (*value < sqs::seconds(0) || *value > most);
    };
    if (out_of(request.visibility_timeout, sqs::max_visibility)) {
        return invalid_parameter("VisibilityTimeout", std::to_string(request.visibility_timeout->count()),
            "Must be >= 0 and <= 43200, if provided.");
    }
    if (out_of(request.wait_time, sqs::max_wait_time)) {
        return invalid_parameter(
            "WaitTimeSeconds", std::to_string(request.wait_time->count()), "Must be >= 0 and <= 20, if provided.");
    }
    if (auto bad = check_token("ReceiveRequestAttemptId", request.attempt_id)) return bad;
    if (request.attempt_id && !queue.fifo) {
        return invalid_parameter("ReceiveRequestAttemptId", *request.attempt_id,
            "The request include parameter that is not valid for this queue type.");
    }
    return {};
}

std::optional<failure> check_visibility(sqs::seconds timeout)
{
    if (timeout >= sqs::seconds(0) && timeout <= sqs::max_visibility) return {};
    return invalid_parameter("VisibilityTimeout", std::to_string(timeout.count()), "Must be between 0 and 43200.");
}

std::optional<failure> check_queue_name(std::string_view name, bool fifo)
{
    if (name.empty()) return missing_parameter("QueueName");
    bool const suffix = name.ends_with(".fifo");
    if (fifo && (!suffix || !sqs::is_queue_name(name))) {
        return refuse("The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, "
                      "must end with .fifo suffix and be 1 to 80 in length");
    }
    if (!fifo && (suffix || !sqs::is_queue_name(name))) {
        return refuse("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length");
    }
    return {};
}

std::optional<failure> check_max_results(std::optional<int> value, int most)
{
    if (!value || (*value >= 1 && *value <= most)) return {};
    return invalid_parameter("MaxResults", std::to_string(*value),
        "Must be an integer from 1 to " + std::to_string(most) + ", if provided.");
}

std::optional<failure> check_tags(sqs::string_map const& all)
{
    if (all.size() > 50) return refuse("Too many tags: a queue can have 50.");
    for (auto const& [key, value] : all) {
        if (key.empty() || text::count_characters(key) > 128)
            return refuse("A tag key must have 1 to 128 characters.");
        if (key.starts_with("aws:")) return refuse("System tags cannot be added or changed: " + key);
        if (text::count_characters(value) > 256) return refuse("A tag value can have 256 characters at most.");
    }
    return {};
}

std::optional<failure> check_batch_ids(std::vector<std::string_view> const& ids, std::string_view what)
{
    if (ids.empty()) {
        return fail(
            error::empty_batch_request, "There should be at least one " + std::string(what) + " in the request.");
    }
    if (ids.size() > sqs::max_batch_entries) {
        return fail(error::too_many_entries_in_batch_request,
            "Maximum number of entries per request are 10. You have sent " + std::to_string(ids.size()) + ".");
    }
    for (auto at = ids.begin(); at != ids.end(); ++at) {
        if (!sqs::is_entry_id(*at)) {
            return fail(error::invalid_batch_entry_id,
                "A batch entry id can only contain alphanumeric characters, "
                "hyphens and underscores. It can be at most 80 letters long.");
        }
        if (std::find(ids.begin(), at, *at) != at) {
            return fail(error::batch_entry_ids_not_distinct, "Id " + std::string(*at) + " repeated.");
        }
    }
    return {};
}

} // namespace quern::broker::detail
