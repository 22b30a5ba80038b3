// The pipeline's dispatch and lease keeper: the handler runs while the message is ours.

#include <quern/consumer/pipeline.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace quern {

namespace asio = boost::asio;

namespace {

/// Handlers run inside this frame, so that even one that throws before its first await is only a failed message.
asio::awaitable<std::optional<outcome>> call(handler const& handle, held_ptr what)
{
    auto const said = co_await handle(what->message);
    co_return said;
}

std::string what_happened(std::exception_ptr const& thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (std::exception const& e) {
        return e.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

} // namespace

void consumer::pipeline::dispatch(held_ptr h)
{
    ++running_;
    h->at = held::stage::running;
    runs_.started(*h, now());
    auto const inner = options.handler_executor.value_or(strand.get_inner_executor());
    h->runs_on = asio::make_strand(inner);
    auto done = [self = shared_from_this(), h](
                    std::exception_ptr thrown, std::optional<outcome> said) { self->handled(h, thrown, said); };
    asio::co_spawn(h->runs_on, call(handle_, h),
        asio::bind_cancellation_slot(h->cancel.slot(), asio::bind_executor(strand, std::move(done))));
}

void consumer::pipeline::handled(held_ptr h, std::exception_ptr thrown, std::optional<outcome> said)
{
    --running_;
    run_limit::ended(*h);
    h->at = held::stage::settling;
    if (drain_) ++(thrown && h->cancelled ? report_.cancelled : report_.finished);
    wake_.ring();
    if (h->message.lease_deadline() <= now()) { // another consumer may have the message
        note_lost(*h);
        in_flight.remove(*h);
        return;
    }
    if (h->lost) return settle(std::move(h), settlement::purpose::postpone); // but it has come back here
    if (thrown && !h->cancelled) {
        auto const why = h->overdue ? "ran for longer than handler_timeout" : what_happened(thrown);
        log_.write(log_level::warning, "handler failed", std::string(h->message.id()) + ": " + why, now());
    }
    auto const verdict = !thrown ? *said : h->cancelled ? release() : retry();
    switch (verdict.what()) {
    case outcome::kind::ack: return settle(std::move(h), settlement::purpose::remove);
    case outcome::kind::release: return settle(std::move(h), settlement::purpose::postpone);
    case outcome::kind::retry_after: return settle(std::move(h), settlement::purpose::postpone, verdict.delay());
    case outcome::kind::retry: {
        auto const delay = options.backoff.delay(h->message.receive_count(), random_);
        return settle(std::move(h), settlement::purpose::postpone, delay);
    }
    }
}

void consumer::pipeline::stop_overdue(tick time)
{
    for (auto const& h : runs_.overdue(time)) {
        h->overdue = true;
        tell(*h);
    }
}

void consumer::pipeline::cancel(held& h)
{
    if (h.at != held::stage::running) return;
    h.cancelled = true;
    tell(h);
}

/// Emits where the handler runs, and never before its coroutine has begun: either would be undefined.
void consumer::pipeline::tell(held& h)
{
    asio::post(h.runs_on, [alive = h.shared_from_this()] { alive->cancel.emit(asio::cancellation_type::terminal); });
}

void consumer::pipeline::lose(held_ptr const& h)
{
    if (h->at != held::stage::waiting && h->at != held::stage::running) return; // its settlement still may succeed
    note_lost(*h);
    if (h->at == held::stage::running)
        cancel(*h);
    else
        in_flight.remove(*h);
}

void consumer::pipeline::note_lost(held& h)
{
    if (std::exchange(h.lost, true)) return;
    ++counters.lost;
    log_.write(log_level::error, "lease lost", std::string(h.message.id()), now());
}

} // namespace quern
