#include <quern/consumer/client_options.hpp>
#include <quern/consumer/detail/settle/poison_copy.hpp>
#include <quern/consumer/detail/settle/settle_stage.hpp>
#include <quern/core/detail/random_part.hpp>
#include <quern/sqs/batch.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace quern::detail {

namespace asio = boost::asio;
using std::chrono::seconds;
using life = message_life;
using purpose = settlement::purpose;

settle_stage::settle_stage(stage_context& c)
    : context_(c),
      queue_(c.options.settle.linger.value_or(std::chrono::milliseconds(0)), c.options.visibility_timeout,
          client_options_for(c.options).request_timeout, seeded(c.options.seed))
{}

void settle_stage::queue(held_ptr h, purpose why, tick now, seconds timeout)
{
    queue_.add({std::move(h), why, timeout}, now);
    context_.wake.ring();
}

void settle_stage::remove(held_ptr h, tick now)
{
    h->life.on(life::event::remove);
    queue(std::move(h), purpose::remove, now);
}

void settle_stage::remove_early(held_ptr h, tick now)
{
    queue(std::move(h), purpose::remove, now);
}

void settle_stage::hand_off(held_ptr h, std::string reason, tick now)
{
    h->in_trouble().reason = std::move(reason);
    h->life.on(life::event::hand_off);
    queue(std::move(h), purpose::hand_off, now);
}

void settle_stage::discard(held_ptr h, std::string reason, tick now)
{
    h->in_trouble().reason = std::move(reason);
    h->life.on(life::event::discard);
    queue(std::move(h), purpose::remove, now);
}

void settle_stage::extend(held_ptr h, seconds timeout, tick now)
{
    if (!h->asks || !h->asks->guard) return queue(std::move(h), purpose::extend, now, timeout);
    if (!std::exchange(h->asks->guard_at_work, true)) context_.spawn(extend_as_agreed(std::move(h), timeout));
}

void settle_stage::postpone(held_ptr h, tick now, std::chrono::milliseconds delay)
{
    if (h->life.is(life::state::gone)) return; // its lease was lost in this turn, and its group has not heard of it
    auto const timeout = delay.count() == 0 ? seconds(0) : context_.whole_seconds(*h, delay, now);
    if (timeout.count() == 0 && context_.keeps_back(now)) { // a receive of ours would only bring it back
        h->life.on(life::event::keep_back);
        kept_back_.push_back(std::move(h));
        context_.wake.ring();
        return;
    }
    h->life.on(life::event::postpone);
    if (h->life.is(life::state::giving_back_later))
        h->postponed = timeout;
    else
        queue(std::move(h), purpose::postpone, now, timeout);
}

std::optional<tick> settle_stage::turn(tick now, bool more_to_come)
{
    if (!context_.keeps_back(now)) {
        for (auto& h : std::exchange(kept_back_, {}))
            if (h->life.is(life::state::kept_back)) postpone(std::move(h), now);
    }
    while (calls_ < context_.options.settle.max_calls) {
        auto due = queue_.take(now, more_to_come, only_changes());
        if (!due) break;
        ++calls_;
        switch (due->what) {
        case settle_queue::call::remove: context_.spawn(send_deletes(std::move(due->entries))); break;
        case settle_queue::call::hand_off: context_.spawn(send_copies(std::move(due->entries))); break;
        case settle_queue::call::change:
            ++change_calls_;
            context_.spawn(send_changes(std::move(due->entries)));
            break;
        }
    }
    if (calls_ >= context_.options.settle.max_calls) return {};
    return queue_.wake_at(only_changes());
}

namespace {

/// Records the receipt handle that this entry is sent with, and returns it.
std::string_view handle_of(settlement& entry)
{
    entry.handle = entry.what->handles;
    return entry.what->handle;
}

} // namespace

asio::awaitable<void> settle_stage::send_deletes(std::vector<settlement> entries)
{
    std::vector<std::string> handles;
    handles.reserve(entries.size());
    for (auto& e : entries)
        handles.emplace_back(handle_of(e));
    auto const sent_at = context_.now();
    auto const answers = co_await sqs::delete_batch(context_.api, context_.queue_url, std::move(handles));
    auto const time = context_.now();
    context_.note_call(time - sent_at);
    for (std::size_t i = 0; i < entries.size(); ++i)
        answered(std::move(entries[i]), answers[i], sent_at, time);
    returned();
}

