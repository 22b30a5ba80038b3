#include <quern/consumer/pipeline.hpp>
#include <quern/sqs/batch.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace quern {

namespace asio = boost::asio;
using std::chrono::seconds;

namespace {

std::uint64_t seeded(std::uint64_t seed)
{
    return seed != 0 ? seed : std::random_device()();
}

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

consumer::pipeline::pipeline(
    asio::any_io_executor ex, sqs::api* given, std::string queue_url, handler handle, consumer_options settings)
    : strand(asio::make_strand(ex)), options(std::move(settings)), time_(options.time ? *options.time : real_clock()),
      own_client_(given ? nullptr : std::make_unique<sqs::client>(strand)), api_(given ? *given : *own_client_),
      queue_url_(std::move(queue_url)), handle_(std::move(handle)),
      intake_(options.max_in_flight, options.max_polls, seeded(options.seed)), leases_(options.visibility_timeout),
      settle_(options.settle_linger, seeded(options.seed)), random_(seeded(options.seed)), log_(options.log),
      wake_(time_, strand)
{}

void consumer::pipeline::start()
{
    if (std::exchange(started_, true) || drain_) return;
    spawn(run());
}

void consumer::pipeline::spawn(asio::awaitable<void> work)
{
    asio::co_spawn(strand, std::move(work), [self = shared_from_this()](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug); // values carry every expected failure: this must not vanish
    });
}

// ---- the loop ---------------------------------------------------------------------------------------------

asio::awaitable<void> consumer::pipeline::run()
{
    for (auto time = now(); !is_drained(time); time = now()) {
        auto const wake_at = turn(time);
        co_await wake_.wait(wake_at);
    }
    ended_ = true;
    if (signals_) signals_->cancel();
    if (own_client_) own_client_->close();
    for (auto* waiter : waiting_)
        waiter->ring();
}

/// Starts whatever is due; says when time alone will make more due.
std::optional<tick> consumer::pipeline::turn(tick time)
{
    while (auto const ask = intake_.next_poll(in_flight.size(), time))
        spawn(poll(ask));

    auto leases = leases_.poll(time);
    for (auto& due : leases.extend) {
        due.what->extending = true;
        settle_.add({std::move(due.what), settlement::purpose::extend, due.timeout}, time);
    }
    for (auto const& gone : leases.lost)
        lose(gone);

    if (intake_.polls() == 0 || (drain_ && !drain_->is_patient())) {
        for (auto& h : std::exchange(kept_back_, {}))
            settle(std::move(h), settlement::purpose::postpone);
    }
    while (settle_calls_ < options.max_settle_calls) {
        auto batch = settle_.take(time, running_ != 0);
        if (!batch) break;
        ++settle_calls_;
        settling_ += batch->entries.size();
        spawn(batch->removal ? remove(std::move(batch->entries)) : change(std::move(batch->entries)));
    }

    std::optional<tick> wake_at;
    for (auto const& at :
        {intake_.wake_at(), leases.wake_at, drain_ ? std::optional(drain_->wake_at()) : std::nullopt,
            settle_calls_ < options.max_settle_calls ? settle_.wake_at() : std::nullopt}) {
        if (at) wake_at = std::min(wake_at.value_or(*at), *at);
    }
    return wake_at;
}

bool consumer::pipeline::is_drained(tick time)
{
    if (!drain_) return false;
    auto const step = drain_->next({intake_.polls(), running_, kept_back_.size() + settle_.size() + settling_}, time);
    if (step == drain::step::cancel) in_flight.for_each([this](held_ptr const& h) { cancel(*h); });
    if (step != drain::step::end) return false;

    report_.took = std::chrono::duration_cast<std::chrono::milliseconds>(time - drain_->began_at);
    report_.polls = intake_.polls();
    in_flight.for_each([this](held_ptr const& h) {
        if (h->at == held::stage::running)
            ++report_.running;
        else if (h->removing)
            ++report_.at_risk;
        else
            ++report_.stranded;
    });
    return true;
}

// ---- intake: a long poll brings messages ------------------------------------------------------------------

