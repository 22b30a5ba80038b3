// What handlers come home with: the verdict, and what follows from it.

#include <quern/consumer/detail/dispatch/dispatch_stage.hpp>
#include <quern/consumer/detail/message/thrown.hpp>
#include <quern/consumer/detail/settle/settle_stage.hpp>

#include <utility>

namespace quern::detail {

using life = message_life;

namespace {

/// When a head that failed is late by so much, another consumer has it: postponing takes up to a second, receiving
/// less.
constexpr std::chrono::seconds grace_of_head{5};

} // namespace

void dispatch_stage::welcome()
{
    auto const time = line_.now();
    heed_notices(time); // a head that has lost its lease must not leave its group to those behind it
    look_at_welcomed(time);
    welcomed_.clear();
    looked_at_ = 0;
    door_->take(welcomed_);
    look_at_welcomed(time);
}

/// One that throws must not take the others with it: the next welcome() goes on behind it.
void dispatch_stage::look_at_welcomed(tick now)
{
    while (looked_at_ != welcomed_.size())
        ended(std::move(welcomed_[looked_at_++]), now);
}

/// Whatever it received from now on could only be given back.
void dispatch_stage::no_place()
{
    if (line_.ending) return;
    line_.gave_up = failure(errc::stopped, "the context of handler_executor has ended");
    line_.log.write(log_level::error, "gave up", line_.gave_up->message + "; the consumer drains", line_.now());
    line_.halt();
}

void dispatch_stage::has_begun(held_ptr h)
{
    if (h->life.is_running() && !h->run_hook::is_linked()) note_begun(*h, h->started_at);
}

void dispatch_stage::delete_asked(held_ptr h, reply tell)
{
    settle_.delete_asked(std::move(h), std::move(tell));
}

void dispatch_stage::extend_asked(held_ptr h, std::chrono::seconds at_least, reply tell)
{
    settle_.extend_asked(std::move(h), at_least, std::move(tell));
}

void dispatch_stage::guard_asked(held_ptr h, std::shared_ptr<lease_guard> guard, reply tell)
{
    settle_.guard_asked(std::move(h), std::move(guard), std::move(tell));
}

namespace {

handler_end how_it_ended(finished const& end, life const& its)
{
    if (end.destroyed) return handler_end::cancelled;
    if (!end.thrown) return end.said ? handler_end::returned : handler_end::called_off;
    if (its.is_overdue()) return handler_end::timed_out;
    if (its.is_cancelled()) return handler_end::cancelled;
    return is_parse_error(end.thrown) ? handler_end::unreadable : handler_end::threw;
}

} // namespace

void dispatch_stage::ended(finished&& end, tick now)
{
    auto h = std::move(end.what);
    auto& its = h->life;
    if (--line_.running == 0) place_.keep_busy(false);
    run_limit::ended(*h);
    if (h->asks) h->asks->guard.reset();
    auto const has_run = end.thrown || end.said || end.destroyed;
    auto const how = line_.watcher ? how_it_ended(end, its) : handler_end::returned;
    if (line_.watcher && has_run && h->ended_at == held::not_begun) // it came home before its begin was told
        line_.note_begun(*h);
    auto const run = std::move(h->run);
    if (run && takes_batches() && --static_cast<batch_run&>(*run).away == 0) --batch_calls_;
    if (!has_run && run) { // the rest of its batch goes on without it
        --run->messages;
        if (its.is_told()) --run->told;
        tell_when_all_say_so(run);
    }
    auto const was_cancelled = end.destroyed || (end.thrown && its.is_cancelled() && !its.was_lost());
    if (line_.ending && has_run) ++(was_cancelled ? line_.report.cancelled : line_.report.finished);
    line_.wake.ring();
    if (its.is_deleted_by_handler()) {
        line_.note_ended(*h, how, end.said ? end.said->what() : outcome::kind::retry, now);
        return ended_after_ack(h, end, now);
    }

    auto const over = h->message.lease_deadline() <= now; // another consumer may have the message
    auto const was_destroyed = end.destroyed;
    auto const has_spoken = has_run && !was_destroyed && !(end.thrown && its.is_cancelled());
    auto const what = has_spoken && !over ? meaning_of_end(*h, std::move(end)) : meaning::nothing();
    line_.note_ended(*h, how, what.said.what(), now);
    outage_.ended(*h, what.is_news ? outage::news_of(what.said) : outage::news(), now);
    if (over) carry_out(h, its.on(life::event::lease_lost), now);
    auto const todo = its.on(life::event::end);
    carry_out(h, todo, now);
    if (its.is(life::state::gone)) return;
    if (was_destroyed && !line_.ending) return try_after_its_destruction(std::move(h), now);
    if (todo & life::release) return give_back(h, now); // received again since its lease was lost
    if (!has_spoken) return stand_back(h, now);         // called off, or cancelled by the drain
    note(*h, what, now);
    conclude(std::move(h), what.said, now, what.malformed);
}

/// It has not failed, and nobody knows whether the next one finds what it waits for.
void dispatch_stage::try_after_its_destruction(held_ptr h, tick now)
{
    line_.log.write(log_level::warning, "handler destroyed",
        std::string(h->message.id()) + ": with the context that it waited on; its message comes again", now);
    auto const delay = line_.options.backoff.delay(h->message.receive_count(), line_.random);
    postpone(std::move(h), delay, now);
}

/// Whatever it says after it has asked for the delete comes too late.
void dispatch_stage::ended_after_ack(held_ptr const& h, finished const& end, tick now)
{
    outage::news about_it;
    if (end.said) about_it = outage::news_of(*end.said);
    if (end.thrown && !h->life.is_cancelled()) {
        line_.log.write(log_level::warning, "handler failed after its ack", std::string(h->message.id()), now);
        if (!is_parse_error(end.thrown)) about_it.what = outage::sign::bad;
    }
    outage_.ended(*h, about_it, now);
    carry_out(h, h->life.on(life::event::end), now);
}

meaning dispatch_stage::meaning_of_end(held const& h, finished&& end)
{
    if (end.thrown) {
        auto out = meaning_of(end.thrown, h.life.is_overdue(), line_.options);
        if (!out.malformed) return out;
        ++line_.counters.malformed;
        return meaning_of_malformed(out.text, h.message.body(), line_.options);
    }
    meaning out;
    out.said = *std::move(end.said);
    return out;
}

void dispatch_stage::note(held const& h, meaning const& what, tick now)
{
    if (what.cause) line_.log.write(what.level, what.cause, std::string(h.message.id()) + ": " + what.text, now);
}

/// Carries out what an event asks for, our own part at once.
void dispatch_stage::carry_out(held_ptr const& h, life::actions todo, tick now)
{
    if (todo == life::none) return;
    line_.carry_out(h, static_cast<life::actions>(todo & ~for_dispatch), now);
    heed(h, todo, now);
}

void dispatch_stage::heed(held_ptr const& h, life::actions todo, tick now)
{
    if (todo & life::give_back_tail) give_back_tail(*h, now);
    if (todo & life::leave_group) groups_.leave(*h);
    if (todo & life::cancel) cancel(*h);
    if (todo & life::send_delete) settle_.remove_early(h, now);
    if (todo & life::try_later)
        postpone(h, line_.options.backoff.delay(h->message.receive_count(), line_.random), now);
}

void dispatch_stage::conclude(held_ptr h, outcome const& said, tick now, bool malformed)
{
    if (said.what() == outcome::kind::ack) {
        if (line_.fifo && !malformed)
            groups_.leave(*h); // one that nobody has handled holds its group as a rejected one does
        return settle_.remove(std::move(h), now);
    }
    auto const what = verdict_of(said, circumstances_of(*h), line_.options, line_.random);
    switch (what.what) {
    case verdict::kind::remove: return settle_.remove(std::move(h), now);
    case verdict::kind::reject: return reject(std::move(h), what.reason, now);
    case verdict::kind::stand_back: return found_down(std::move(h), said, now);
    case verdict::kind::postpone: break;
    }
    if (what.halts) {
        line_.log.write(log_level::error, "halted",
            std::string(h->message.id()) + ": the head of its group failed; the consumer drains", now);
        line_.halt();
    }
    postpone(std::move(h), what.delay, now, what.waits_for_head);
}

/// The message's group goes on only when the hand-off is confirmed: until then the message may come again.
void dispatch_stage::reject(held_ptr h, std::string reason, tick now)
{
    if (!line_.rejected_go_to) {
        line_.log.write(log_level::warning, "not rejected",
            std::string(h->message.id()) + ": " + reason +
                "; put off until it is known whether the queue has a dead-letter queue",
            now);
        auto const delay = line_.options.backoff.delay(h->message.receive_count(), line_.random);
        return postpone(std::move(h), delay, now, delay <= longest_wait_for_head);
    }
    if (line_.rejected_go_to->empty()) return settle_.discard(std::move(h), std::move(reason), now);
    settle_.hand_off(std::move(h), std::move(reason), now);
}

circumstances dispatch_stage::circumstances_of(held const& h)
{
    circumstances out;
    out.receive_count = h.message.receive_count();
    out.now = line_.time.wall();
    out.fifo = line_.fifo;
    if (line_.options.max_age.count() == 0) return out;
    auto const time = service_time();
    auto const first = h.message.first_received_at().value_or(time);
    auto const not_tried = age_book::stood_back(
        first, time, {&ages_, &book_of(h), &outage_.ages_of_gone(), &waits_.known(owner_of_waits(h))});
    out.age = std::chrono::floor<std::chrono::milliseconds>(time - first) - not_tried;
    return out;
}

void dispatch_stage::found_down(held_ptr h, outcome const& said, tick now)
{
    line_.log.write(
        log_level::warning, "unavailable", std::string(h->message.id()) + ": what its handler needs is down", now);
    if (line_.ending) return give_back(std::move(h), now);
    auto const back = outage_.found_down(h, outage::news_of(said), now);
    if (!back) return wait_here(*h, now);
    if (line_.options.max_age.count() != 0) {
        // After an outage of another dependency it comes back as one that depends on its own.
        auto& book = !back->stood_back ? waits_.of(owner_of_waits(*h), service_time())
            : said.dependency()        ? ages_
                                       : book_of(*h);
        book.add(service_time(), service_time() + back->delay);
    }
    put_off(std::move(h), *back, now);
}

/// A head that is put off holds up its group, which grows no older by that either.
std::uint64_t dispatch_stage::owner_of_waits(held const& h) const
{
    return std::hash<std::string_view>()(line_.fifo ? h.message.group() : h.message.id());
}

/// The tail of its group waits here too, as long as that leaves half of the places to others.
void dispatch_stage::wait_here(held const& head, tick now)
{
    if (line_.fifo && !has_places_for_tails()) give_back_tail(head, now, true);
}

void dispatch_stage::note_spilled(held const& h, tick now)
{
    ++line_.counters.spilled;
    line_.log.write(log_level::error, "spilled",
        std::string(h.message.id()) +
            ": on its last receive, and what it needs is down: too many such wait here, the dead-letter queue takes "
            "it",
        now);
}

/// It has not failed, so its age is no matter.
void dispatch_stage::put_off(held_ptr h, outage::way_back const& back, tick now)
{
    if (back.spilled) note_spilled(*h, now);
    postpone(std::move(h), back.delay, now, back.delay <= longest_wait_for_head, back.stood_back);
}

/// It comes back, and whatever stands behind it in its group waits for it: here after a short pause, where there is
/// room.
void dispatch_stage::postpone(
    held_ptr h, std::chrono::milliseconds delay, tick now, bool waits_for_head, bool in_outage)
{
    if (waits_for_head && line_.fifo && !line_.ending && has_places_for_tails()) {
        groups_.await(*h, now + delay + grace_of_head,
            outage_.is_last_receive(*h) ? fifo_groups::head::dies : fifo_groups::head::returns);
    } else {
        give_back_tail(*h, now, in_outage);
        groups_.leave(*h);
    }
    settle_.postpone(std::move(h), now, delay);
}

/// Half of the places are for other groups, and for the heads.
bool dispatch_stage::has_places_for_tails() const
{
    return 2 * line_.in_flight.size() <= line_.limits.max_in_flight && line_.bytes_room() != 0;
}

void dispatch_stage::give_back_tail(held const& head, tick now, bool in_outage)
{
    for (auto& h : groups_.take_tail(head)) {
        if (in_outage && outage_.is_last_receive(*h)) note_spilled(*h, now);
        settle_.postpone(std::move(h), now);
    }
}

} // namespace quern::detail
