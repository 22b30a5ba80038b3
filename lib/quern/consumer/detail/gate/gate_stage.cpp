#include <quern/consumer/detail/gate/breaker_gate.hpp>
#include <quern/consumer/detail/gate/gate_stage.hpp>
#include <quern/consumer/detail/gate/open_gate.hpp>
#include <quern/consumer/detail/message/ascii_excerpt.hpp>
#include <quern/core/detail/random_part.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace quern::detail {

using life = message_life;
using way = gate::answer::way;
using phase = policy::breaker::phase;

namespace {

/// A rate of so many a second, without gathering what was not used.
policy::rate rate_of(double a_second)
{
    using std::chrono::nanoseconds;
    policy::rate out;
    out.count = std::max<std::int64_t>(1, std::llround(a_second));
    out.per = nanoseconds(std::llround(1e9 * static_cast<double>(out.count) / a_second));
    out.burst = std::max<std::int64_t>(1, out.count / 10);
    return out;
}

double a_second(policy::rate const& r)
{
    return static_cast<double>(r.count) / std::chrono::duration<double>(r.per).count();
}

constexpr std::chrono::milliseconds between_surplus{100}; // at least: each costs a request
constexpr int receives_kept = 2;                          // of a message that goes back for others' sake

std::shared_ptr<gate> make_gate(consumer_options const& o, tick now)
{
    if (o.outage.gate) return o.outage.gate;
    if (!o.outage.breaker) return std::make_shared<open_gate>();
    return std::make_shared<breaker_gate>(*o.outage.breaker, o.outage.max_dependencies, seeded(o.seed), now);
}

} // namespace

gate_stage::gate_stage(stage_context& c, run_stage& to, conclude_stage& back)
    : context_(c), run_(to), conclude_(back), pace_(c.options.limits.rate, c.now()),
      redrive_(c.options.outage.breaker.has_value() || c.options.outage.gate || !c.rejected_go_to, c.now()),
      flag_(c.options.outage.flag.value_or(policy::flag_options()), c.now()), flag_was_(flag_.at(c.now()))
{
    context_.gate = make_gate(context_.options, context_.now());
    context_.gate->set_places(context_.places_to_wait());
}

void gate_stage::take(held_ptr h, bool blind, tick now)
{
    if (h->message.lease_deadline() <= now)
        conclude_.carry_out(h, h->life.on(life::event::lease_lost), now);
    else if (context_.ending || (blind && !h->damage()))
        conclude_.give_back(std::move(h), now);
    else if (blind)
        conclude_.blind(std::move(h), now);
    else if (context_.fifo)
        conclude_.add_to_group(std::move(h)); // its turn comes
    else
        arrived_.push_back(std::move(h));
}

std::size_t gate_stage::room(tick now)
{
    if (is_stopped(now) || context_.has_leases_enough()) return pace_.no_room(), 0;
    auto const room = context_.gate->room(now);
    auto const left = room == std::numeric_limits<std::size_t>::max() ? room : room - std::min(room, context_.coming);
    auto const before = context_.coming + arrived_.size() + context_.turns.waiting();
    return std::min({left, pace_.room(before, now), run_.places().room_beside(before - context_.turns.capped())});
}

void gate_stage::limits_are_turned(tick now)
{
    follow(now, true);
    context_.gate->set_places(context_.places_to_wait());
}

/// Has the pace be that of the user or of the gate, whichever is less. What was used of it stays used.
void gate_stage::follow(tick now, bool anew)
{
    auto const stops = is_stopped(now);
    if (stops != std::exchange(stopped_, stops)) {
        context_.gate->stop(stops, now);
        if (stops) run_.call_off({});
    }
    auto const wanted = context_.gate->rate(now);
    conclude_.its_ages().stand_back(stops || wanted || context_.ending);
    auto const same = wanted.has_value() == gentle_rate_.has_value() &&
        (!wanted || std::abs(*wanted - *gentle_rate_) < 0.05 * *gentle_rate_);
    if (same && !anew) return;
    gentle_rate_ = wanted;
    auto const& own = context_.limits.rate;
    pace_.set(wanted && (!own || *wanted < a_second(*own)) ? rate_of(*wanted) : own, now);
}

