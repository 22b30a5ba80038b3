// The pipeline's settle stage: SQS is told, until it confirms.

#include <quern/consumer/detail/pipeline.hpp>
#include <quern/sqs/batch.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace quern {

namespace asio = boost::asio;
using std::chrono::seconds;

void consumer::pipeline::settle(held_ptr h, settlement::purpose why, std::chrono::milliseconds delay)
{
    auto const timeout = delay.count() == 0 ? seconds(0) : whole_seconds(*h, delay);
    h->at = held::stage::settling;
    h->removing = why == settlement::purpose::remove;
    wake_.ring();
    if (why == settlement::purpose::postpone && timeout.count() == 0 && drain_ && drain_->keeps_back(now()) &&
        intake_.polls() != 0) {
        kept_back_.push_back(std::move(h)); // a receive of ours that is still open would only bring it back
        return;
    }
    h->giving_back = why == settlement::purpose::postpone;
    if (h->giving_back && h->extending)
        h->postponed = timeout; // an extension that arrived later would undo it
    else
        settle_.add({std::move(h), why, timeout}, now());
}

/// Rounded up, so that the message never comes early; within the 12 hours that SQS counts from the receive.
seconds consumer::pipeline::whole_seconds(held const& h, std::chrono::milliseconds delay) const
{
    auto const left = std::chrono::floor<seconds>(h.received_at + lease_book::horizon - now());
    return std::clamp(std::chrono::ceil<seconds>(delay), seconds(0), std::max(left, seconds(0)));
}

namespace {

/// That goes over the wire with it, and is noted.
std::string_view handle_of(settlement& entry)
{
    entry.handle = entry.what->handles;
    return entry.what->handle;
}

} // namespace

asio::awaitable<void> consumer::pipeline::remove(std::vector<settlement> entries)
{
    std::vector<std::string> handles;
    handles.reserve(entries.size());
    for (auto& e : entries)
        handles.emplace_back(handle_of(e));
    auto const sent_at = now();
    auto const answers = co_await sqs::delete_batch(api_, queue_url_, std::move(handles));
    auto const time = now();
    for (std::size_t i = 0; i < entries.size(); ++i)
        answered(std::move(entries[i]), answers[i], sent_at, time);
    returned();
}

asio::awaitable<void> consumer::pipeline::change(std::vector<settlement> entries)
{
    std::erase_if(entries, [this](settlement const& e) { // its message may be another consumer's by now
        auto const over = e.why == settlement::purpose::postpone && e.what->message.lease_deadline() <= now();
        if (over) settled_for_good(*e.what, settled::lost, e.timeout);
        return over;
    });
    std::vector<sqs::change_visibility_entry> changes;
    for (auto& e : entries) {
        e.what->extending = e.why == settlement::purpose::extend;
        e.timeout = std::min(e.timeout, whole_seconds(*e.what, e.timeout)); // the horizon has come nearer
        changes.emplace_back(std::string(), std::string(handle_of(e)), e.timeout);
    }
    auto const sent_at = now();
    auto const answers = co_await sqs::change_visibility_batch(api_, queue_url_, std::move(changes));
    auto const time = now();
    for (std::size_t i = 0; i < entries.size(); ++i)
        answered(std::move(entries[i]), answers[i], sent_at, time);
    --change_calls_;
    returned();
}

