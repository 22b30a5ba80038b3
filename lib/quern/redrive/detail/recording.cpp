// What the journal is told, and what a run that goes on learns from it.

#include <quern/redrive/detail/state.hpp>

#include <quern/sqs/limits.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace quern::redrive {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto longest_hold = std::chrono::seconds(12h - 1min); // what SQS hides a message for, less its way here
constexpr auto repeat_time = 5min - 30s; // in which a FIFO queue knows a deduplication id, less a clock's error
constexpr auto retention_margin = 1h;    // before a message expires
constexpr auto cancel_every = 1s;

} // namespace

run_book::entry const* redriver::state::recorded(std::string_view id) const
{
    return o_.record ? o_.record->book().find(id) : nullptr;
}

bool redriver::state::has_recorded_send(std::string_view id) const
{
    auto const* const known = recorded(id);
    return known && (known->where == stage::sent || known->where == stage::done);
}

void redriver::state::note(event_kind kind, delivery const* about, std::function<void(event&)> const& fill)
{
    if (!o_.record) return;
    event e;
    e.kind = kind;
    if (about) e.message = about->id();
    if (fill) fill(e);
    o_.record->write(std::move(e), service_time());
}

/// Others who have something to write are let before, so that it is written at once. False: nothing may be sent.
asio::awaitable<bool> redriver::state::is_kept()
{
    if (!o_.record) co_return true;
    auto const wanted = o_.record->book().last_id();
    co_await asio::post(ex_, asio::use_awaitable);
    if (o_.record->flushed() < wanted || o_.record->is_broken()) (void)o_.record->flush();
    co_return !ends_when_broken();
}

/// Whether nothing may be done any more, because nothing can be written; then all are told.
bool redriver::state::ends_when_broken()
{
    if (!o_.record->is_broken()) return false;
    if (!std::exchange(told_.journal_failed, true))
        rule_.stop("the journal cannot be written: " + o_.record->why_broken());
    news_.ring();
    wake();
    return true;
}

std::optional<failure> redriver::state::begin_record()
{
    if (!o_.record) return {};
    auto const& book = o_.record->book();
    if (book.now() == run_book::phase::succeeded || book.now() == run_book::phase::cancelled)
        return failure(errc::invalid_option,
            "the run is over (" + std::string(name_of(book.now())) + "): begin another journal");
    if (book.now() == run_book::phase::none) {
        note(event_kind::started, nullptr, [&](event& e) {
            e.version = event::current_version;
            e.queue = o_.dlq_url;
            e.input = o_.record_input;
            e.due = policy_.began_at;
        });
    } else {
        if (book.start().queue != o_.dlq_url)
            return failure(errc::invalid_option, "the journal is of " + book.start().queue);
        note(event_kind::resumed, nullptr);
        go_on_from_record();
    }
    auto const kept = o_.record->flush();
    look_for_cancel(); // somebody may have asked for the end while no process was there
    ending_ = ending_ || told_.cancelled;
    if (kept) return {};
    told_.journal_failed = true;
    return kept.error();
}

/// Waits for what a former process may still hide.
void redriver::state::go_on_from_record()
{
    auto const& book = o_.record->book();
    policy_.began_at = book.start().due;
    auto const counts = book.counts();
    told_.redriven = counts.redriven;
    told_.isolated = counts.isolated;
    told_.deleted = counts.deleted;
    told_.failures = counts.failures;
    told_.maybe_twice = counts.maybe_twice;
    told_.by_queue = book.redriven_to();
    auto const hidden_until = time_.now() + 2 * o_.visibility_timeout;
    for (auto const& [id, one] : book.messages()) {
        if (one.where == stage::sent) unconfirmed_.insert(id);
        if (one.where != stage::done && one.where != stage::left) awaited_[id] = hidden_until;
    }
    rule_.begin_with(counts.redriven + counts.isolated + counts.unknown);
}

