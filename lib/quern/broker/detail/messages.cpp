// Every operation first does what is due by now (advance), then marks the queues that have messages for waiting
// receives (wake), and then answers these (serve).

#include <quern/broker/detail/engine_state.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/sqs/detail/md5.hpp>
#include <quern/sqs/limits.hpp>

namespace quern::broker {

using namespace detail;
using namespace quern::detail;

namespace {

using std::chrono::seconds;

/// A single message is sent like a batch of one.
sqs::send_message_entry entry_of(sqs::send_message_request&& request)
{
    sqs::send_message_entry out(std::move(request.body));
    out.delay = request.delay;
    out.attributes = std::move(request.attributes);
    out.system_attributes = std::move(request.system_attributes);
    out.deduplication_id = std::move(request.deduplication_id);
    out.group_id = std::move(request.group_id);
    return out;
}

sqs::batch_failure failed_entry(std::string id, failure const& why)
{
    return {std::move(id), why.service_code, why.message, why.sender_fault};
}

sqs::batch_failure broken_entry(std::string id)
{
    return {std::move(id), "InternalError", "An internal error occurred.", false};
}

template <class Entry>
std::vector<std::string_view> ids_of(std::vector<Entry> const& entries)
{
    std::vector<std::string_view> out;
    out.reserve(entries.size());
    for (auto const& entry : entries)
        out.push_back(entry.id);
    return out;
}

/// Stores a message that passed the checks.
sqs::send_message_response store(services& with, queue& to, sqs::send_message_entry sent, instant now)
{
    sqs::send_message_response out;
    out.md5_of_body = sqs::detail::md5_of_body(sent.body);
    if (!sent.attributes.empty()) out.md5_of_attributes = sqs::detail::md5_of_attributes(sent.attributes);
    if (!sent.system_attributes.empty())
        out.md5_of_system_attributes = sqs::detail::md5_of_attributes(sent.system_attributes);

    std::string deduplication_id;
    std::string key;
    if (to.fifo()) {
        deduplication_id = sent.deduplication_id ? *sent.deduplication_id : text::hex(text::sha256(sent.body));
        key = to.deduplication_key(*sent.group_id, deduplication_id, now);
        if (auto const* before = to.find_sent(key, now)) {
            out.message_id = before->message_id;
            out.sequence_number = before->sequence_number;
            return out;
        }
        out.sequence_number = with.ids.sequence_number();
    }
    out.message_id = with.ids.uuid();
    if (to.fifo()) to.note_sent(std::move(key), {out.message_id, out.sequence_number}, now);

    auto m = std::make_unique<stored_message>();
    m->id = hex16(out.message_id);
    m->body = packed_bytes(sent.body);
    m->md5_of_body = hex16(out.md5_of_body);
    bool const traced = !sent.system_attributes.empty() || !with.asking.trace_header.empty();
    if (traced || to.fifo() || sent.group_id || !sent.attributes.empty()) {
        auto& rest = m->own_rest();
        rest.attributes = std::move(sent.attributes);
        rest.md5_of_attributes = out.md5_of_attributes;
        rest.trace_header = sent.system_attributes.empty() ? with.asking.trace_header
                                                           : std::move(sent.system_attributes.begin()->second.value);
        if (sent.group_id) rest.group_id = std::move(*sent.group_id);
        rest.deduplication_id = std::move(deduplication_id);
        rest.sequence_number = out.sequence_number;
    }
    m->sent_at = m->retained_from = now;

    ++to.counts.sent;
    seconds const of_queue(to.settings().delay);
    to.put(std::move(m), to.fifo() ? of_queue : sent.delay.value_or(of_queue), now);
    return out;
}

failure invalid_handle(std::string const& handle)
{
    return fail(error::receipt_handle_is_invalid,
        "The input receipt handle \"" + handle + "\" is not a valid receipt handle.");
}

failure expired_handle(std::string const& handle)
{
    return invalid_parameter("ReceiptHandle", handle, "The receipt handle has expired.");
}

failure gone(std::string const& handle)
{
    return invalid_parameter(
        "ReceiptHandle", handle, "Message does not exist or is not available for visibility timeout change.");
}

/// The message of a receipt handle, and how the two stand now.
struct held {
    stored_message* message; ///< nullptr: deleted
    bool newest;             ///< no later receive of the message
};

result<held> look_up(services& with, queue& in, std::string const& handle)
{
    if (handle.empty()) return missing_parameter("ReceiptHandle");
    auto const what = with.receipts.read(handle);
    if (!what || what->queue != in.number) return invalid_handle(handle);
    auto* const m = in.find(what->message);
    return held{m, m && m->receive == what->receive};
}

std::optional<failure> delete_one(services& with, queue& from, std::string const& handle, std::string_view operation)
{
    auto const found = look_up(with, from, handle);
    if (!found) return found.error();
    auto const [m, newest] = *found;
    if (!m) return {}; // deleting twice is fine
    bool const valid = !with.faults.expires_receipt(operation);
    if (from.fifo()) {
        if (!valid || !newest || m->state != message_state::in_flight) return expired_handle(handle);
    } else if (!valid || !newest) {
        return {}; // "succeeds, but the message might not be deleted": SQS API reference, DeleteMessage
    }
    from.take_out(*m);
    ++from.counts.deleted;
    return {};
}

std::optional<failure> change_one(
    services& with, queue& in, std::string const& handle, seconds timeout, std::string_view operation, instant now)
{
    if (auto bad = check_visibility(timeout)) return bad;
    auto const found = look_up(with, in, handle);
    if (!found) return found.error();
    auto const [m, newest] = *found;
    if (!m) return gone(handle);
    bool const in_flight = m->state == message_state::in_flight;
    if (with.faults.expires_receipt(operation)) return in.fifo() ? expired_handle(handle) : gone(handle);
    if (in.fifo() && (!newest || !in_flight)) return expired_handle(handle);
    // Seen on SQS, standard queues: a handle works after its timeout until the next receive, and an older one works
    // while the message is in flight.
    if (!newest && !in_flight) {
        return fail(error::message_not_inflight, "The specified message isn't in flight.");
    }
    // The horizon counts from the receive, an extension does not move it (SQS developer guide, visibility timeout).
    if (now + timeout > m->received_at + sqs::max_visibility) {
        return invalid_parameter("VisibilityTimeout", std::to_string(timeout.count()),
            "Total VisibilityTimeout for the message is beyond the limit [43200 seconds].");
    }
    m->changed = true;
    if (timeout == seconds(0)) {
        in.show(*m);
    } else {
        in.hide(*m, now + timeout);
    }
    return {};
}

/// Carries out each entry of a checked batch by itself.
template <class Entry, class Do>
sqs::batch_response<sqs::done_entry> for_each_entry(
    services& with, std::vector<Entry> const& entries, std::string_view operation, Do carry_out)
{
    sqs::batch_response<sqs::done_entry> out;
    for (auto const& entry : entries) {
        if (with.faults.fails_entry(operation)) {
            out.failed.push_back(broken_entry(entry.id));
        } else if (auto const bad = carry_out(entry)) {
            out.failed.push_back(failed_entry(entry.id, *bad));
        } else {
            out.successful.push_back({entry.id});
        }
    }
    return out;
}

} // namespace

result<sqs::send_message_response> engine::send_message(sqs::send_message_request request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    auto& to = **found;
    auto sent = entry_of(std::move(request));
    if (auto bad = check_message(sent, to.settings(), false)) return *bad;
    if (auto bad = check_fifo_ids(sent, to.settings())) return *bad;

    auto out = store(*state_, to, std::move(sent), now);
    state_->wake(to);
    state_->serve(now);
    return out;
}

result<sqs::send_message_batch_response> engine::send_message_batch(
    sqs::send_message_batch_request request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    auto& to = **found;
    if (auto bad = check_batch_ids(ids_of(request.entries), "SendMessageBatchRequestEntry")) return *bad;
    std::size_t total = 0;
    for (auto const& entry : request.entries) {
        // Here, unlike in SendMessage, a missing group is an invalid parameter, and either fails the whole call.
        if (auto bad = check_fifo_ids(entry, to.settings()))
            return fail(error::invalid_parameter_value, bad->message);
        total += sqs::message_size(entry.body, entry.attributes);
    }
    if (total > sqs::max_message_bytes) { // whatever the queue's MaximumMessageSize
        return fail(error::batch_request_too_long,
            "Batch requests cannot be longer than 1048576 bytes. You have sent " + std::to_string(total) + " bytes.");
    }

    sqs::send_message_batch_response out;
    for (auto& entry : request.entries) {
        if (state_->faults.fails_entry("SendMessageBatch")) {
            out.failed.push_back(broken_entry(std::move(entry.id)));
        } else if (auto const bad = check_message(entry, to.settings(), true)) {
            out.failed.push_back(failed_entry(std::move(entry.id), *bad));
        } else {
            auto& done = out.successful.emplace_back();
            done.id = entry.id;
            static_cast<sqs::send_message_response&>(done) = store(*state_, to, std::move(entry), now);
        }
    }
    state_->wake(to);
    state_->serve(now);
    return out;
}

result<sqs::empty_response> engine::delete_message(sqs::delete_message_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    if (auto bad = delete_one(*state_, **found, request.receipt_handle, "DeleteMessage")) return *bad;
    state_->wake(**found);
    state_->serve(now); // it may have blocked its group
    return sqs::empty_response();
}

result<sqs::delete_message_batch_response> engine::delete_message_batch(
    sqs::delete_message_batch_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    if (auto bad = check_batch_ids(ids_of(request.entries), "DeleteMessageBatchRequestEntry")) return *bad;
    constexpr std::string_view name = "DeleteMessageBatch";
    auto out = for_each_entry(*state_, request.entries, name,
        [&](auto const& entry) { return delete_one(*state_, **found, entry.receipt_handle, name); });
    state_->wake(**found);
    state_->serve(now);
    return out;
}

result<sqs::empty_response> engine::change_message_visibility(
    sqs::change_message_visibility_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    if (auto bad = change_one(
            *state_, **found, request.receipt_handle, request.visibility_timeout, "ChangeMessageVisibility", now)) {
        return *bad;
    }
    state_->wake(**found);
    state_->serve(now);
    return sqs::empty_response();
}

result<sqs::change_message_visibility_batch_response> engine::change_message_visibility_batch(
    sqs::change_message_visibility_batch_request const& request, instant now)
{
    advance(now);
    auto const found = state_->by_url(request.queue_url);
    if (!found) return found.error();
    if (auto bad = check_batch_ids(ids_of(request.entries), "ChangeMessageVisibilityBatchRequestEntry")) return *bad;
    constexpr std::string_view name = "ChangeMessageVisibilityBatch";
    auto out = for_each_entry(*state_, request.entries, name, [&](auto const& entry) {
        return change_one(*state_, **found, entry.receipt_handle, entry.visibility_timeout, name, now);
    });
    state_->wake(**found);
    state_->serve(now);
    return out;
}

} // namespace quern::broker
