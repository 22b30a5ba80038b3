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
    auto const how = context_.watcher ? how_it_ended(end, its) : handler_end::returned;
    if (context_.watcher && has_run && h->ended_at == held::not_begun) // it came home before its begin was told
        context_.note_begun(*h);
    auto const was_cancelled = end.destroyed || (end.thrown && its.is_cancelled() && !its.was_lost());
    if (context_.ending && has_run) ++(was_cancelled ? context_.report.cancelled : context_.report.finished);
    if (its.is_deleted_by_handler()) {
        context_.note_ended(*h, how, end.said ? *end.said : outcome(), {}, now);
        return ended_after_ack(h, end, now);
    }

    auto const over = h->message.lease_deadline() <= now; // another consumer may have the message
    auto const was_destroyed = end.destroyed;
    auto const has_spoken = has_run && !was_destroyed && !(end.thrown && its.is_cancelled());
    auto const what = has_spoken && !over ? meaning_of_end(*h, std::move(end)) : meaning::nothing();
    context_.note_ended(*h, how, what.said, what.text, now);
    if (over) carry_out(h, its.on(life::event::lease_lost), now);
    auto const todo = its.on(life::event::end);
    auto const goes = its.is(life::state::gone);
    auto const from_gate =
        what.is_news && !goes && !(todo & life::release) ? tell_gate(*h, news_of(what.said), now) : gate::answer();
    carry_out(h, todo, now);
    if (goes) return;
    if (was_destroyed && !context_.ending) return try_after_its_destruction(std::move(h), now);
    if (todo & life::release) return give_back(h, now); // received again since its lease was lost
    if (!has_spoken) {                                  // called off, or cancelled by the drain
        if (context_.ending) return give_back(std::move(h), now);
        its.on(life::event::keep);
        return context_.again.push_back(std::move(h));
    }
    conclude(std::move(h), what, now, from_gate);
}

/// Puts off a message that has not failed; nobody knows whether its next handler finds what it waits for.
void conclude_stage::try_after_its_destruction(held_ptr h, tick now)
{
    context_.log.write(log_level::warning, "handler destroyed",
        std::string(h->message.id()) + ": with the context that it waited on; its message comes again", now);
    auto const delay = context_.options.backoff.delay(h->message.receive_count(), context_.random);
    postpone(std::move(h), delay, now);
}

/// Whatever it says after it has asked for the delete comes too late.
void conclude_stage::ended_after_ack(held_ptr const& h, finished const& end, tick now)
{
    gate::news about_it;
    if (end.said) about_it = news_of(*end.said);
    if (end.thrown && !h->life.is_cancelled()) {
        context_.log.write(log_level::warning, "handler failed after its ack", std::string(h->message.id()), now);
        if (!is_parse_error(end.thrown)) about_it.what = sign::failed;
    }
    tell_gate(*h, about_it, now); // which may think that it waits here, until it is due
    carry_out(h, h->life.on(life::event::end), now);
}

meaning conclude_stage::meaning_of_end(held const& h, finished&& end)
{
    if (end.thrown) {
        auto out = meaning_of(end.thrown, h.life.is_overdue(), context_.options);
        if (!out.malformed) return out;
        ++context_.counters.malformed;
        return meaning_of_malformed(out.text, h.message.body(), context_.options);
    }
    meaning out;
    out.said = *std::move(end.said);
    return out;
}

void conclude_stage::damaged(held_ptr h, failure const& why, tick now)
{
    auto const its = meaning_of_malformed(describe(why), h->message.body(), context_.options);
    conclude(std::move(h), its, now);
}