/// The poison queue gets the body and the attributes, and the reason where there is room for one more.
asio::awaitable<void> consumer::pipeline::hand_off(std::vector<settlement> entries)
{
    constexpr std::size_t most_attributes = 10, attribute_overhead = std::string_view("QuernReasonString").size();
    std::vector<sqs::send_message_entry> copies;
    std::vector<std::size_t> sizes;
    auto const fifo = options.poison_queue_url.ends_with(".fifo");
    for (auto& e : entries) {
        handle_of(e);
        auto const& m = e.what->message.message();
        auto& copy = copies.emplace_back(std::string(m.body));
        for (auto const& a : m.attributes)
            copy.attributes.try_emplace(
                std::string(a.name), sqs::attribute_value{std::string(a.data_type), std::string(a.value)});
        auto const& reason = *e.what->reason;
        auto const size = sqs::message_size(copy.body, copy.attributes) + attribute_overhead + reason.size();
        if (copy.attributes.size() < most_attributes && size <= sqs::max_message_bytes && !reason.empty()) {
            copy.attributes.try_emplace("QuernReason", sqs::attribute_value{"String", reason});
        }
        sizes.push_back(sqs::message_size(copy.body, copy.attributes));
        if (!fifo) continue;
        copy.group_id = e.what->message.group().empty() ? "rejected" : std::string(e.what->message.group());
        copy.deduplication_id = std::string(m.id);
    }
    auto entry = entries.begin();
    auto copy = std::make_move_iterator(copies.begin());
    for (auto const count : sqs::split(sizes)) { // of large messages not all fit into a request
        std::vector<sqs::send_message_entry> part(copy, copy + static_cast<std::ptrdiff_t>(count));
        copy += static_cast<std::ptrdiff_t>(count);
        auto const sent_at = now();
        auto const answers = co_await sqs::send_batch(api_, options.poison_queue_url, std::move(part));
        auto const time = now();
        for (auto const& sent : answers) {
            result<void> const said = sent ? result<void>() : result<void>(sent.error());
            answered(std::move(*entry++), said, sent_at, time);
        }
        if (ended_) break; // nobody may use the api any more
    }
    returned();
}

void consumer::pipeline::returned()
{
    ++counters.settle_calls;
    --settle_calls_;
    wake_.ring();
}

void consumer::pipeline::answered(settlement entry, result<void> const& answer, tick sent_at, tick time)
{
    auto& h = *entry.what;
    if (!answer) log_.write(log_level::warning, "settlement failed", describe(answer.error()), time);
    if (h.at == held::stage::gone) return; // redelivered while it was given back: another entry stands for it now
    auto const verdict = judge(entry, answer, time);
    if (entry.why == settlement::purpose::extend) {
        h.extending = false;
        if (verdict == settled::done && entry.has_newest_handle() && (!h.lost || h.back)) {
            ++counters.extended;
            leases_.extended(h, sent_at, entry.timeout);
            extended(entry.what, entry.timeout);
        } else if (verdict == settled::done) {
            extend_as_asked(entry.what); // of a handle that is no longer the newest
        }
        auto const its_delete_decides = h.asks && h.asks->ack != handler_asks::deletion::none;
        auto const refused = verdict == settled::lost && entry.has_newest_handle() && !its_delete_decides;
        if (refused) leases_.refused(h, time); // nor is it postponed then
        if (auto const postponed = std::exchange(h.postponed, std::nullopt)) {
            settle_.add({std::move(entry.what), settlement::purpose::postpone, *postponed}, time);
        } else if (verdict == settled::again) {
            settle_.add_again(std::move(entry), time);
        } else if (refused) {
            lose(entry.what);
        }
    } else if (!answer && entry.why == settlement::purpose::hand_off && !answer.error().retryable) {
        h.rejected = false; // the poison queue will never take it: nothing is lost, somebody reads the log
        auto const delay = options.backoff.delay(h.message.receive_count(), random_);
        fail_for(std::move(entry.what), delay);
    } else if (verdict == settled::again) {
        settle_.add_again(std::move(entry), time);
    } else if (verdict == settled::done && entry.why == settlement::purpose::hand_off) {
        settle(std::move(entry.what), settlement::purpose::remove);
    } else if (h.at == held::stage::running) {
        deleted_early(entry.what, verdict);
    } else {
        settled_for_good(h, verdict, entry.timeout);
    }
}

void consumer::pipeline::settled_for_good(held& h, settled how, seconds timeout)
{
    if (how == settled::lost) {
        note_lost(h);
        give_back_tail(h);
    } else if (h.rejected) {
        ++counters.rejected;
    } else if (h.removing) {
        if (!h.asks || !h.asks->deleted()) ++counters.acked;
    } else if (timeout.count() == 0) {
        ++counters.released;
        if (drain_) ++report_.released;
    } else {
        ++counters.retried;
    }
    tell_asks(h, how == settled::lost ? too_late() : result<void>());
    groups_.leave(h); // a rejected head leaves only now
    in_flight.remove(h);
}

} // namespace quern