asio::awaitable<void> settle_stage::send_changes(std::vector<settlement> entries)
{
    auto const sent_at = context_.now();
    std::erase_if(entries, [&](settlement const& e) { // its message may be another consumer's by now
        auto const over = e.why == purpose::postpone && e.what->message.lease_deadline() <= sent_at;
        if (over) context_.carry_out(e.what, e.what->life.on(life::event::postpone_refused), sent_at);
        return over;
    });
    std::vector<sqs::change_visibility_entry> changes;
    for (auto& e : entries) {
        if (e.why == purpose::extend) e.what->life.extension_sent();
        e.timeout =
            std::min(e.timeout, context_.whole_seconds(*e.what, e.timeout, sent_at)); // the horizon has come nearer
        changes.emplace_back(std::string(), std::string(handle_of(e)), e.timeout);
    }
    auto const answers = co_await sqs::change_visibility_batch(context_.api, context_.queue_url, std::move(changes));
    auto const time = context_.now();
    context_.note_call(time - sent_at);
    for (std::size_t i = 0; i < entries.size(); ++i)
        answered(std::move(entries[i]), answers[i], sent_at, time);
    --change_calls_;
    returned();
}

asio::awaitable<void> settle_stage::send_copies(std::vector<settlement> entries)
{
    auto const to = context_.rejected_go_to.value_or(std::string());
    if (to.empty()) { // the policy that named it is gone since
        for (auto& e : entries)
            context_.carry_out(e.what, e.what->life.on(life::event::hand_off_impossible), context_.now());
        co_return returned();
    }
    poison_copies copies(context_.queue_url, to);
    for (auto& e : entries) {
        handle_of(e);
        copies.add(*e.what);
    }
    auto entry = entries.begin();
    for (auto& part : copies.take()) { // of large messages not all fit into a request
        auto const sent_at = context_.now();
        auto const answers = co_await sqs::send_batch(context_.api, to, std::move(part));
        auto const time = context_.now();
        for (auto const& sent : answers) {
            result<void> const said = sent ? result<void>() : result<void>(sent.error());
            answered(std::move(*entry++), said, sent_at, time);
        }
        if (context_.ended) break; // nobody may use the api any more
    }
    returned();
}

void settle_stage::returned()
{
    ++context_.counters.settle_calls;
    --calls_;
    context_.wake.ring();
}

void settle_stage::answered(settlement entry, result<void> const& answer, tick sent_at, tick time)
{
    auto const& h = entry.what;
    auto& its = h->life;
    auto const crossed_its_end = entry.why == purpose::extend && (its.wants_delete() || !its.wants_extension());
    if (!answer && !crossed_its_end) {
        context_.log.write(log_level::warning, "settlement failed",
            (entry.why == purpose::hand_off ? context_.rejected_go_to.value_or("") : context_.queue_url) + ": " +
                describe(answer.error()),
            time);
    }
    auto const verdict = judge(entry, answer, time);
    auto const moved_on = [&](life::event e) { context_.carry_out(h, its.on(e), time); };
    switch (entry.why) {
    case purpose::extend: return extension_answered(std::move(entry), verdict, sent_at, time);
    case purpose::hand_off:
        if (!answer && !answer.error().retryable) return moved_on(life::event::hand_off_impossible);
        if (verdict == settled::lost) return moved_on(life::event::hand_off_refused);
        if (verdict == settled::again || its.is(life::state::gone)) break;
        moved_on(life::event::discard);
        return queue(h, purpose::remove, time);
    case purpose::remove:
        if (verdict == settled::again) break;
        return moved_on(verdict == settled::done ? life::event::delete_done : life::event::delete_refused);
    case purpose::postpone:
        if (verdict == settled::again) break;
        if (verdict == settled::lost) return moved_on(life::event::postpone_refused);
        h->postponed = entry.timeout;
        return moved_on(life::event::postpone_done);
    }
    if (!its.is(life::state::gone)) queue_.add_again(std::move(entry), time);
}

void settle_stage::extension_answered(settlement entry, settled verdict, tick sent_at, tick time)
{
    auto const h = entry.what;
    auto& its = h->life;
    auto const todo = its.on(life::event::extension_answered);
    if (its.is(life::state::gone)) return;
    if (verdict == settled::done && entry.has_newest_handle() && its.is_held()) {
        ++context_.counters.extended;
        context_.leases.extended(*h, sent_at, entry.timeout);
        context_.observe(*h, time, &observer::lease_extended, entry.timeout);
        extended(h, entry.timeout, time);
    } else if (verdict == settled::done) { // of a handle that is no longer the newest, whose lease may be due by now
        auto const asked = h->asks ? h->asks->lease : seconds(0);
        if (its.is_held() && its.wants_extension() && context_.leases.is_due(*h, time))
            extend(h, std::max(context_.options.visibility_timeout, asked), time);
        else
            extend_as_asked(h, time);
    }
    auto const its_delete_decides = its.is_deleted_by_handler() || its.is_deleted();
    auto const refused = verdict == settled::lost && entry.has_newest_handle() && !its_delete_decides;
    if (refused) context_.leases.refused(*h, time); // nor is it postponed then
    if (todo & life::send_postpone)
        queue(h, purpose::postpone, time, h->postponed);
    else if (verdict == settled::again)
        queue_.add_again(std::move(entry), time);
    else if (refused)
        context_.carry_out(h, its.on(life::event::lease_lost), time);
}

} // namespace quern::detail