/// `again`: after how long the message comes again, where that is known. Lines of different answers, or exceptions,
/// do not hold each other back.
void conclude_stage::note(
    held const& h, meaning const& what, std::optional<std::chrono::milliseconds> again, tick now)
{
    auto level = what.level;
    std::string cause = what.cause ? what.cause : "";
    log_entry line;
    line.kind = what.text;
    if (cause.empty()) {
        auto const kind = what.said.what();
        bool const is_down = kind == outcome::kind::unavailable;
        line.kind = what.said.found();
        if (line.kind.empty() && is_down) line.kind = "what its handler needs is down";
        if (line.kind.empty() || !(is_down || kind == outcome::kind::retry || kind == outcome::kind::retry_after))
            return;
        level = log_level::warning;
        cause = is_down ? "unavailable" : "retried";
    }
    line.about = context_.about(h);
    line.about.status = what.said.status();
    if (again) line.about.delay = context_.whole_seconds(h, *again, now);
    line.text = std::string(h.message.id()) + ": " + line.kind;
    if (line.about.delay) {
        line.text += "; try " + std::to_string(line.about.attempt) + ", again in " +
            std::to_string(line.about.delay->count() / 1000) + " s";
    }
    context_.log.write(level, cause, std::move(line), now);
}

/// The queue's policy moves it without a word of why: this line is where that stands.
void conclude_stage::note_last_receive(held const& h, outcome const& said, tick now)
{
    auto text = std::string(h.message.id()) + ": ";
    if (!said.found().empty()) text += std::string(said.found()) + "; ";
    text += "try " + std::to_string(h.message.receive_count()) + " was its last, the dead-letter queue takes it";
    auto about = context_.about(h);
    about.status = said.status();
    context_.log.write_each(log_level::warning, "last receive", text, now, about);
}

gate::answer conclude_stage::tell_gate(held const& h, gate::news const& what, tick now)
{
    if (what.what != sign::none) context_.found_down = what.what == sign::down;
    return context_.gate->ended(context_.subject_of(h), what, now);
}

void conclude_stage::carry_out(held_ptr const& h, life::actions todo, tick now)
{
    if (todo == life::none) return;
    auto const later = static_cast<life::actions>(todo & life::cancel);
    context_.carry_out(h, static_cast<life::actions>((todo & ~for_earlier_stages) | later), now);
    heed(h, todo, now);
}

void conclude_stage::heed(held_ptr const& h, life::actions todo, tick now)
{
    if (todo & life::give_back_tail) give_back_tail(*h, now);
    if (todo & life::leave_group) groups_.leave(*h);
    if (todo & life::send_delete) settle_.remove_early(h, now);
    if (todo & life::try_later)
        postpone(h, context_.options.backoff.delay(h->message.receive_count(), context_.random), now);
}

/// Settles a message whose handler has ended, or keeps it here: `from_gate` tells whether an outage holds it back.
void conclude_stage::conclude(held_ptr h, meaning const& what, tick now, gate::answer const& from_gate)
{
    using kind = outcome::kind;
    auto const& said = what.said;
    if (said.what() == kind::ack) {
        if (what.cause) note(*h, what, {}, now);
        if (context_.fifo && !what.malformed)
            groups_.leave(*h); // one that nobody has handled holds its group as a rejected one does
        return settle_.remove(std::move(h), now);
    }
    if (said.what() == kind::unavailable && context_.ending) {
        note(*h, what, {}, now);
        return give_back(std::move(h), now);
    }
    auto circumstances = circumstances_of(*h);
    if (said.what() == kind::release || said.what() == kind::retry_after)
        circumstances.was_just_back = given_back_.add(h->id_hash, now);
    auto const next = verdict_of(said, circumstances, context_.options, context_.random);
    auto const to = context_.ending ? way::on : from_gate.to;
    auto go_back = from_gate;
    if (said.what() != kind::unavailable) go_back.delay = std::max(go_back.delay, next.delay); // its own backoff
    std::optional<std::chrono::milliseconds> comes_again_after;
    if (next.what == verdict::kind::postpone && to != way::wait_here)
        comes_again_after = to == way::go_back ? go_back.delay : next.delay;
    note(*h, what, comes_again_after, now);
    if (next.what == verdict::kind::remove) return settle_.remove(std::move(h), now);
    if (next.what == verdict::kind::reject) return reject(std::move(h), next.reason, said.is_kept(), now);
    if (next.halts) {
        context_.log.write(log_level::error, "halted",
            std::string(h->message.id()) + ": the head of its group failed; the consumer drains", now);
        context_.halt();
    }
    if (to == way::wait_here) return wait_here(std::move(h), now);
    if (to == way::go_back) return stand_back(std::move(h), go_back, now);
    if (said.what() == kind::unavailable) ages_.put_off(*h, next.delay);
    if (context_.is_last_receive(*h)) note_last_receive(*h, said, now);
    postpone(std::move(h), next.delay, now, next.waits_for_head);
}

