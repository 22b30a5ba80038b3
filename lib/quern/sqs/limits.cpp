#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/utf8.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <string>

namespace quern::sqs {

using namespace quern::detail;

namespace {

using problem = std::optional<failure>;

problem refuse(std::string_view field, std::string_view why)
{
    return failure(errc::invalid_request, std::string(field) + ": " + std::string(why));
}

/// The problem of a part, with the name of the whole before its field.
problem within(std::string const& whole, problem part)
{
    if (part) part->message.insert(0, whole + '.');
    return part;
}

bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool is_words(std::string_view text, std::size_t most)
{
    return !text.empty() && text.size() <= most && std::ranges::all_of(text, is_word);
}

bool is_plain_ascii(char c)
{
    auto const code = static_cast<unsigned char>(c);
    return code >= 0x20 && code < 0x80;
}

/// One character of UTF-8: XML's, of which some are no text.
bool is_message_character(std::string_view c)
{
    if (c.size() == 1) return static_cast<unsigned char>(c[0]) >= 0x20 || c == "\t" || c == "\n" || c == "\r";
    return c != "\xEF\xBF\xBE" && c != "\xEF\xBF\xBF";
}

bool begins_with_ignoring_case(std::string_view text, std::string_view begin)
{
    return text::equal_ignoring_case(text.substr(0, begin.size()), begin);
}

problem check_range(std::string_view field, std::optional<seconds> value, seconds most)
{
    if (!value || (*value >= seconds::zero() && *value <= most)) return {};
    return refuse(
        field, std::to_string(value->count()) + " is not within 0 to " + std::to_string(most.count()) + " seconds");
}

problem check_token(std::string_view field, std::optional<std::string> const& value)
{
    if (!value || is_token(*value)) return {};
    return refuse(field, "must be 1 to 128 ASCII letters, digits and punctuation characters, without spaces");
}

problem check_attributes(attribute_map const& all)
{
    if (all.size() > max_attributes) {
        return refuse("MessageAttributes", "at most 10, not " + std::to_string(all.size()));
    }
    for (auto const& [name, value] : all) {
        auto const field = "MessageAttributes[\"" + name + "\"]";
        if (!is_attribute_name(name)) return refuse(field, "is not a valid name");
        if (!is_attribute_type(value.data_type)) {
            return refuse(field + ".DataType", "must be String, Number or Binary, optionally with a .label");
        }
        if (value.value.empty()) return refuse(field, "must not be empty");
        if (!value.is_binary() && !is_message_text(value.value)) {
            return refuse(field + ".StringValue", "contains a character that a message may not have");
        }
    }
    return {};
}

/// Checks the fields that SendMessage and an entry of SendMessageBatch have in common.
template <class Message>
problem check_message(Message const& sent)
{
    if (sent.body.empty()) return refuse("MessageBody", "must not be empty");
    if (auto const size = message_size(sent.body, sent.attributes); size > max_message_bytes) {
        return refuse(
            "MessageBody", "with the attributes it has " + std::to_string(size) + " bytes, more than 1048576");
    }
    if (!is_message_text(sent.body)) {
        return refuse("MessageBody", "contains a character that a message may not have");
    }
    if (auto bad = check_attributes(sent.attributes)) return bad;
    if (auto bad = check_range("DelaySeconds", sent.delay, max_delay)) return bad;
    if (auto bad = check_token("MessageGroupId", sent.group_id)) return bad;
    return check_token("MessageDeduplicationId", sent.deduplication_id);
}

template <class Entry>
problem check_entries(std::vector<Entry> const& entries)
{
    if (entries.empty()) return refuse("Entries", "must not be empty");
    if (entries.size() > max_batch_entries) {
        return refuse("Entries", "at most 10, not " + std::to_string(entries.size()));
    }
    for (std::size_t i = 0; i != entries.size(); ++i) {
        auto const& id = entries[i].id;
        auto const field = [i] { return "Entries[" + std::to_string(i) + ']'; };
        if (!is_entry_id(id)) return refuse(field() + ".Id", "must be 1 to 80 of A-Z, a-z, 0-9, '_' and '-'");
        auto const before = entries.begin() + static_cast<std::ptrdiff_t>(i);
        if (std::ranges::find(entries.begin(), before, id, &Entry::id) != before) {
            return refuse(field() + ".Id", "is that of an earlier entry");
        }
        if (auto bad = check(entries[i])) return within(field(), std::move(bad));
    }
    return {};
}

} // namespace

std::size_t message_size(std::string_view body, attribute_map const& attributes)
{
    std::size_t size = body.size();
    for (auto const& [name, value] : attributes)
        size += name.size() + value.data_type.size() + value.value.size();
    return size;
}

bool is_message_text(std::string_view text)
{
    while (!text.empty()) {
        // Nearly every message is plain ASCII: pass over runs of it.
        auto const other = std::ranges::find_if_not(text, is_plain_ascii);
        text.remove_prefix(static_cast<std::size_t>(other - text.begin()));
        if (text.empty()) break;
        auto const size = text::character_size(text);
        if (size == 0 || !is_message_character(text.substr(0, size))) return false;
        text.remove_prefix(size);
    }
    return true;
}

bool is_attribute_name(std::string_view name)
{
    auto const allowed = [](char c) { return is_word(c) || c == '.' || static_cast<unsigned char>(c) >= 0x80; };
    return !name.empty() && text::count_characters(name) <= max_attribute_name &&
        std::ranges::all_of(name, allowed) && !name.starts_with('.') && !name.ends_with('.') &&
        name.find("..") == name.npos && !begins_with_ignoring_case(name, "aws.") &&
        !begins_with_ignoring_case(name, "amazon.") && is_message_text(name);
}

bool is_attribute_type(std::string_view type)
{
    auto const base = type.substr(0, type.find('.'));
    return (base == "String" || base == "Number" || base == "Binary") &&
        text::count_characters(type) <= max_attribute_name && is_message_text(type);
}

bool is_entry_id(std::string_view id)
{
    return is_words(id, max_entry_id);
}

bool is_queue_name(std::string_view name)
{
    if (name.size() > max_queue_name) return false;
    return is_words(name.ends_with(".fifo") ? name.substr(0, name.size() - 5) : name, max_queue_name);
}

bool is_token(std::string_view text)
{
    return !text.empty() && text.size() <= max_token &&
        std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

std::optional<failure> check(send_message_entry const& entry)
{
    return check_message(entry);
}

std::optional<failure> check(delete_message_entry const& entry)
{
    return entry.receipt_handle.empty() ? refuse("ReceiptHandle", "must not be empty") : problem();
}

std::optional<failure> check(change_visibility_entry const& entry)
{
    if (entry.receipt_handle.empty()) return refuse("ReceiptHandle", "must not be empty");
    return check_range("VisibilityTimeout", entry.visibility_timeout, max_visibility);
}

std::optional<failure> check(send_message_request const& request)
{
    return check_message(request);
}

std::optional<failure> check(send_message_batch_request const& request)
{
    if (auto bad = check_entries(request.entries)) return bad;
    std::size_t total = 0;
    for (auto const& entry : request.entries)
        total += message_size(entry.body, entry.attributes);
    if (total <= max_message_bytes) return {};
    return refuse("Entries", "together they have " + std::to_string(total) + " bytes, more than 1048576");
}

std::optional<failure> check(receive_message_request const& request)
{
    if (request.max_messages < 1 || request.max_messages > static_cast<int>(max_batch_messages)) {
        return refuse("MaxNumberOfMessages", std::to_string(request.max_messages) + " is not within 1 to 10");
    }
    if (auto bad = check_range("VisibilityTimeout", request.visibility_timeout, max_visibility)) return bad;
    if (auto bad = check_range("WaitTimeSeconds", request.wait_time, max_wait_time)) return bad;
    return check_token("ReceiveRequestAttemptId", request.attempt_id);
}

std::optional<failure> check(delete_message_batch_request const& request)
{
    return check_entries(request.entries);
}

std::optional<failure> check(change_message_visibility_request const& request)
{
    return check_range("VisibilityTimeout", request.visibility_timeout, max_visibility);
}

std::optional<failure> check(change_message_visibility_batch_request const& request)
{
    return check_entries(request.entries);
}

std::optional<failure> check(create_queue_request const& request)
{
    if (is_queue_name(request.queue_name)) return {};
    return refuse("QueueName", "must be 1 to 80 of A-Z, a-z, 0-9, '_' and '-', a FIFO queue's ending in \".fifo\"");
}

} // namespace quern::sqs
