#include <quern/consumer/detail/run/run_stage.hpp>
#include <quern/consumer/detail/settle/settle_stage.hpp>

#include <algorithm>
#include <utility>

namespace quern::detail {

using life = message_life;

namespace {

/// How a call ended, as the concurrency rule sees it. A batch counts as its last message ended.
policy::call_end how_ended(finished const& end)
{
    using policy::call_end;
    if (end.what->life.is_overdue()) return call_end::timed_out;
    if (!end.said) return call_end::failed;
    if (end.said->tells() == outcome::news::down) return call_end::unavailable;
    switch (end.said->what()) {
    case outcome::kind::ack:
    case outcome::kind::reject: return call_end::ok;
    case outcome::kind::unavailable: return call_end::unavailable;
    case outcome::kind::retry:
    case outcome::kind::retry_after:
    case outcome::kind::release: break;
    }
    return call_end::failed;
}

} // namespace

run_stage::run_stage(stage_context& c, conclude_stage& to, settle_stage& settle, handlers handle)
    : context_(c), conclude_(to), settle_(settle),
      launch_(std::move(handle), c.strand, std::exchange(c.handlers_run_on, {}), c.time,
          c.options.handler_timeout || c.watcher),
      places_(c, static_cast<bool>(launch_.handle().many)),
      runs_(c.options.handler_timeout.value_or(std::chrono::milliseconds(0)), c.options.visibility_timeout)
{}

void run_stage::open()
{
    launch_.open(context_.strand, context_.owner, *this);
}

void run_stage::start(held_ptr h, bool hurries, tick now)
{
    h->began_at = now;
    if (!places_.takes_batches()) {
        note_started(*h, now);
        places_.call_began(now);
        return launch_.begin(std::move(h));
    }
    h->life.on(life::event::gather);
    places_.gathering.add(std::move(h), now, hurries);
}

void run_stage::note_started(held& h, tick now)
{
    if (context_.running++ == 0) launch_.keep_busy(true);
    h.life.on(life::event::begin);
    h.message.note_last_receive(context_.is_last_receive(h));
    h.ended_at = held::not_begun;
    if (!launch_.is_elsewhere()) note_begun(h, now); // else it may have to wait for a thread
}

void run_stage::note_begun(held& h, tick at)
{
    runs_.started(h, at);
    context_.note_begun(h);
}

std::optional<tick> run_stage::turn(tick now)
{
    stop_overdue(now);
    auto const limit = places_.turn(now);
    run_batches(now);
    auto out = look_for_standstill(now);
    if (limit) out = std::min(out.value_or(*limit), *limit);
    if (auto const at = places_.may_call() ? places_.gathering.wake_at() : std::nullopt)
        out = std::min(out.value_or(*at), *at);
    return out;
}

/// Hands full batches on.
void run_stage::run_batches(tick now)
{
    for (auto const& h : places_.gathering.take_lost())
        context_.turns.not_begun(*h);
    auto const full = conclude_.places_taken() >= context_.limits.max_in_flight ||
        context_.bytes.room(context_.in_flight.bytes(), 0) == 0;
    auto const no_more = full && context_.running == 0;
    while (places_.may_call()) {
        auto due = places_.gathering.take(now, no_more);
        if (due.empty()) return;
        places_.batch_begins();
        places_.call_began(now);
        for (auto const& h : due)
            note_started(*h, now);
        launch_.begin(std::move(due));
    }
}

void run_stage::stop_overdue(tick now)
{
    for (auto const& h : runs_.overdue(now)) {
        if (!h->run) { // there is no way to tell it
            context_.log.write(log_level::warning, "handler timeout",
                std::string(h->message.id()) + ": a plain function, which nobody can cancel, runs for longer", now);
            continue;
        }
        auto const is_new = !h->life.is_told();
        if (h->life.mark_overdue()) launcher::tell(*h, is_new);
    }
}

/// Says when to look again.
std::optional<tick> run_stage::look_for_standstill(tick now)
{
    if (!runs_.all_hang(now)) return runs_.wake_at();
    if (stuck_) return {};
    auto const soonest = ended_at_ + context_.options.visibility_timeout; // the next one may begin in a moment
    if (now < soonest) return soonest;
    if (places_.may_call() && !has_waited_in_vain(now)) return now + std::chrono::seconds(1);
    stuck_ = true;
    context_.wake.ring();
    context_.log.write(log_level::error, "handlers hang",
        std::to_string(context_.running) +
            " handlers were begun or wait for a thread, and none has ended a visibility_timeout after "
            "handler_timeout: "
            "what waits goes back, and nothing is received until one ends",
        now);
    return {};
}

/// Whether some handler has waited for a thread for at least a visibility timeout.
bool run_stage::has_waited_in_vain(tick now) const
{
    if (!launch_.may_wait()) return false;
    bool out = false;
    context_.in_flight.for_each([&](held_ptr const& h) {
        out = out ||
            (h->life.is_running() && h->turn.is_waiting() &&
                h->began_at + context_.options.visibility_timeout <= now);
    });
    return out;
}

void run_stage::heed_notices(tick now)
{
    if (context_.notices.empty()) return;
    for (auto& n : std::exchange(context_.notices, {})) {
        conclude_.heed(n.what, n.todo, now);
        if (n.todo & life::cancel) cancel(*n.what);
    }
}

/// Handlers that wait for a thread may do so for long; all others begin in this instant.
void run_stage::call_off(std::optional<std::string_view> key)
{
    auto const is_meant = [&](held const& h) { return !key || h.key == *key; };
    for (auto& h : places_.gathering.take_if(is_meant)) {
        h->life.on(life::event::keep);
        context_.turns.not_begun(*h);
        context_.again.push_back(std::move(h));
    }
    context_.wake.ring();
    if (!launch_.may_wait()) return;
    context_.in_flight.for_each([&](held_ptr const& h) {
        if (h->life.is_running() && is_meant(*h)) launch_.call_off(*h);
    });
}

void run_stage::begin_drain(tick now)
{
    context_.in_flight.for_each([this](held_ptr const& h) {
        if (h->life.is_running()) launch_.call_off(*h);
    });
    launch_.let_idle_ones_go();
    for (auto& h : places_.gathering.take_waiting()) {
        context_.turns.not_begun(*h);
        conclude_.give_back(std::move(h), now);
    }
}

void run_stage::cancel(held& h)
{
    if (h.life.is_running() && launch_.call_off(h)) return;
    auto const is_new = !h.life.is_told();
    if (h.life.is_running() && h.run && h.life.mark_cancelled()) launcher::tell(h, is_new);
}

void run_stage::cancel_all()
{
    context_.in_flight.for_each([this](held_ptr const& h) { cancel(*h); });
}

void run_stage::welcome()
{
    auto const time = context_.now();
    heed_notices(time); // a head that has lost its lease must not leave its group to those behind it
    look_at_welcomed(time);
    welcomed_.clear();
    looked_at_ = 0;
    launch_.take(welcomed_);
    look_at_welcomed(time);
}

/// One that throws must not take the others with it: the next welcome() goes on behind it.
void run_stage::look_at_welcomed(tick now)
{
    while (looked_at_ != welcomed_.size())
        came_home(std::move(welcomed_[looked_at_++]), now);
}

void run_stage::came_home(finished&& end, tick now)
{
    auto& h = *end.what;
    if (--context_.running == 0) launch_.keep_busy(false);
    run_limit::ended(h);
    auto const took = now - std::max(h.began_at, h.started_at);
    if (end.has_run()) {
        ended_at_ = now;
        stuck_ = false;
        context_.turns.ended(h, took);
    } else {
        context_.turns.not_begun(h);
    }
    if (h.asks) h.asks->guard.reset();
    auto run = std::move(h.run);
    auto const ends_batch = run && places_.takes_batches() && --static_cast<batch_run&>(*run).away == 0;
    if (ends_batch) places_.batch_ends();
    if (places_.are_limited() && end.has_run() && (ends_batch || !places_.takes_batches()) && !h.life.is_cancelled())
        places_.call_ended(how_ended(end), took, any_wait_, now);
    if (!end.has_run() && run) { // the rest of its batch goes on without it
        --run->messages;
        if (h.life.is_told()) --run->told;
        launcher::tell_when_all_say_so(run);
    }
    if (run && !places_.takes_batches() && (end.said || end.thrown) && !context_.ending)
        launch_.take_back(std::move(run));
    context_.wake.ring();
    conclude_.ended(std::move(end), now);
}

/// No handler can run any more: what is received from now on could only be given back.
void run_stage::no_place()
{
    if (context_.ending) return;
    context_.gave_up = failure(errc::stopped, "the context of handler_executor has ended");
    context_.log.write(
        log_level::error, "gave up", context_.gave_up->message + "; the consumer drains", context_.now());
    context_.halt();
}

void run_stage::has_begun(held_ptr h)
{
    if (!h->life.is_running() || h->run_hook::is_linked()) return;
    note_begun(*h, h->started_at);
    if (std::exchange(stuck_, false)) context_.wake.ring();
}

void run_stage::asked(held_ptr h, delivery::wish what, reply tell)
{
    settle_.asked(std::move(h), std::move(what), std::move(tell));
}

} // namespace quern::detail