/// Holds the message's group until the hand-off is confirmed: until then the message may come again.
void conclude_stage::reject(held_ptr h, std::string reason, bool is_kept, tick now)
{
    if (!context_.rejected_go_to || (is_kept && context_.rejected_go_to->empty())) {
        auto const* const why = context_.rejected_go_to ? "; put off, there is no queue for it"
                                                        : "; put off until it is known whether the queue has a "
                                                          "dead-letter queue";
        log_entry line{std::string(h->message.id()) + ": " + reason + why, reason, context_.about(*h)};
        context_.log.write(log_level::warning, "not rejected", std::move(line), now);
        auto const delay = context_.options.backoff.delay(h->message.receive_count(), context_.random);
        return postpone(std::move(h), delay, now, delay <= longest_wait_for_head);
    }
    if (context_.rejected_go_to->empty()) return settle_.discard(std::move(h), std::move(reason), now);
    settle_.hand_off(std::move(h), std::move(reason), now);
}

circumstances conclude_stage::circumstances_of(held const& h)
{
    circumstances out;
    out.receive_count = h.message.receive_count();
    out.now = context_.time.wall();
    out.fifo = context_.fifo;
    out.age = ages_.of(h);
    return out;
}

/// The tail of its group waits here too, as long as that leaves half of the places to others.
void conclude_stage::wait_here(held_ptr h, tick now)
{
    if (!h->life.is(life::state::waiting)) h->life.on(life::event::keep);
    if (context_.fifo && !has_places_for_tails()) give_back_tail(*h, now, true);
    h->in_trouble().waits_since = now;
    auto const number = context_.subject_of(*h).number;
    context_.waits_here.insert_or_assign(number, std::move(h));
}

/// Puts off a message that has not failed, so its age does not matter.
void conclude_stage::stand_back(held_ptr h, gate::answer const& where, tick now)
{
    if (context_.ending) return give_back(std::move(h), now);
    if (where.spilled) note_spilled(*h, now);
    ages_.put_off(*h, where.delay);
    postpone(std::move(h), where.delay, now, where.delay <= longest_wait_for_head, true);
}

void conclude_stage::note_spilled(held const& h, tick now)
{
    ++context_.counters.spilled;
    context_.log.write(log_level::error, "spilled",
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
    if (waits_for_head && context_.fifo && !context_.ending && has_places_for_tails()) {
        groups_.await(*h, now + delay + grace_of_head,
            context_.is_last_receive(*h) ? fifo_groups::head::dies : fifo_groups::head::returns);
    } else {
        give_back_tail(*h, now, in_outage);
        groups_.leave(*h);
    }
    settle_.postpone(std::move(h), now, delay);
}

/// Half of the places are for other groups, and for the heads.
bool conclude_stage::has_places_for_tails() const
{
    return 2 * places_taken() <= context_.limits.max_in_flight && context_.bytes_room() != 0;
}

void conclude_stage::give_back_tail(held const& head, tick now, bool in_outage)
{
    for (auto& h : groups_.take_tail(head)) {
        if (in_outage && context_.is_last_receive(*h)) note_spilled(*h, now);
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
