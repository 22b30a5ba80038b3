#include <quern/consumer/detail/conclude/conclude_stage.hpp>
#include <quern/consumer/detail/conclude/thrown.hpp>
#include <quern/consumer/detail/settle/settle_stage.hpp>

#include <utility>

namespace quern::detail {

using life = message_life;
using sign = gate::news::sign;
using way = gate::answer::way;

namespace {

/// When a head that failed is late by so much, another consumer has it: postponing takes up to a second, receiving
/// less.
constexpr std::chrono::seconds grace_of_head{5};

handler_end how_it_ended(finished const& end, life const& its)
{
    if (end.destroyed) return handler_end::cancelled;
    if (!end.thrown) return end.said ? handler_end::returned : handler_end::called_off;
    if (its.is_overdue()) return handler_end::timed_out;
    if (its.is_cancelled()) return handler_end::cancelled;
    return is_parse_error(end.thrown) ? handler_end::unreadable : handler_end::threw;
}

/// News in what a handler said about what it needs.
gate::news news_of(outcome const& said)
{
    if (said.tells() == outcome::news::none) return {};
    if (said.tells() == outcome::news::bad) return {sign::failed, {}};
    if (said.tells() == outcome::news::down) return {sign::down, {}};
    switch (said.what()) {
    case outcome::kind::ack: return {sign::good, {}};
    case outcome::kind::retry: return {sign::failed, {}};
    case outcome::kind::unavailable: return {sign::down, said.dependency()};
    case outcome::kind::retry_after:
    case outcome::kind::release:
    case outcome::kind::reject: break;
    }
    return {};
}

} // namespace

void conclude_stage::ended(finished&& end, tick now)
{
    auto h = std::move(end.what);
    auto& its = h->life;
    auto const has_run = end.has_run();
    auto const how = line_.watcher ? how_it_ended(end, its) : handler_end::returned;
    if (line_.watcher && has_run && h->ended_at == held::not_begun) // it came home before its begin was told
        line_.note_begun(*h);
    auto const was_cancelled = end.destroyed || (end.thrown && its.is_cancelled() && !its.was_lost());
    if (line_.ending && has_run) ++(was_cancelled ? line_.report.cancelled : line_.report.finished);
    if (its.is_deleted_by_handler()) {
        line_.note_ended(*h, how, end.said ? end.said->what() : outcome::kind::retry, now);
        return ended_after_ack(h, end, now);
    }

    auto const over = h->message.lease_deadline() <= now; // another consumer may have the message
    auto const was_destroyed = end.destroyed;
    auto const has_spoken = has_run && !was_destroyed && !(end.thrown && its.is_cancelled());
    auto const what = has_spoken && !over ? meaning_of_end(*h, std::move(end)) : meaning::nothing();
    line_.note_ended(*h, how, what.said.what(), now);
    if (over) carry_out(h, its.on(life::event::lease_lost), now);
    auto const todo = its.on(life::event::end);
    auto const goes = its.is(life::state::gone);
    auto const where =
        what.is_news && !goes && !(todo & life::release) ? tell_gate(*h, news_of(what.said), now) : gate::answer();
    carry_out(h, todo, now);
    if (goes) return;
    if (was_destroyed && !line_.ending) return try_after_its_destruction(std::move(h), now);
    if (todo & life::release) return give_back(h, now); // received again since its lease was lost
    if (!has_spoken) {                                  // called off, or cancelled by the drain
        if (line_.ending) return give_back(std::move(h), now);
        its.on(life::event::keep);
        return line_.again.push_back(std::move(h));
    }
    note(*h, what, now);
    conclude(std::move(h), what.said, now, where, what.malformed);
}

/// Puts off a message that has not failed; nobody knows whether its next handler finds what it waits for.
void conclude_stage::try_after_its_destruction(held_ptr h, tick now)
{
    line_.log.write(log_level::warning, "handler destroyed",
        std::string(h->message.id()) + ": with the context that it waited on; its message comes again", now);
    auto const delay = line_.options.backoff.delay(h->message.receive_count(), line_.random);
    postpone(std::move(h), delay, now);
}

/// Whatever it says after it has asked for the delete comes too late.
void conclude_stage::ended_after_ack(held_ptr const& h, finished const& end, tick now)
{
    gate::news about_it;
    if (end.said) about_it = news_of(*end.said);
    if (end.thrown && !h->life.is_cancelled()) {
        line_.log.write(log_level::warning, "handler failed after its ack", std::string(h->message.id()), now);
        if (!is_parse_error(end.thrown)) about_it.what = sign::failed;
    }
    tell_gate(*h, about_it, now); // which may think that it waits here, until it is due
    carry_out(h, h->life.on(life::event::end), now);
}

meaning conclude_stage::meaning_of_end(held const& h, finished&& end)
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

void conclude_stage::damaged(held_ptr h, failure const& why, tick now)
{
    auto const its = meaning_of_malformed(describe(why), h->message.body(), line_.options);
    note(*h, its, now);
    conclude(std::move(h), its.said, now, {}, true);
}

void conclude_stage::note(held const& h, meaning const& what, tick now)
{
    if (what.cause) line_.log.write(what.level, what.cause, std::string(h.message.id()) + ": " + what.text, now);
}

gate::answer conclude_stage::tell_gate(held const& h, gate::news const& what, tick now)
{
    if (what.what != sign::none) line_.found_down = what.what == sign::down;
    return line_.gate->ended(line_.subject_of(h), what, now);
}

void conclude_stage::carry_out(held_ptr const& h, life::actions todo, tick now)
{
    if (todo == life::none) return;
    auto const later = static_cast<life::actions>(todo & life::cancel);
    line_.carry_out(h, static_cast<life::actions>((todo & ~for_earlier_stages) | later), now);
    heed(h, todo, now);
}

void conclude_stage::heed(held_ptr const& h, life::actions todo, tick now)
{
    if (todo & life::give_back_tail) give_back_tail(*h, now);
    if (todo & life::leave_group) groups_.leave(*h);
    if (todo & life::send_delete) settle_.remove_early(h, now);
    if (todo & life::try_later)
        postpone(h, line_.options.backoff.delay(h->message.receive_count(), line_.random), now);
}

void conclude_stage::conclude(held_ptr h, outcome const& said, tick now, gate::answer const& where, bool malformed)
{
    if (said.what() == outcome::kind::ack) {
        if (line_.fifo && !malformed)
            groups_.leave(*h); // one that nobody has handled holds its group as a rejected one does
        return settle_.remove(std::move(h), now);
    }
    if (said.what() == outcome::kind::unavailable) {
        line_.log.write(log_level::warning, "unavailable",
            std::string(h->message.id()) + ": what its handler needs is down", now);
        if (line_.ending) return give_back(std::move(h), now);
    }
    auto its = circumstances_of(*h);
    if (said.what() == outcome::kind::release || said.what() == outcome::kind::retry_after)
        its.was_just_back = given_back_.add(h->id_hash, now);
    auto what = verdict_of(said, its, line_.options, line_.random);
    if (what.what == verdict::kind::remove) return settle_.remove(std::move(h), now);
    if (what.what == verdict::kind::reject) return reject(std::move(h), what.reason, now);
    if (what.halts) {
        line_.log.write(log_level::error, "halted",
            std::string(h->message.id()) + ": the head of its group failed; the consumer drains", now);
        line_.halt();
    }
    if (where.to == way::wait_here && !line_.ending) return wait_here(std::move(h), now);
    if (where.to == way::go_back && !line_.ending) { // else its own backoff holds, and nothing longer
        auto back = where;
        if (said.what() != outcome::kind::unavailable) back.delay = std::max(back.delay, what.delay);
        return stand_back(std::move(h), back, now);
    }
    if (said.what() == outcome::kind::unavailable) ages_.put_off(*h, what.delay);
    postpone(std::move(h), what.delay, now, what.waits_for_head);
}

/// Holds the message's group until the hand-off is confirmed: until then the message may come again.
void conclude_stage::reject(held_ptr h, std::string reason, tick now)
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

circumstances conclude_stage::circumstances_of(held const& h)
{
    circumstances out;
    out.receive_count = h.message.receive_count();
    out.now = line_.time.wall();
    out.fifo = line_.fifo;
    out.age = ages_.of(h);
    return out;
}

/// The tail of its group waits here too, as long as that leaves half of the places to others.
void conclude_stage::wait_here(held_ptr h, tick now)
{
    if (!h->life.is(life::state::waiting)) h->life.on(life::event::keep);
    if (line_.fifo && !has_places_for_tails()) give_back_tail(*h, now, true);
    h->in_trouble().waits_since = now;
    auto const number = line_.subject_of(*h).number;
    line_.waits_here.insert_or_assign(number, std::move(h));
}

/// Puts off a message that has not failed, so its age does not matter.
void conclude_stage::stand_back(held_ptr h, gate::answer const& where, tick now)
{
    if (line_.ending) return give_back(std::move(h), now);
    if (where.spilled) note_spilled(*h, now);
    ages_.put_off(*h, where.delay);
    postpone(std::move(h), where.delay, now, where.delay <= longest_wait_for_head, true);
}

void conclude_stage::note_spilled(held const& h, tick now)
{
    ++line_.counters.spilled;
    line_.log.write(log_level::error, "spilled",
        std::string(h.message.id()) +
            ": on its last receive, and what it needs is down: too many such wait here, the dead-letter queue takes "
            "it",
        now);
}

/// It comes back, and whatever stands behind it in its group waits for it: here after a short pause, where there is
/// room.
void conclude_stage::postpone(
    held_ptr h, std::chrono::milliseconds delay, tick now, bool waits_for_head, bool in_outage)
{
    if (waits_for_head && line_.fifo && !line_.ending && has_places_for_tails()) {
        groups_.await(*h, now + delay + grace_of_head,
            line_.is_last_receive(*h) ? fifo_groups::head::dies : fifo_groups::head::returns);
    } else {
        give_back_tail(*h, now, in_outage);
        groups_.leave(*h);
    }
    settle_.postpone(std::move(h), now, delay);
}

/// Half of the places are for other groups, and for the heads.
bool conclude_stage::has_places_for_tails() const
{
    return 2 * line_.in_flight.size() <= line_.limits.max_in_flight && line_.bytes_room() != 0;
}

void conclude_stage::give_back_tail(held const& head, tick now, bool in_outage)
{
    for (auto& h : groups_.take_tail(head)) {
        if (in_outage && line_.is_last_receive(*h)) note_spilled(*h, now);
        settle_.postpone(std::move(h), now);
    }
}

std::optional<tick> conclude_stage::give_back_forsaken(tick now)
{
    for (auto& h : groups_.take_forsaken(now))
        settle_.postpone(std::move(h), now);
    return groups_.wake_at();
}

void conclude_stage::begin_drain(tick now)
{
    ages_.stand_back(true);
    for (auto& h : groups_.take_waiting())
        settle_.postpone(std::move(h), now);
}

} // namespace quern::detail
