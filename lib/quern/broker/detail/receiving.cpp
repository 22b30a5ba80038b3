#include <quern/broker/detail/engine_state.hpp>
#include <quern/broker/detail/receipt.hpp>
#include <quern/broker/detail/stored_message.hpp>
#include <quern/sqs/detail/md5.hpp>
#include <quern/sqs/message.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::broker {

using namespace detail;

using std::chrono::seconds;

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
    out.md5_of_attributes =
        store.copy(all ? m.rest().md5_of_attributes : sqs::detail::md5_of_attributes(out.attributes));
}

/// The answer of a receive: what was asked for of each message, copied once into storage that the answer owns, with a
/// receipt handle for its newest receive.
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

} // namespace

result<received> engine::receive_message(sqs::receive_message_request request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    auto& from = **found;
    if (auto bad = check_receive(request, from.settings())) return *bad;

    received out;
    out.answer = state_->take(from, request, now);
    state_->serve(now);
    if (!out.answer.messages.empty()) return out;

    auto const wait = request.wait_time.value_or(seconds(from.settings().wait_time));
    if (wait == seconds(0)) {
        // At the limit a short poll of a standard queue is refused; a long poll and a FIFO queue just have nothing
        // (SQS developer guide, in-flight messages).
        if (!from.fifo() && from.in_flight() >= state_->options.max_in_flight) {
            return fail(
                error::over_limit, "Too many messages are in flight: " + std::to_string(from.in_flight()) + ".");
        }
        return out;
    }

    auto const id = ++state_->last_number;
    auto poll = std::make_unique<parked_poll>(id, from, std::move(request));
    state_->times.arm(*poll, now + wait);
    from.polls.push_back(*poll);
    state_->polls.emplace(id, std::move(poll));
    out.parked = id;
    return out;
}

void engine_state::serve(instant now)
{
    while (!awake_.empty()) {
        auto& from = *awake_.back();
        awake_.pop_back();
        while (!from.polls.empty() && from.visible() != 0) {
            auto& first = from.polls.front();
            auto answer = take(from, first.request, now);
            if (answer.messages.empty()) break; // all are blocked, or too many are in flight
            auto const attempt_id = first.request.attempt_id;
            finish(first, std::move(answer));
            if (attempt_id) repeat(from, *attempt_id, now);
        }
    }
}

/// Answers the polls that repeat this attempt id, whose callers have lost the connection of the first: they get what
/// that one got.
void engine_state::repeat(queue& from, std::string const& attempt_id, instant now)
{
    for (auto at = from.polls.begin(); at != from.polls.end();) {
        auto& poll = *at++;
        if (poll.request.attempt_id != attempt_id) continue;
        auto answer = take(from, poll.request, now);
        if (!answer.messages.empty()) finish(poll, std::move(answer));
    }
}

void engine_state::finish(parked_poll& poll, result<sqs::receive_message_response> answer)
{
    auto const id = poll.id;
    ready.push_back({id, std::move(answer)});
    polls.erase(id);
}

sqs::receive_message_response engine_state::take(
    queue& from, sqs::receive_message_request const& request, instant now)
{
    auto const timeout = request.visibility_timeout.value_or(seconds(from.settings().visibility_timeout));
    auto const until = now + timeout;

    std::vector<stored_message*> taken;
    if (request.attempt_id) taken = replay(from, *request.attempt_id, until, now);
    if (taken.empty()) {
        taken = select(from, static_cast<std::size_t>(faults.shortened(request.max_messages)), until, now);
        if (request.attempt_id && !taken.empty()) {
            attempt noted;
            for (auto const* m : taken)
                noted.parts.push_back({m->number, m->receive});
            from.note_attempt(*request.attempt_id, std::move(noted), now);
        }
    }

    auto out = pack(taken, request, receipts, from.number, options.sender_id);
    for (auto* m : taken) {
        bool const twice = !from.fifo() && faults.duplicates_message();
        if (timeout == seconds(0) || twice) from.show(*m);
    }
    return out;
}

std::vector<stored_message*> engine_state::select(queue& from, std::size_t most, instant until, instant now)
{
    std::vector<stored_message*> out;
    if (from.visible() == 0 || from.in_flight() >= options.max_in_flight) return out;
    most = std::min(most, options.max_in_flight - from.in_flight());

    for (auto* m = from.order().first(); m && out.size() < most;) {
        auto* const follower = from.order().follower(*m);
        if (auto* const dead_letters = redrive_target(from, *m)) {
            redrive(from, *m, *dead_letters, now);
            wake(*dead_letters);
        } else {
            from.receive(*m, until, now);
            ++from.counts.received;
            out.push_back(m);
        }
        m = follower ? follower : from.order().first();
    }
    return out;
}

std::vector<stored_message*> engine_state::replay(
    queue& from, std::string const& attempt_id, instant until, instant now)
{
    auto const* noted = from.find_attempt(attempt_id, now);
    if (!noted) return {};

    std::vector<stored_message*> out;
    for (auto const& [number, receive] : noted->parts) {
        auto* const m = from.find(number);
        if (!m || m->receive != receive || m->state != message_state::in_flight || m->changed) {
            from.forget_attempt(attempt_id); // deleted, changed or expired: from now on it is an id like any other
            return {};
        }
        out.push_back(m);
    }
    for (auto* m : out)
        from.hide(*m, until);
    return out;
}

queue* engine_state::redrive_target(queue& from, stored_message const& m)
{
    auto const& policy = from.settings().redrive;
    if (!policy || m.receives_here < policy->max_receive_count) return nullptr;
    return by_arn(policy->target_arn); // a deleted dead-letter queue takes nothing
}

void engine_state::redrive(queue& from, stored_message& m, queue& to, instant now)
{
    auto moved = from.take_out(m);
    ++from.counts.moved;
    auto& rest = moved->own_rest();
    rest.source_arn = from.arn;
    if (to.fifo()) {
        // SQS developer guide: a FIFO queue's message gets its id as deduplication id and is retained from now;
        // a standard queue's keeps its age.
        rest.deduplication_id.resize(hex16::uuid_size);
        moved->id.write_uuid(rest.deduplication_id.data());
        rest.sequence_number = ids.sequence_number();
        moved->retained_from = now;
    }
    to.put(std::move(moved), seconds(0), now);
}

} // namespace quern::broker
