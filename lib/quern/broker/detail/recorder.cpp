#include <quern/broker/detail/recorder.hpp>

#include <quern/broker/detail/move_task.hpp>
#include <quern/broker/detail/queue.hpp>

namespace quern::broker::detail {
namespace {

message_progress progress_of(stored_message const& m)
{
    message_progress out;
    out.number = m.number;
    out.place = m.order;
    out.state = m.state;
    if (m.state != message_state::visible) out.until = m.at();
    out.receive = m.receive;
    out.first_received_at = m.first_received_at;
    out.received_at = m.received_at;
    out.receive_count = m.receive_count;
    out.receives_here = m.receives_here;
    out.changed = m.changed;
    return out;
}

} // namespace

result<void> recorder::commit(engine_totals const& totals, wall_time now)
{
    if (!unsaved_) return {};
    auto const kept = to_->commit(totals, now);
    unsaved_ = !kept; // whoever asks next must not take it for kept
    return kept;
}

journal* recorder::noting()
{
    unsaved_ = unsaved_ || to_;
    return to_;
}

void recorder::changed(queue const& q)
{
    if (auto* const to = noting())
        to->queue_is({q.number, q.arn, q.created_at, q.modified_at, texts_of(q.settings()), q.tags});
}

void recorder::emptied(queue const& q)
{
    if (auto* const to = noting()) to->queue_emptied(q.number);
}

void recorder::gone(queue const& q)
{
    if (auto* const to = noting()) to->queue_gone(q.number);
}

void recorder::came(stored_message const& m)
{
    auto* const to = noting();
    if (!to) return;
    char id[hex16::uuid_size];
    m.id.write_uuid(id);
    auto const& rest = m.rest();
    message_record record;
    record.progress = progress_of(m);
    record.queue = m.home->number;
    record.id = {id, sizeof id};
    record.body = m.body;
    record.sent_at = m.sent_at;
    record.retained_from = m.retained_from;
    record.trace_header = rest.trace_header;
    record.group_id = rest.group_id;
    record.deduplication_id = rest.deduplication_id;
    record.sequence_number = rest.sequence_number;
    record.source_arn = rest.source_arn;
    if (!rest.attributes.empty()) record.attributes = &rest.attributes;
    to->message_came(record);
}

void recorder::changed(stored_message const& m)
{
    if (auto* const to = noting()) to->message_is(progress_of(m));
}

void recorder::left(stored_message const& m)
{
    if (auto* const to = noting()) to->message_left(m.number);
}

void recorder::changed(move_task const& t)
{
    if (auto* const to = noting()) to->task_is(t);
}

void recorder::gone(move_task const& t)
{
    if (auto* const to = noting()) to->task_gone(t.id);
}

void recorder::sent(queue const& q, std::string_view key, wall_time until, sent_before const& answer)
{
    if (auto* const to = noting()) to->was_sent({q.number, key, until, answer.message_id, answer.sequence_number});
}

} // namespace quern::broker::detail