asio::awaitable<void> consumer::pipeline::poll(int ask)
{
    sqs::receive_message_request request(queue_url_);
    request.max_messages = ask;
    request.visibility_timeout = options.visibility_timeout;
    request.wait_time = std::min(options.wait_time, std::chrono::floor<seconds>(options.drain_deadline * 2 / 3));
    request.system_attribute_names = options.system_attributes;
    request.system_attribute_names.insert(
        request.system_attribute_names.end(), {"ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"});
    request.attribute_names = options.attributes;

    auto got = co_await api_.receive_message(std::move(request));
    auto const time = now();
    ++counters.polls;
    if (got) {
        auto const count = got->messages.size() + got->damaged.size();
        if (count == 0) ++counters.empty_polls;
        intake_.answered(ask, static_cast<int>(count));
        accept(std::move(*got), time);
    } else {
        ++counters.failed_polls;
        intake_.failed(ask, time);
        log_.write(log_level::warning, "receive failed", describe(got.error()), time);
    }
    wake_.ring();
}

void consumer::pipeline::accept(sqs::receive_message_response got, tick time)
{
    counters.received += got.messages.size() + got.damaged.size();
    for (auto const& message : got.messages) {
        if (auto const known = in_flight.find(message.id)) {
            ++counters.adopted;
            in_flight.adopt(*known, message.receipt_handle, got.storage, time);
            leases_.hold(*known, time);
            continue;
        }
        auto h = std::make_shared<held>(message, got.storage, time_, time);
        in_flight.add(h);
        leases_.hold(*h, time);
        if (intake_.stopped())
            settle(std::move(h), settlement::purpose::postpone);
        else
            dispatch(std::move(h));
    }
    if (!got.damaged.empty()) accept_damaged(got, time);
}

/// Not run, since nobody can say what it is; tried again as a failed one, because the next copy may be whole.
void consumer::pipeline::accept_damaged(sqs::receive_message_response& got, tick time)
{
    for (auto& damaged : got.damaged) {
        ++counters.damaged;
        log_.write(
            log_level::error, "damaged message", std::string(damaged.known.id) + ": " + describe(damaged.why), time);
        if (damaged.known.id.empty() || damaged.known.receipt_handle.empty()) continue; // comes back by itself
        if (in_flight.find(damaged.known.id)) continue;
        auto const delay = options.backoff.delay(damaged.known.receive_count(), random_);
        auto h = std::make_shared<held>(std::move(damaged.known), got.storage, time_, time);
        in_flight.add(h);
        leases_.hold(*h, time);
        settle(std::move(h), settlement::purpose::postpone, delay);
    }
}

// ---- dispatch: the handler runs ---------------------------------------------------------------------------

