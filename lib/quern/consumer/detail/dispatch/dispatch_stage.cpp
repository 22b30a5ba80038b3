// The stage's turn, and admission: who may start, who waits, who goes back.

#include <quern/consumer/detail/dispatch/dispatch_stage.hpp>
#include <quern/consumer/detail/settle/settle_stage.hpp>

#include <algorithm>
#include <utility>

namespace quern::detail {

namespace asio = boost::asio;
using life = message_life;

namespace {

/// Enough that two handlers that are busy at the same time, on a few threads, hardly ever share one.
std::vector<compact_strand> make_strands(asio::any_io_executor const& ex)
{
    std::vector<compact_strand> out;
    for (int i = 0; i < 64; ++i)
        out.push_back(compact_strand::on(ex));
    return out;
}

} // namespace

dispatch_stage::dispatch_stage(line& l, settle_stage& to, handlers handle)
    : line_(l), settle_(to), door_(std::make_shared<door>(std::move(handle))),
      place_(l.strand.inner(), std::exchange(l.handlers_run_on, {}), door_),
      calls_(std::make_shared<call_line>(door_, place_.executor(), l.time, tells())), pace_(l.options.rate, l.now()),
      outage_(l.options, seeded(l.options.seed)),
      redrive_(l.options.breaker.has_value() || !l.rejected_go_to, l.now()), flag_(l.options.flag, l.now()),
      flag_was_(flag_.at(l.now())), batches_(batch_size(), l.options.batch_bytes, l.options.batch_window),
      runs_(l.options.handler_timeout),
      call_limit_(l.options.handler_concurrency, takes_batches() ? batch_size() : 1),
      shared_strands_(make_strands(l.strand.inner()))
{
    if (flag_.halts(l.now())) outage_.set_flag(outage::flag::unread, l.now());
}

void dispatch_stage::open()
{
    door_->open(line_.strand, line_.owner, *this);
}

void dispatch_stage::take(held_ptr h, bool blind, tick now)
{
    if (h->message.lease_deadline() <= now)
        carry_out(h, h->life.on(life::event::lease_lost), now);
    else if (line_.ending || (blind && !h->damage()))
        settle_.postpone(std::move(h), now);
    else if (blind)
        conclude(std::move(h), retry(), now);
    else if (line_.fifo)
        groups_.add(std::move(h)); // its turn comes
    else
        arrived_.push_back(std::move(h));
}

outage::places dispatch_stage::room(tick now)
{
    return outage_.room(line_.in_flight.size(), arrived_.size() + pace_.waiting(), now);
}

std::size_t dispatch_stage::room_at_this_pace(tick now)
{
    return pace_.room(line_.coming + arrived_.size(), now);
}

void dispatch_stage::limits_are_turned(tick now)
{
    auto const& limits = line_.limits;
    pace_.set(limits.rate, now);
    outage_.set_max_in_flight(limits.max_in_flight);
    batches_.set_size(batch_size());
    call_limit_.set(limits.handler_concurrency, takes_batches() ? batch_size() : 1);
}

std::optional<tick> dispatch_stage::turn(tick now)
{
    if (!line_.ending && redrive_.due(now)) line_.spawn(learn_redrive_policy());
    if (!line_.ending) heed_flag(now);
    if (line_.options.max_age.count() != 0) service_time(); // so that a step is seen as one
    for (auto& arrived : arrived_) {
        auto const h = std::move(arrived);                        // null when an exception has ended the turn before
        if (h && h->life.is(life::state::waiting)) admit(h, now); // else its lease was lost just now
    }
    arrived_.clear();
    stop_overdue(now);
    for (auto& h : groups_.take_forsaken(now))
        settle_.postpone(std::move(h), now);
    for (auto& head : groups_.runnable())
        admit(std::move(head), now);
    run_batches(now);
    tell_of_outages(now);

    std::optional<tick> wake_at;
    auto const batch_at = may_call() ? batches_.wake_at() : std::nullopt;
    for (auto const& at : {pace_.wake_at(outage_.lets_go(now), !may_place()), outage_.wake_at(now), runs_.wake_at(),
             groups_.wake_at(), batch_at, line_.ending ? std::nullopt : redrive_.wake_at(),
             line_.ending ? std::nullopt : flag_.wake_at(now)}) {
        if (at) wake_at = std::min(wake_at.value_or(*at), *at);
    }
    return wake_at;
}

void dispatch_stage::admit(held_ptr h, tick now)
{
    if (line_.ending) return give_back(std::move(h), now); // a head before it has halted the consumer
    if (auto const* damage = h->damage()) {
        auto const its = meaning_of_malformed(describe(*damage), h->message.body(), line_.options);
        note(*h, its, now);
        return conclude(std::move(h), its.said, now, true);
    }
    if (line_.options.breaker && !h->depends_on) outage_.belongs(*h, dependency_of(*h));
    if (!outage_.admits(*h, now))
        stand_back(std::move(h), now);
    else if (!pace_.admits(now) || !may_place())
        pace_.wait(std::move(h));
    else
        place(std::move(h), now);
}

/// Nothing is lost by a function that fails: its message is treated like those without a name.
std::string dispatch_stage::dependency_of(held const& h)
{
    if (!line_.options.dependency) return {};
    try {
        return line_.options.dependency(h.message);
    } catch (...) {
        line_.log.write(log_level::error, "dependency",
            std::string(h.message.id()) + ": the function threw; the message counts as one without a name",
            line_.now());
        return {};
    }
}

void dispatch_stage::place(held_ptr h, tick now)
{
    pace_.started(now);
    outage_.started(*h, now);
    if (!door_->handle.many) return run(std::move(h), now);
    auto const hurries = outage_.hurries(*h);
    h->life.on(life::event::gather);
    batches_.add(std::move(h), now, hurries);
}

/// Does what other stages have found necessary.
void dispatch_stage::heed_notices(tick now)
{
    if (line_.notices.empty()) return;
    for (auto& n : std::exchange(line_.notices, {}))
        heed(n.what, n.todo, now);
}

/// Admits who waited for better times, then who waited for its turn. In bad times nobody waits for a turn.
void dispatch_stage::admit_waiting(tick now)
{
    heed_notices(now);
    if (outage_.worsened()) {
        call_off_revoked(now);
        for (auto& h : pace_.take_waiting())
            admit(std::move(h), now);
    }
    while (pace_.has_turn(now) && may_place()) {
        auto h = outage_.next_kept(now);
        if (h) note_wait(*h, now);
        if (!h) h = pace_.next();
        if (!h) return;
        if (outage_.admits(*h, now))
            place(std::move(h), now);
        else
            stand_back(std::move(h), now);
    }
}

/// It has waited here since it found something down, which may be up for long by now.
void dispatch_stage::note_wait(held const& h, tick now)
{
    if (line_.options.max_age.count() == 0 || !h.has_found_down()) return;
    waits_.of(owner_of_waits(h), service_time()).add(service_time() - (now - h.rare->found_down_at), service_time());
}

void dispatch_stage::stand_back(held_ptr h, tick now)
{
    if (line_.ending) return give_back(std::move(h), now);
    auto const back = outage_.stand_back(h, now);
    if (!back) return wait_here(*h, now);
    if (line_.options.max_age.count() != 0) book_of(*h).add(service_time(), service_time() + back->delay);
    put_off(std::move(h), *back, now);
}

/// Hands full batches on. A message that gathers for something that has gone down goes back, or waits as others do.
void dispatch_stage::run_batches(tick now)
{
    for (auto const& h : batches_.take_lost())
        outage_.ended(*h, {}, now);
    if (!outage_.good_times()) {
        for (auto& h : batches_.take_if([&](held const& one) { return outage_.forbids(one, now); })) {
            outage_.ended(*h, {}, now);
            stand_back(std::move(h), now);
        }
    }
    auto const full =
        line_.in_flight.size() >= line_.limits.max_in_flight || line_.bytes.room(line_.in_flight.bytes(), 0) == 0;
    auto const no_more = full && line_.running == 0;
    while (may_call()) {
        auto due = batches_.take(now, no_more);
        if (due.empty()) return;
        run(std::move(due), now);
    }
}

void dispatch_stage::tell_of_outages(tick now)
{
    for (auto const& e : outage_.take_events()) {
        using phase = dependency::phase;
        if (e.from == phase::closed) e.of->ages.begin(service_time());
        if (e.to == phase::closed) e.of->ages.end(service_time());
        if (e.to == phase::closed) outage_.keep_ages(*e.of);
        if (e.to == phase::open && e.from != phase::half_open) redrive_.opened();
        line_.observe(&observer::breaker_changed, e.of->name, e.from, e.to);
        auto const level = e.to == phase::open ? log_level::warning
            : e.to == phase::closed            ? log_level::info
                                               : log_level::debug;
        line_.log.write(level, "breaker", to_string(e, now), now);
    }
}

/// By the clock that tells first receives.
wall_time dispatch_stage::service_time()
{
    return service_clock_.at(line_.time.wall() + line_.api.clock_offset(), line_.now());
}

void dispatch_stage::begin_drain(tick now)
{
    ages_.begin(service_time());
    line_.in_flight.for_each([this](held_ptr const& h) { call_off(*h); });
    for (auto& h : groups_.take_waiting())
        settle_.postpone(std::move(h), now);
    for (auto& h : batches_.take_waiting()) {
        outage_.ended(*h, {}, now);
        groups_.leave(*h);
        settle_.postpone(std::move(h), now);
    }
    for (auto waiting : {outage_.take_kept(), pace_.take_waiting()}) {
        for (auto& h : waiting) {
            groups_.leave(*h);
            settle_.postpone(std::move(h), now);
        }
    }
}

void dispatch_stage::pause(std::string why)
{
    outage_.pause(std::move(why));
    note_standing();
    line_.wake.ring();
}

void dispatch_stage::resume()
{
    outage_.resume();
    note_standing();
    line_.wake.ring();
}

/// Messages grow no older while it stands back.
void dispatch_stage::note_standing()
{
    if (outage_.stopped())
        ages_.begin(service_time());
    else if (!line_.ending)
        ages_.end(service_time());
}

void dispatch_stage::report_outage(bool down)
{
    outage_.report(down, line_.now());
    line_.wake.ring();
}

} // namespace quern::detail