std::optional<tick> gate_stage::turn(tick now)
{
    if (context_.found_down != std::exchange(found_down_, context_.found_down) && found_down_) redrive_.in_doubt();
    if (!context_.ending && redrive_.due(now)) context_.spawn(learn_redrive_policy());
    if (!context_.ending) heed_flag(now);
    conclude_.its_ages().look();
    for (auto& arrived : arrived_) {
        auto const h = std::move(arrived);                        // null when an exception has ended the turn before
        if (h && h->life.is(life::state::waiting)) admit(h, now); // else its lease was lost just now
    }
    arrived_.clear();
    auto const forsaken = conclude_.give_back_forsaken(now);
    for (auto& head : conclude_.heads())
        admit(std::move(head), now);
    while (auto const one = context_.gate->due(false, now)) // they have to make room
        take_leave(*one, now);
    auto const handlers = run_.turn(now);
    tell_of_changes(now);
    follow(now);

    auto const surplus = give_surplus_back(now);
    run_.note_waiting(context_.turns.waiting() != 0 || !arrived_.empty());

    auto gate_at = context_.gate->wake_at(now);
    auto const waits_for_turn = gate_at && *gate_at <= now && !may_start(now);
    if (waits_for_turn)
        gate_at.reset();
    else if (gate_at) // a gate of the user's may say so for ever
        gate_at = std::max<tick>(*gate_at, now + std::chrono::milliseconds(1));
    std::optional<tick> wake_at;
    auto const waits_for_rate = run_.places().may_place() && (waits_for_turn || context_.turns.any_may_begin());
    for (auto const& at : {pace_.wake_at(waits_for_rate), gate_at, handlers, forsaken, surplus,
             context_.ending ? std::nullopt : redrive_.wake_at(),
             context_.ending ? std::nullopt : flag_.wake_at(now)}) {
        if (at) wake_at = std::min(wake_at.value_or(*at), *at);
    }
    return wake_at;
}

void gate_stage::admit(held_ptr h, tick now, bool its_turn)
{
    if (context_.ending) return conclude_.give_back(std::move(h), now); // a head before it has halted the consumer
    if (auto const* damage = h->damage()) return conclude_.damaged(h, *damage, now);
    name(*h);
    auto where = context_.gate->ask(context_.subject_of(*h), now);
    if (where.to == way::on && is_stopped(now))
        where = {way::go_back, context_.options.backoff.delay(1, context_.random)};
    if (where.took_turn)
        pace_.started(now);
    else if (where.to != way::on)
        context_.wake.ring(); // its turn is free: it was counted when receives were asked for
    switch (where.to) {
    case way::wait_here: return conclude_.wait_here(std::move(h), now);
    case way::go_back: return conclude_.stand_back(std::move(h), where, now);
    case way::on: break;
    }
    if (!its_turn && (!pace_.has_turn(now) || !run_.places().may_place() || !context_.turns.admits(*h)))
        return context_.turns.wait(std::move(h));
    start(std::move(h), where.hurries, now);
}

void gate_stage::start(held_ptr h, bool hurries, tick now)
{
    pace_.started(now);
    context_.turns.began(*h);
    context_.gate->started(context_.subject_of(*h), now);
    run_.start(std::move(h), hurries, now);
}

/// Says what a message belongs to, once. Nothing is lost by a function that fails: its message is treated like those
/// without a name.
void gate_stage::name(held& h)
{
    if (std::exchange(h.is_named, true)) return;
    auto const& o = context_.options;
    if (!o.outage.dependency && !o.tenant) return;
    try {
        h.key = o.outage.dependency ? o.outage.dependency(h.message) : o.tenant(h.message);
    } catch (...) {
        context_.log.write(log_level::error, o.outage.dependency ? "dependency" : "tenant",
            std::string(h.message.id()) + ": the function threw; the message counts as one without a name",
            context_.now());
    }
}

/// In usual times those that waited longest come first. While an outage is suspected the fresh ones do: what waits
/// here has failed.
void gate_stage::admit_waiting(tick now)
{
    run_.heed_notices(now);
    tell_of_changes(now);
    follow(now);
    for (auto& h : std::exchange(context_.again, {}))
        if (h->life.is(life::state::waiting)) admit(std::move(h), now);
    if (stopped_) {
        for (auto& h : context_.turns.take_waiting())
            admit(std::move(h), now);
    }
    for (;;) {
        auto const may = may_start(now);
        auto const fresh_first = may && context_.gate->prefers_fresh();
        if (fresh_first) {
            if (auto h = context_.turns.next()) {
                admit(std::move(h), now, true);
                continue;
            }
        }
        if (auto const one = context_.gate->due(may, now)) {
            take_leave(*one, now);
            continue;
        }
        auto h = may && !fresh_first ? context_.turns.next() : nullptr;
        if (!h) return;
        admit(std::move(h), now, true);
    }
}