void consumer::pipeline::dispatch(held_ptr h)
{
    ++running_;
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
    h->at = held::stage::settling;
    if (drain_) ++(thrown && h->cancelled ? report_.cancelled : report_.finished);
    wake_.ring();
    if (h->lost) {
        // Another consumer may have the message, and then it is theirs; or it has come back here, and is given back.
        if (now() < h->message.lease_deadline())
            settle(std::move(h), settlement::purpose::postpone);
        else
            in_flight.remove(*h);
        return;
    }
    if (thrown && !h->cancelled) {
        log_.write(
            log_level::warning, "handler failed", std::string(h->message.id()) + ": " + what_happened(thrown), now());
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

void consumer::pipeline::cancel(held& h)
{
    if (h.at != held::stage::running) return;
    h.cancelled = true;
    asio::post(h.runs_on, [alive = h.shared_from_this()] { alive->cancel.emit(asio::cancellation_type::terminal); });
}

// ---- lease keeper: the message stays ours, or the handler ends --------------------------------------------

void consumer::pipeline::lose(held_ptr const& h)
{
    if (h->at != held::stage::running || h->lost) return; // a settlement under way still may succeed
    ++counters.lost;
    h->lost = true;
    log_.write(log_level::error, "lease lost", std::string(h->message.id()) + ": its handler is cancelled", now());
    cancel(*h);
}

// ---- settle: SQS is told, until it confirms ---------------------------------------------------------------

void consumer::pipeline::settle(held_ptr h, settlement::purpose why, std::chrono::milliseconds delay)
{
    auto const timeout = whole_seconds(*h, delay);
    h->at = held::stage::settling;
    h->removing = why == settlement::purpose::remove;
    wake_.ring();
    if (!h->removing && timeout.count() == 0 && drain_ && drain_->is_patient() && intake_.polls() != 0) {
        kept_back_.push_back(std::move(h)); // a receive of ours that is still open would only bring it back
    } else if (!h->removing && h->extending) {
        h->postponed = timeout; // an extension that arrived later would undo it
    } else {
        settle_.add({std::move(h), why, timeout}, now());
    }
}

/// Rounded up, so that the message never comes early; within the 12 hours that SQS counts from the receive.
seconds consumer::pipeline::whole_seconds(held const& h, std::chrono::milliseconds delay) const
{
    auto const left = std::chrono::floor<seconds>(h.received_at + lease_book::horizon - now());
    return std::clamp(std::chrono::ceil<seconds>(delay), seconds(0), std::max(left, seconds(0)));
}

asio::awaitable<void> consumer::pipeline::remove(std::vector<settlement> entries)
{
    std::vector<std::string> handles;
    handles.reserve(entries.size());
    for (auto const& e : entries)
        handles.emplace_back(e.what->handle);
    auto used = handles;
    auto const sent_at = now();
    auto const answers = co_await sqs::delete_batch(api_, queue_url_, std::move(used));
    for (std::size_t i = 0; i < entries.size(); ++i)
        answered(std::move(entries[i]), handles[i], answers[i], sent_at);
    returned(entries.size());
}

asio::awaitable<void> consumer::pipeline::change(std::vector<settlement> entries)
{
    std::vector<sqs::change_visibility_entry> changes;
    std::vector<std::string> handles;
    for (auto const& e : entries) {
        changes.emplace_back(std::string(), std::string(e.what->handle), e.timeout);
        handles.emplace_back(e.what->handle);
    }
    auto const sent_at = now();
    auto const answers = co_await sqs::change_visibility_batch(api_, queue_url_, std::move(changes));
    for (std::size_t i = 0; i < entries.size(); ++i)
        answered(std::move(entries[i]), handles[i], answers[i], sent_at);
    returned(entries.size());
}

void consumer::pipeline::returned(std::size_t entries)
{
    ++counters.settle_calls;
    --settle_calls_;
    settling_ -= entries;
    wake_.ring();
}

void consumer::pipeline::answered(settlement entry, std::string_view handle, result<void> const& answer, tick sent_at)
{
    auto& h = *entry.what;
    auto const time = now();
    if (!answer) log_.write(log_level::warning, "settlement failed", describe(answer.error()), time);
    auto const verdict = judge(entry, handle, answer, time);
    if (entry.why == settlement::purpose::extend) {
        h.extending = false;
        if (h.postponed) {
            settle_.add({std::move(entry.what), settlement::purpose::postpone, *h.postponed}, time);
        } else if (h.at == held::stage::gone || h.lost) {
            return;
        } else if (verdict == settled::done && handle == h.handle) {
            ++counters.extended;
            leases_.extended(h, sent_at, entry.timeout);
        } else if (verdict == settled::again) {
            h.extending = true;
            settle_.add_again(std::move(entry), time);
        } else if (verdict == settled::lost && handle == h.handle) {
            lose(entry.what);
        }
    } else if (verdict == settled::again) {
        settle_.add_again(std::move(entry), time);
    } else {
        if (verdict == settled::lost)
            ++counters.lost;
        else if (h.removing)
            ++counters.acked;
        else if (entry.timeout.count() == 0)
            ++counters.released;
        else
            ++counters.retried;
        if (verdict == settled::done && !h.removing && entry.timeout.count() == 0 && drain_) ++report_.released;
        in_flight.remove(h);
    }
}

// ---- drain: the way out -----------------------------------------------------------------------------------

void consumer::pipeline::begin_drain(std::chrono::milliseconds limit)
{
    auto const time = now();
    if (drain_) {
        drain_->hurry(time);
    } else {
        drain_.emplace(time, limit);
        intake_.stop();
        if (!std::exchange(started_, true)) spawn(run());
    }
    wake_.ring();
}

void consumer::pipeline::drain_on(std::vector<int> const& signals, std::chrono::milliseconds limit)
{
    signals_.emplace(strand);
    for (auto const s : signals)
        signals_->add(s);
    await_signal(limit);
}

void consumer::pipeline::await_signal(std::chrono::milliseconds limit)
{
    signals_->async_wait([self = shared_from_this(), limit](boost::system::error_code ec, int) {
        if (ec || self->ended_) return;
        self->begin_drain(limit);
        self->await_signal(limit);
    });
}

void consumer::pipeline::abandon()
{
    if (signals_) signals_->cancel();
    if (started_ && !drain_) begin_drain(options.drain_deadline);
}

asio::awaitable<drain_report> consumer::pipeline::drained()
{
    alarm over(time_, strand);
    waiting_.push_back(&over);
    while (!ended_)
        co_await over.wait();
    std::erase(waiting_, &over);
    co_return report_;
}

} // namespace quern
