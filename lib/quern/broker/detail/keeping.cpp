#include <quern/broker/detail/engine_state.hpp>
#include <quern/sqs/detail/md5.hpp>

#include <algorithm>
#include <unordered_map>

namespace quern::broker {

using namespace detail;

namespace {

failure damaged(std::string what)
{
    return failure(errc::invalid_option, "what was kept makes no sense: " + std::move(what));
}

void replace_all(std::string& in, std::string_view what, std::string_view by)
{
    for (auto at = in.find(what); at != in.npos; at = in.find(what, at + by.size()))
        in.replace(at, what.size(), by);
}

/// Journals of before have "arn:aws:" in the regions of all partitions.
queue_record in_its_partition(queue_record kept)
{
    constexpr std::string_view before = "arn:aws:sqs:";
    if (!kept.arn.starts_with(before)) return kept;
    auto const region = kept.arn.substr(before.size(), kept.arn.find(':', before.size()) - before.size());
    auto const name = aws::detail::partition_of(region).name;
    if (name == "aws") return kept;
    auto const old = std::string(before) + region + ':';
    auto const right = "arn:" + std::string(name) + ":sqs:" + region + ':';
    replace_all(kept.arn, old, right);
    for (auto& [attribute, value] : kept.attributes)
        replace_all(value, old, right);
    return kept;
}

} // namespace

/// Fills an engine.
class engine::restoring final : public journal_reader {
public:
    restoring(engine_state& into, instant now) : into_(into), now_(now) {}

    result<void> take(engine_totals const& kept) override
    {
        into_.last_number = kept.last_number;
        into_.ids.continue_after(kept.last_sequence);
        if (kept.receipt_key != receipt_key()) into_.receipts = receipt_codec(kept.receipt_key);
        return {};
    }

    result<void> take(queue_record const& written) override
    {
        auto const kept = in_its_partition(written);
        queue_settings settings;
        settings.fifo = kept.attributes.contains("FifoQueue");
        auto given = kept.attributes;
        auto const policy = given.extract("Policy"); // may be longer than what is taken today
        if (auto const bad = broker::detail::apply(settings, given))
            return damaged("queue " + kept.arn + ", " + bad->message);
        if (policy) settings.policy = policy.mapped();
        auto made = std::make_unique<queue>(into_, kept, std::move(settings), now_);
        auto* const one = made.get();
        if (!into_.queues.emplace(kept.arn, std::move(made)).second)
            return damaged("two queues are called " + kept.arn);
        by_number_[kept.number] = one;
        return {};
    }

    result<void> take(message_record const& kept) override
    {
        auto const home = by_number_.find(kept.queue);
        if (home == by_number_.end()) return damaged("a message of no queue");
        auto m = std::make_unique<stored_message>();
        m->number = kept.progress.number;
        m->order = kept.progress.place;
        m->id = hex16(kept.id);
        m->body = kept.body;
        m->md5_of_body = hex16(sqs::detail::md5_of_body(kept.body));
        m->sent_at = kept.sent_at;
        m->retained_from = kept.retained_from;
        m->receive = kept.progress.receive;
        m->first_received_at = kept.progress.first_received_at;
        m->received_at = kept.progress.received_at;
        m->receive_count = kept.progress.receive_count;
        m->receives_here = static_cast<std::uint16_t>(kept.progress.receives_here);
        m->changed = kept.progress.changed;
        if (kept.attributes || !kept.trace_header.empty() || !kept.group_id.empty() ||
            !kept.deduplication_id.empty() || !kept.sequence_number.empty() || !kept.source_arn.empty()) {
            auto& rest = m->own_rest();
            if (kept.attributes) rest.attributes = *kept.attributes;
            if (kept.attributes) rest.md5_of_attributes = sqs::detail::md5_of_attributes(rest.attributes);
            rest.trace_header = kept.trace_header;
            rest.group_id = kept.group_id;
            rest.deduplication_id = kept.deduplication_id;
            rest.sequence_number = kept.sequence_number;
            rest.source_arn = kept.source_arn;
        }
        home->second->put_back(std::move(m), kept.progress.state, end_of(kept));
        return {};
    }

    result<void> take(sent_record const& kept) override
    {
        auto const home = by_number_.find(kept.queue);
        if (home == by_number_.end()) return damaged("a deduplication id of no queue");
        home->second->put_back_sent(std::string(kept.key),
            {std::string(kept.message_id), std::string(kept.sequence_number)},
            std::min(kept.until, now_ + deduplication_interval), now_);
        return {};
    }

    result<void> take(task_record const& kept) override
    {
        auto& task = into_.tasks.emplace_back(kept);
        task.started_at = std::min(task.started_at, now_);
        if (task.active()) into_.times.arm(task, now_);
        return {};
    }

private:
    /// When a message is visible again: never later than after the whole of its delay or visibility timeout from now.
    /// The clock may have been put back since.
    instant end_of(message_record const& kept) const
    {
        auto const& p = kept.progress;
        auto const began = p.state == message_state::delayed ? kept.sent_at : p.received_at;
        return std::min(p.until, now_ + (p.until - began));
    }

    engine_state& into_;
    instant now_;
    std::unordered_map<std::uint64_t, queue*> by_number_;
};

result<void> engine::keep_in(journal& where, instant now)
{
    restoring reader(*state_, now);
    auto const read = where.read(reader, now);
    if (!read) return read.error();
    state_->record.tell(&where);
    advance(now);
    return {};
}

bool engine::unsaved() const
{
    return state_->record.unsaved();
}

result<void> engine::save()
{
    engine_totals const totals{state_->last_number, state_->ids.last_sequence(), state_->receipts.key()};
    return state_->record.commit(totals, state_->latest);
}

} // namespace quern::broker