/// The plan as it is now, unless the message was planned so before: what was left to chance stays.
void redriver::state::record(delivery const& d, plan& p, std::string const& to)
{
    if (!o_.record) return;
    auto const decision = p.what == action::send ? "send" : p.what == action::isolate ? "isolate" : "skip";
    auto const* const known = recorded(d.id());
    auto const sent = d.message().sent_at();
    if (known && p.what == action::send && !known->isolated && known->where != stage::left &&
        known->attempt == p.attempt) {
        // Chance may draw a wait now where it drew a delay then, or the other way round.
        auto const waited = known->due != wall_time();
        if (!waited && p.not_before && !to.ends_with(".fifo")) p.copy.delay = sqs::max_delay;
        if (waited) p.copy.delay.reset();
        p.not_before = waited ? std::optional(known->due) : std::nullopt;
        return;
    }
    if (known && known->where == stage::left && p.what == action::skip && known->skipped) return;
    if (p.not_before && sent && retention_ != 0s) {
        auto const expires = *sent + retention_;
        if (*p.not_before > expires - retention_margin) {
            p.not_before = std::max<wall_time>(service_time(), expires - retention_margin);
            p.reason = "sent early: the queue keeps it for " + std::to_string(retention_.count() / 3'600) +
                " h, and it was due later";
            say(log_level::warning, d.id(), p.reason);
        }
    }
    note(event_kind::planned, &d, [&](event& e) {
        e.decision = decision;
        e.attempt = p.attempt;
        e.reason = p.reason;
        e.queue = to;
        if (p.not_before) e.due = *p.not_before;
    });
}

std::optional<wall_time> redriver::state::due_of(std::string_view id) const
{
    auto const* const known = recorded(id);
    if (!known || known->due == wall_time()) return {};
    if (known->where != stage::waiting && known->where != stage::unknown) return {};
    return known->due;
}

/// Hides the message until it is due, or for as long as SQS hides one: then it is put off again.
outcome redriver::state::put_off(delivery& d, wall_time due)
{
    auto const left = std::chrono::ceil<std::chrono::seconds>(due - service_time());
    auto const hold = std::clamp<std::chrono::seconds>(left, 1s, longest_hold);
    auto const* const known = recorded(d.id());
    // An unknown end of a send stays so: the message is sent again, marked, when it is due.
    if (known && known->where != stage::unknown)
        note(event_kind::waiting, &d, [&](event& e) {
            e.due = due;
            e.hidden_until = service_time() + hold;
        });
    hidden_.insert_or_assign(std::string(d.id()), std::string(d.message().receipt_handle));
    return retry_after(hold);
}

void redriver::state::note_sending(delivery const& d, sqs::send_message_entry const& copy, std::string const& to)
{
    auto const key = copy.deduplication_id.value_or(std::string());
    auto const before = doubt_about(d.id());
    auto const is_swallowed = [&] {
        auto const since = service_time() - before->since;
        return !key.empty() && key == before->key && to == before->queue && since >= 0s && since < repeat_time;
    };
    auto const twice = before && !is_swallowed();
    if (twice) {
        ++told_.maybe_twice;
        doubts_.erase(std::string(d.id()));
        say(log_level::warning, d.id(), "sent again: it may have been sent before");
    }
    note(event_kind::sending, &d, [&](event& e) {
        e.queue = to;
        e.key = key;
        e.maybe_twice = twice;
    });
}

/// A copy that may be in a FIFO queue is in doubt: for five minutes the queue takes no second one with the same
/// deduplication id, and after that it does.
void redriver::state::note_end_of_send(delivery const& d, sqs::send_message_entry const& copy, std::string const& to,
    wall_time began, result<sqs::send_message_response> const& end)
{
    std::string const id(d.id());
    if (end) {
        doubts_.erase(id);
        note(event_kind::sent, &d, [&](event& e) {
            e.new_id = end->message_id;
            e.sequence = end->sequence_number;
        });
        return;
    }
    auto const fifo = to.ends_with(".fifo");
    auto const may_be = may_be_there(end.error());
    if (may_be && fifo && !o_.record)
        doubts_.try_emplace(id, doubt{to, copy.deduplication_id.value_or(std::string()), began});
    note(event_kind::send_failed, &d, [&](event& e) {
        e.reason = describe(end.error());
        e.maybe_twice = may_be && !fifo;
        e.in_doubt = may_be && fifo;
    });
}

std::optional<redriver::state::doubt> redriver::state::doubt_about(std::string_view id) const
{
    if (auto const* const known = recorded(id)) {
        if (!known->in_doubt) return {};
        return doubt{known->queue, known->key, known->sending_at};
    }
    auto const at = doubts_.find(std::string(id));
    return at == doubts_.end() ? std::nullopt : std::optional(at->second);
}

bool redriver::state::record_awaits() const
{
    return o_.record && o_.record->book().awaits(service_time() - 2 * o_.visibility_timeout);
}

void redriver::state::look_for_cancel()
{
    if (!o_.record || time_.now() < cancel_looked_at_ + cancel_every) return;
    cancel_looked_at_ = time_.now();
    told_.cancelled = o_.record->is_cancelled();
    // What no send waits for is kept here.
    if (o_.record->flushed() < o_.record->book().last_id()) (void)o_.record->flush();
    ends_when_broken();
}

/// A message that was waited for and is not in the queue any more was deleted, if it had been sent; else it is gone.
/// Where nobody knows whether it was sent, it stays so.
void redriver::state::end_record()
{
    if (!o_.record) return;
    told_.cancelled = told_.cancelled || o_.record->is_cancelled();
    auto const blocks_groups = o_.dlq_url.ends_with(".fifo") && !hidden_.empty();
    auto const nothing_there = is_finished_ && !has_enough() && told_.elsewhere == 0;
    std::vector<std::pair<std::string, stage>> open;
    for (auto const& [id, one] : o_.record->book().messages())
        if (one.where != stage::done && one.where != stage::left && !one.is_unknown())
            open.emplace_back(id, one.where);
    std::ranges::sort(open);
    for (auto const& [id, where] : open) {
        if (!nothing_there || hidden_.contains(id)) continue;
        // A message of the group that was sent would have come before what is hidden.
        if (blocks_groups && where != stage::sent) continue;
        event e;
        e.message = id;
        e.kind = where == stage::sent ? event_kind::deleted : event_kind::left;
        e.reason = "it is not in the queue any more";
        o_.record->write(std::move(e), service_time());
        if (where == stage::sent && unconfirmed_.erase(id) != 0) ++told_.deleted;
        if (where != stage::sent) ++told_.left;
    }
    auto const counts = o_.record->book().counts();
    told_.waiting = counts.waiting;
    told_.unknown = counts.unknown;
    if (told_.cancelled)
        note(event_kind::cancelled, nullptr, [](event& e) { e.reason = "on request"; });
    else if (told_.stopped)
        note(event_kind::stopped, nullptr, [this](event& e) { e.reason = *told_.stopped; });
    else if (is_finished_ && counts.undeleted == 0) // else it is to be resumed
        note(event_kind::succeeded, nullptr);
    auto const kept = o_.record->flush();
    if (kept) return;
    told_.journal_failed = true;
    if (!told_.stopped) told_.stopped = "the journal cannot be written: " + describe(kept.error());
}

} // namespace quern::redrive