void gate_stage::take_leave(gate::leave const& one, tick now)
{
    auto node = context_.waits_here.extract(one.number);
    if (node.empty()) return;
    auto h = std::move(node.mapped());
    if (!h->life.is(life::state::waiting)) return; // its lease was lost
    conclude_.its_ages().waited(*h, h->in_trouble().waits_since);
    if (one.what.to == way::on) return start(std::move(h), one.what.hurries, now);
    conclude_.stand_back(std::move(h), one.what, now);
}

/// A look-ahead that is full of one tenant's shows nothing of the others, and half of all places are enough for what
/// waits on a cap: ten of its newest at a time go back, for as long as those that stay are at work, while a
/// dead-letter queue does not come near. Says when more may.
std::optional<tick> gate_stage::give_surplus_back(tick now)
{
    auto const& turns = context_.turns;
    auto const& most = context_.options.fairness.look_ahead;
    auto const is_full = most ? turns.waiting() >= *most : 2 * turns.capped() >= context_.limits.max_in_flight;
    if (!is_full || turns.waiting() == 0) return {};
    if (now < surplus_at_ + between_surplus) return surplus_at_ + between_surplus;
    surplus_at_ = now;
    bool any = false;
    auto const wait = std::chrono::ceil<std::chrono::milliseconds>(context_.turns.expected_wait());
    auto const delay = std::clamp<std::chrono::milliseconds>(wait, std::chrono::seconds(5), std::chrono::minutes(10));
    for (auto& h : context_.turns.surplus(sqs::max_batch_messages)) {
        if (context_.max_receives != 0 && h->receive_count + receives_kept >= context_.max_receives) {
            context_.turns.wait(std::move(h));
            continue;
        }
        context_.log.write(log_level::info, "turns",
            std::string(h->message.id()) + ": goes back to the queue, since " + std::to_string(turns.waiting()) +
                " messages wait here, too many of them of its tenant",
            now);
        conclude_.stand_back(std::move(h), {way::go_back, delay}, now);
        any = true;
    }
    return any ? std::optional(now + between_surplus) : std::nullopt;
}

void gate_stage::tell_of_changes(tick now)
{
    for (auto const& c : context_.gate->take_changes()) {
        if (c.to != phase::closed) {
            redrive_.opened();
            run_.call_off(c.key.empty() ? std::nullopt : std::optional<std::string_view>(c.key));
        }
        context_.observe(&observer::breaker_changed, c.key, c.from, c.to);
        context_.log.write(c.to == phase::closed ? log_level::info : log_level::warning, "breaker",
            (c.key.empty() ? std::string() : ascii_excerpt(c.key, 80) + ": ") + c.why, now);
    }
    auto const forced = reported_ || (flag_.halts(now) && flag_.at(now) != policy::detail::flag_rule::state::unread);
    if (forced == std::exchange(forced_, forced)) return;
    context_.observe(
        &observer::breaker_changed, "", forced ? phase::closed : phase::open, forced ? phase::open : phase::closed);
}

void gate_stage::begin_drain(tick now)
{
    conclude_.begin_drain(now);
    run_.begin_drain(now);
    for (auto& h : context_.turns.take_waiting())
        conclude_.give_back(std::move(h), now);
    for (auto& [number, h] : std::exchange(context_.waits_here, {}))
        if (h->life.is(life::state::waiting)) conclude_.give_back(std::move(h), now);
}

void gate_stage::pause(std::string why)
{
    paused_ = true;
    why_paused_ = std::move(why);
    follow(context_.now());
    context_.wake.ring();
}

void gate_stage::resume()
{
    paused_ = false;
    follow(context_.now());
    context_.wake.ring();
}

void gate_stage::report_outage(bool down)
{
    reported_ = down;
    follow(context_.now());
    context_.wake.ring();
}

void gate_stage::probe_now()
{
    auto const now = context_.now();
    context_.gate->probe(now);
    auto const& own = context_.limits.rate;
    if (gentle_rate_ && (!own || *gentle_rate_ < a_second(*own))) { // a new one, by which one may begin at once
        pace_.set({}, now);
        gentle_rate_.reset();
    }
    follow(now);
    context_.wake.ring();
}

std::string gate_stage::why_stopped() const
{
    if (paused_) return why_paused_.empty() ? "paused" : "paused: " + why_paused_;
    if (run_.is_stuck()) return "all handlers hang, and no other can begin";
    return reported_ ? "an outage is reported" : "";
}

} // namespace quern::detail
