#include <quern/broker/detail/answer.hpp>

#include <quern/sqs/detail/md5.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace quern::broker {
namespace {

constexpr std::size_t longest_number = 20;

/// Storage that is asked for once and then filled from front to end.
class arena {
public:
    explicit arena(std::size_t size)
        : storage_(std::make_shared_for_overwrite<std::byte[]>(size)), next_(reinterpret_cast<char*>(storage_.get()))
    {}

    std::string_view copy(std::string_view text)
    {
        auto* const at = take(text.size());
        if (!text.empty()) std::memcpy(at, text.data(), text.size());
        return {at, text.size()};
    }

    std::string_view number(std::int64_t value)
    {
        auto* const at = next_;
        next_ = std::to_chars(at, at + longest_number, value).ptr;
        return {at, static_cast<std::size_t>(next_ - at)};
    }

    std::string_view uuid(hex16 const& id)
    {
        auto* const at = take(hex16::uuid_size);
        id.write_uuid(at);
        return {at, hex16::uuid_size};
    }

    std::string_view digits(hex16 const& digest)
    {
        auto* const at = take(hex16::digits);
        digest.write(at);
        return {at, hex16::digits};
    }

    char* take(std::size_t size) { return std::exchange(next_, next_ + size); }

    std::shared_ptr<std::byte[]> storage() && { return std::move(storage_); }

private:
    std::shared_ptr<std::byte[]> storage_;
    char* next_;
};

/// Which user attributes a receive asked for: "All", ".*", names, "prefix.*". Names that no message has are ignored.
class attribute_filter {
public:
    explicit attribute_filter(std::vector<std::string> const& names) : names_(names)
    {
        all_ = std::ranges::any_of(names, [](auto& n) { return n == "All" || n == ".*" || n == "*"; });
    }

    bool matches(std::string_view name) const
    {
        return all_ || std::ranges::any_of(names_, [&](std::string_view wanted) {
            if (!wanted.ends_with(".*")) return wanted == name;
            return name.starts_with(wanted.substr(0, wanted.size() - 2));
        });
    }

private:
    std::vector<std::string> const& names_;
    bool all_;
};

std::int64_t milliseconds(wall_time t)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}

/// A system attribute: its name and how it gets into the arena; an empty value is left out.
struct system_field {
    std::string_view name;
    std::string_view (*write)(arena&, stored_message const&);
};

constexpr system_field system_fields[] = {
    {"AWSTraceHeader", [](arena& a, stored_message const& m) { return a.copy(m.rest().trace_header); }},
    {"ApproximateFirstReceiveTimestamp",
        [](arena& a, stored_message const& m) { return a.number(milliseconds(m.first_received_at)); }},
    {"ApproximateReceiveCount", [](arena& a, stored_message const& m) { return a.number(m.receive_count); }},
    {"DeadLetterQueueSourceArn", [](arena& a, stored_message const& m) { return a.copy(m.rest().source_arn); }},
    {"MessageDeduplicationId", [](arena& a, stored_message const& m) { return a.copy(m.rest().deduplication_id); }},
    {"MessageGroupId", [](arena& a, stored_message const& m) { return a.copy(m.rest().group_id); }},
    {"SentTimestamp", [](arena& a, stored_message const& m) { return a.number(milliseconds(m.sent_at)); }},
    {"SequenceNumber", [](arena& a, stored_message const& m) { return a.copy(m.rest().sequence_number); }},
};

using fields = std::vector<system_field const*>;

/// The fields asked for. Names that the service does not know are ignored.
fields wanted_fields(std::vector<std::string> const& names)
{
    fields out;
    if (names.empty()) return out;
    bool const all = std::ranges::find(names, "All") != names.end();
    for (auto const& field : system_fields) {
        if (all || std::ranges::find(names, field.name) != names.end()) out.push_back(&field);
    }
    return out;
}

/// At least what copying the message takes.
std::size_t room_for(stored_message const& m, attribute_filter const& filter)
{
    auto const& rest = m.rest();
    std::size_t size = receipt_codec::size + hex16::uuid_size + m.body.size() + 2 * hex16::digits +
        3 * longest_number + rest.trace_header.size() + rest.source_arn.size() + rest.deduplication_id.size() +
        rest.group_id.size() + rest.sequence_number.size();
    for (auto const& [name, value] : rest.attributes) {
        if (filter.matches(name)) size += name.size() + value.data_type.size() + value.value.size();
    }
    return size;
}

void copy_attributes(sqs::message& out, stored_message const& m, attribute_filter const& filter, arena& store)
{
    for (auto const& [name, value] : m.rest().attributes) {
        if (!filter.matches(name)) continue;
        out.attributes.push_back({store.copy(name), store.copy(value.data_type), store.copy(value.value)});
    }
    if (out.attributes.empty()) return;
    // The digest covers what is returned, not what was sent.
    bool const all = out.attributes.size() == m.rest().attributes.size();
    out.md5_of_attributes = store.copy(all ? m.rest().md5_of_attributes : sqs::md5_of_attributes(out.attributes));
}

} // namespace

sqs::receive_message_response pack(std::span<stored_message* const> messages,
    sqs::receive_message_request const& asked, receipt_codec const& receipts, std::uint64_t queue,
    std::string_view sender_id)
{
    sqs::receive_message_response out;
    if (messages.empty()) return out;

    attribute_filter const filter(asked.attribute_names);
    auto const wanted = wanted_fields(asked.system_attribute_names);
    bool const with_sender = std::ranges::any_of(
        asked.system_attribute_names, [](auto& name) { return name == "All" || name == "SenderId"; });

    std::size_t size = sender_id.size();
    for (auto const* m : messages)
        size += room_for(*m, filter);
    arena store(size);
    auto const sender = store.copy(sender_id);

    out.messages.reserve(messages.size());
    for (auto const* m : messages) {
        auto& to = out.messages.emplace_back();
        auto* const handle = store.take(receipt_codec::size);
        receipts.write({.queue = queue, .message = m->number, .receive = m->receive}, handle);
        to.receipt_handle = {handle, receipt_codec::size};
        to.id = store.uuid(m->id);
        to.body = store.copy(m->body);
        to.md5_of_body = store.digits(m->md5_of_body);
        to.system_attributes.reserve(wanted.size() + 1);
        for (auto const* field : wanted) {
            if (auto const value = field->write(store, *m); !value.empty()) {
                to.system_attributes.push_back({field->name, value});
            }
        }
        if (with_sender) to.system_attributes.push_back({"SenderId", sender});
        copy_attributes(to, *m, filter, store);
    }
    out.storage = std::move(store).storage();
    return out;
}

} // namespace quern::broker
