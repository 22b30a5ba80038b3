#include <quern/consumer/detail/stage_context.hpp>

#include <quern/core/detail/random_part.hpp>
#include <quern/core/detail/what_thrown.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>

#include <algorithm>
#include <utility>

namespace quern::detail {

namespace asio = boost::asio;
using std::chrono::seconds;
using life = message_life;

namespace {

/// A later receive of the same message moves received_at.
tick first_here(held const& h)
{
    return h.came_in ? h.came_in->received_at : h.received_at;
}

void tell_all(handler_asks::answers& waiting, result<void> const& said)
{
    for (auto const& tell : std::exchange(waiting, {}))
        tell(said);
}

/// Adds what the tenant's name is made of to the attributes to receive.
consumer_options with_tenant(consumer_options o)
{
    auto const add = [](std::vector<std::string>& to, std::string const& name) {
        if (!name.empty() && std::ranges::find(to, name) == to.end() && std::ranges::find(to, "All") == to.end())
            to.push_back(name);
    };
    add(o.system_attributes, o.tenant.system_attribute());
    add(o.attributes, o.tenant.attribute());
    return o;
}

} // namespace

result<void> too_late()
{
    return failure(errc::receipt_expired, "the message is settled, or its lease is lost");
}

void tell_asks(held& h, result<void> const& deleted)
{
    if (!h.asks) return;
    tell_all(h.asks->deletes, deleted);
    tell_all(h.asks->extensions, deleted ? too_late() : deleted);
}

stage_context::stage_context(compact_strand on, sqs::api& to, std::string url, consumer_options settings)
    : strand(std::move(on)), handlers_run_on(std::exchange(settings.handler_executor, {})),
      options(with_tenant(std::move(settings))), limits(options.limits),
      time(options.time ? *options.time : real_clock()), api(to), queue_url(std::move(url)),
      fifo(queue_url.ends_with(".fifo")), watcher(options.observer.get()),
      tells_queued(watcher && watcher->wants_queued()), leases(options.visibility_timeout, options.handler_timeout),
      random(seeded(options.seed)), log(options.log, queue_url), wake(time, strand),
      bytes(limits.max_bytes_in_flight), turns(options)
{
    rejected_go_to = options.poison_queue;
}

void stage_context::spawn(asio::awaitable<void> work)
{
    if (spawned_++ == 0) at_work_ = asio::prefer(strand.inner(), asio::execution::outstanding_work.tracked);
    asio::co_spawn(strand, std::move(work), [this, alive = owner.lock()](std::exception_ptr bug) {
        if (--spawned_ == 0) at_work_.reset();
        if (bug) std::rethrow_exception(bug); // values carry every expected failure: this must not vanish
    });
}

void stage_context::note_thrown(char const* cause, std::exception_ptr const& thrown)
{
    log.write(log_level::error, cause, "threw: " + what_thrown(thrown), now());
}

void stage_context::carry_out(held_ptr const& h, life::actions todo, tick at)
{
    if (!fifo) todo &= static_cast<life::actions>(~(life::give_back_tail | life::leave_group)); // there is none
    if (todo & life::refuse_lease) leases.refused(*h, at);
    if (todo & (life::drop_lease | life::forget)) leases.drop(*h);
    if (todo & life::note_lost) note_lost(*h, at);
    if (todo & life::count_acked) ++counters.acked;
    if (todo & life::count_rejected) note_rejected(*h);
    if (todo & life::tell_done) tell_asks(*h, {});
    if (todo & life::tell_too_late) tell_asks(*h, too_late());
    if (todo & life::count_given_back) note_given_back(*h);
    if (todo & life::forget) {
        if (watcher)
            observe(*h, at, &observer::settled, end_of(todo, h->life.was_lost(), h->postponed), h->postponed);
        in_flight.remove(*h);
        if (!fifo && h->turn.is_called_off()) { // its turn may wait for a thread as long as the program lives
            h->message.forget_all();
            h->came_in.reset();
            h->handle = {};
        }
    }
    if (todo & for_earlier_stages) {
        notices.push_back({h, static_cast<life::actions>(todo & for_earlier_stages)});
        wake.ring();
    }
}

tick::duration stage_context::time_to_change(std::size_t messages) const
{
    auto const at_once = 10 * options.settle.max_calls;
    return static_cast<tick::rep>((messages + at_once - 1) / at_once) * call_takes_;
}

void stage_context::note_call(tick::duration took)
{
    call_takes_ = std::exchange(has_called_, true) ? call_takes_ + (took - call_takes_) / 8 : took;
}

void stage_context::note_receive(tick::duration took)
{
    if (has_called_) return;
    call_takes_ =
        std::min(took, call_takes_ == tick::duration() ? tick::duration(std::chrono::seconds(1)) : call_takes_);
}

void stage_context::note_woken(tick wanted, tick at)
{
    constexpr auto unusual = std::chrono::seconds(1);
    if (at - wanted < unusual) return;
    blocked_for_ = at - wanted;
    blocked_until_ = at;
}

void stage_context::note_lost(held& h, tick at)
{
    if (!h.life.note_loss()) return;
    ++counters.lost;
    if (ending) ++report.lost;
    auto text = std::string(h.message.id());
    if (blocked_for_ != tick::duration() && at - blocked_until_ < std::chrono::seconds(1)) {
        text += ": the consumer's thread was blocked for " +
            std::to_string(std::chrono::floor<std::chrono::seconds>(blocked_for_).count()) +
            " s, unless the machine slept; a handler that blocks needs consumer_options::handler_executor";
    }
    log.write(log_level::error, "lease lost", {text, {}, about(h)}, at);
    observe(h, at, &observer::lease_lost);
}

void stage_context::note_given_back(held const& h)
{
    if (h.postponed.count() != 0) {
        ++counters.retried;
        return;
    }
    ++counters.released;
    if (ending) ++report.released;
}

/// Each, with its id: where there is no queue for it, this line is all that is left of the message.
void stage_context::note_rejected(held const& h)
{
    ++counters.rejected;
    auto const handed_off = rejected_go_to && !rejected_go_to->empty();
    if (!handed_off) ++counters.discarded;
    log.write_each(log_level::error, "message rejected",
        std::string(h.message.id()) + ": " + (h.rare ? h.rare->reason : std::string()) +
            (handed_off ? "; handed to " + *rejected_go_to : "; deleted, there is no queue for it"),
        now(), about(h));
}

message_end end_of(life::actions todo, bool was_lost, seconds postponed)
{
    if (todo & life::count_rejected) return message_end::rejected;
    if (todo & life::count_given_back) return postponed.count() == 0 ? message_end::released : message_end::put_off;
    if (todo & life::tell_done) return message_end::deleted;
    return was_lost ? message_end::lost : message_end::came_again;
}

void stage_context::note_begun(held& h)
{
    if (!watcher) return;
    h.ended_at = held::running;
    observe(h, h.started_at, &observer::began);
}

/// `text`: of the exception, where the verdict has none.
void stage_context::note_ended(held& h, handler_end how, outcome const& verdict, std::string_view text, tick at)
{
    if (!watcher || h.ended_at != held::running) return; // or it was called off before it had a thread
    h.ended_at = at;
    observed_message seen;
    look(h, at, seen);
    auto const reason = verdict.what() == outcome::kind::reject ? verdict.reason() : std::string();
    seen.said = !verdict.found().empty() ? verdict.found() : !text.empty() ? text : std::string_view(reason);
    seen.status = verdict.status();
    observe(&observer::ended, seen, how, verdict.what());
}

/// Four times a message, so it only subtracts, and calls nothing but at its end.
void stage_context::look(held const& h, tick now, observed_message& out)
{
    out.id = h.message.id();
    out.receive_count = h.receive_count;
    if (h.queued_ms >= 0) out.queued = std::chrono::milliseconds(h.queued_ms);
    if (h.ended_at != held::not_begun) { // else its thread may be writing down just now when it started
        out.waited = h.started_at - first_here(h);
        if (h.ended_at != held::running) {
            out.handled = h.ended_at - h.started_at;
            out.settling = now - h.ended_at;
        }
    }
    if (!h.message.message().system_attributes.empty()) out.group = h.message.group();
}

quern::gate::subject stage_context::subject_of(held const& h) const
{
    quern::gate::subject out;
    out.number = h.number;
    out.id = h.id_hash;
    out.key = h.key;
    if (max_receives != 0) out.receives_left = std::max(max_receives - h.receive_count, 0);
    out.began_at = h.began_at;
    return out;
}

seconds stage_context::whole_seconds(held const& h, std::chrono::milliseconds delay, tick at) const
{
    auto const left = std::chrono::floor<seconds>(h.received_at + lease_book::horizon - at);
    return std::clamp(std::chrono::ceil<seconds>(delay), seconds(0), std::max(left, seconds(0)));
}

} // namespace quern::detail
