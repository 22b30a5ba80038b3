// The pipeline's dispatch and lease keeper: the handler runs while the message is ours.

#include <quern/consumer/pipeline.hpp>
#include <quern/consumer/thrown.hpp>
#include <quern/policy/age.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <utility>

namespace quern {

namespace asio = boost::asio;

namespace {

/// So long those behind a failed head wait for it here, their leases extended; what an outage puts off for 30 s and more
/// is not waited for. When the head is late, another consumer has it: postponing takes up to a second, receiving less.
constexpr std::chrono::seconds longest_wait_for_head{20}, grace_of_head{5};

asio::awaitable<std::vector<outcome>> handle_all(batch_handler const& handle, std::vector<held_ptr> what)
{
    std::vector<std::reference_wrapper<delivery>> messages;
    for (auto const& h : what)
        messages.emplace_back(h->message);
    deliveries const all(messages);
    auto said = co_await handle(all);
    co_return said;
}

/// Safe in a log line and in an attribute of a message: short, and printable ASCII.
std::string printable(std::string_view text, std::size_t longest)
{
    std::string out(text.substr(0, longest));
    for (auto& c : out) { // not even UTF-8: the cut may fall inside a character
        auto const byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte > 0x7e) c = '?';
    }
    return out;
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

void consumer::pipeline::start(held_ptr h)
{
    if (h->damage) return conclude(h, malformed(*h, describe(*h->damage)));
    outage_.started(*h);
    if (handle_.many)
        batches_.add(std::move(h), now());
    else
        dispatch(std::move(h));
}

std::shared_ptr<handler_run> consumer::pipeline::begin_run(std::span<held_ptr const> messages)
{
    auto const run = std::make_shared<handler_run>(handler_strand(), messages.size());
    for (auto const& h : messages) {
        begin_run(*h);
        h->run = run;
    }
    return run;
}

void consumer::pipeline::begin_run(held& h)
{
    if (running_++ == 0) busy_ = asio::prefer(strand.inner(), asio::execution::outstanding_work.tracked);
    h.at = held::stage::running;
    h.overdue = false;
    runs_.started(h, now());
}

/// One of its own where handlers may block. Otherwise they share a few, since a strand each costs memory.
compact_strand consumer::pipeline::handler_strand()
{
    if (!options.handler_executor) return shared_strands_[next_strand_++ / strand_share_ % shared_strands_.size()];
    return compact_strand::on(asio::prefer(*options.handler_executor, asio::execution::outstanding_work.tracked));
}

/// Posted: begun from here, a handler would run its first stretch on the strand of the pipeline.
template <class Work, class Done>
void consumer::pipeline::launch(compact_strand const& on, Work work, Done done)
{
    auto begin = [on, work = std::move(work), done = std::move(done)]() mutable {
        asio::co_spawn(on, std::move(work), std::move(done));
    };
    asio::post(on, std::move(begin));
}

/// Comes back with what a handler said or threw.
struct consumer::pipeline::homecoming {
    std::shared_ptr<pipeline> to;
    held_ptr h;

    using cancellation_slot_type = asio::cancellation_slot;
    cancellation_slot_type get_cancellation_slot() const noexcept { return h->run->cancel.slot(); }

    void operator()(std::exception_ptr thrown) { (*this)(thrown, ack()); }
    void operator()(std::exception_ptr thrown, outcome said)
    {
        std::optional<outcome> verdict;
        if (!thrown) verdict = std::move(said);
        to->come_home({std::move(h), std::move(thrown), std::move(verdict)});
    }
};

/// Those that end at about the same time are fetched together.
void consumer::pipeline::come_home(finished one)
{
    {
        std::lock_guard const lock(door_);
        home_.push_back(std::move(one));
        if (std::exchange(expected_, true)) return;
    }
    asio::post(strand, [self = shared_from_this()] { self->welcome(); });
}

void consumer::pipeline::welcome()
{
    {
        std::lock_guard const lock(door_);
        welcomed_.swap(home_);
        expected_ = false;
    }
    for (auto& one : welcomed_)
        handled(std::move(one.what), std::move(one.thrown), std::move(one.said));
    welcomed_.clear();
}

/// A plain function, which knows nothing of cancellation.
void consumer::pipeline::call(held_ptr h)
{
    begin_run(*h);
    auto work = [self = shared_from_this(), h = std::move(h)]() mutable {
        finished done;
        try {
            done.said = self->handle_.call(h->message);
        } catch (...) {
            done.thrown = std::current_exception();
        }
        done.what = std::move(h);
        self->come_home(std::move(done));
    };
    if (options.handler_executor)
        asio::post(*options.handler_executor, std::move(work));
    else
        asio::post(handler_strand(), std::move(work));
}

/// The function is called within the coroutine that is spawned, so a handler that throws before its first await is only a
/// failed message. No frame stands between the two, because each costs memory for as long as the handler waits.
void consumer::pipeline::dispatch(held_ptr h)
{
    if (handle_.call) return call(std::move(h));
    auto const run = begin_run({&h, 1});
    auto& d = h->message;
    homecoming done{shared_from_this(), std::move(h)};
    if (handle_.plain) {
        auto handle = [this, &d] { return handle_.plain(d); };
        launch(run->on, std::move(handle), std::move(done));
    } else {
        auto handle = [this, &d] { return handle_.one(d); };
        launch(run->on, std::move(handle), std::move(done));
    }
}

void consumer::pipeline::dispatch(std::vector<held_ptr> messages)
{
    auto const run = begin_run(messages);
    auto done = [self = shared_from_this(), messages](
                    std::exception_ptr thrown, std::vector<outcome> said) { self->handled(messages, thrown, said); };
    auto home = asio::bind_cancellation_slot(run->cancel.slot(), asio::bind_executor(strand, std::move(done)));
    launch(run->on, handle_all(handle_.many, std::move(messages)), std::move(home));
}

/// In bad times nobody waits for company: what may run runs, the rest goes back or waits as others do.
void consumer::pipeline::run_batches(tick time)
{
    auto const allowed = outage_.allowance(time);
    if (allowed == 0) {
        for (auto& h : batches_.take_waiting()) {
            outage_.ended(*h, outage::sign::none, time);
            stand_back(std::move(h));
        }
    }
    auto const full = in_flight.size() >= options.max_in_flight || bytes_.room(in_flight.bytes(), 0) == 0;
    auto const no_more = allowed < options.max_in_flight || (full && running_ == 0);
    for (auto due = batches_.take(time, no_more); !due.empty(); due = batches_.take(time, no_more))
        dispatch(std::move(due));
}

void consumer::pipeline::handled(
    std::vector<held_ptr> const& messages, std::exception_ptr thrown, std::vector<outcome> const& said)
{
    auto const complete = said.size() == messages.size();
    if (!thrown && !complete) {
        log_.write(log_level::error, "batch handler",
            "returned " + std::to_string(said.size()) + " outcomes for " + std::to_string(messages.size()) +
                " messages; all are tried again",
            now());
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
        std::optional<outcome> one;
        if (!thrown) one = complete ? said[i] : retry();
        handled(messages[i], thrown, std::move(one));
    }
}

void consumer::pipeline::handled(held_ptr h, std::exception_ptr thrown, std::optional<outcome> said)
{
    if (--running_ == 0) busy_.reset();
    run_limit::ended(*h);
    h->run.reset();
    h->at = held::stage::settling;
    if (drain_) ++(thrown && h->cancelled && !h->lost ? report_.cancelled : report_.finished);
    wake_.ring();
    if (h->asks && h->asks->ack != handler_asks::deletion::none) return ended_after_ack(std::move(h), thrown, said);
    auto const time = now();
    auto const over = h->message.lease_deadline() <= time;
    if (thrown && !h->cancelled && !over) said = meaning_of(*h, thrown);
    outage_.ended(*h, over || !said ? outage::sign::none : outage::sign_of(*said), time);
    if (over || (h->lost && !h->back)) { // another consumer may have the message
        note_lost(*h);
        tell_asks(*h, too_late());
        give_back_tail(*h);
        groups_.leave(*h);
        in_flight.remove(*h);
    } else if (h->lost || !said) { // it has come back here since its lease was lost; or the drain cancelled it
        fail(std::move(h), release());
    } else {
        conclude(std::move(h), *said);
    }
}

outcome consumer::pipeline::meaning_of(held const& h, std::exception_ptr thrown)
{
    if (options.classify && !h.overdue) {
        try {
            if (auto given = options.classify(thrown)) return *std::move(given);
        } catch (...) {
            log_.write(log_level::error, "classify", "threw an exception; ignored", now());
        }
    }
    auto const why = h.overdue ? "ran for longer than handler_timeout" : what_happened(thrown);
    if (!h.overdue && is_parse_error(thrown)) {
        ++counters.malformed;
        return malformed(h, why);
    }
    log_.write(log_level::warning, "handler failed", std::string(h.message.id()) + ": " + why, now());
    return retry();
}

outcome consumer::pipeline::malformed(held const& h, std::string const& why)
{
    log_.write(log_level::error, "malformed message",
        std::string(h.message.id()) + ": " + why + "; it begins: " + printable(h.message.body(), 80), now());
    switch (options.on_malformed) {
    case malformed_policy::reject: return quern::reject("malformed: " + why);
    case malformed_policy::discard: return ack();
    case malformed_policy::retry: break;
    }
    return retry();
}

void consumer::pipeline::conclude(held_ptr h, outcome const& verdict)
{
    switch (verdict.what()) {
    case outcome::kind::ack: groups_.leave(*h); return settle(std::move(h), settlement::purpose::remove);
    case outcome::kind::reject: return reject(std::move(h), verdict.reason());
    case outcome::kind::unavailable:
        log_.write(log_level::warning, "unavailable",
            std::string(h->message.id()) + ": what its handler needs is down", now());
        return stand_back(std::move(h));
    case outcome::kind::retry:
        if (fifo_ && options.on_group_failure == group_policy::skip_head) {
            return reject(std::move(h), "failed at the head of its group");
        }
        [[fallthrough]];
    case outcome::kind::retry_after:
    case outcome::kind::release: return fail(std::move(h), verdict);
    }
}

/// It comes back, and whatever stands behind it in its group waits for it.
void consumer::pipeline::fail(held_ptr h, outcome const& verdict)
{
    auto delay = verdict.at() ? policy::delay_until(*verdict.at(), time_.wall()) : verdict.delay();
    if (verdict.what() == outcome::kind::retry) {
        delay = options.backoff.delay(h->message.receive_count(), random_);
        if (fifo_ && options.on_group_failure == group_policy::park_group) delay = options.park_for;
        if (fifo_ && options.on_group_failure == group_policy::halt) {
            delay = {};
            log_.write(log_level::error, "halted",
                std::string(h->message.id()) + ": the head of its group failed; the consumer drains", now());
            if (!drain_) begin_drain(options.drain_deadline);
        }
    }
    if (verdict.what() != outcome::kind::release && options.max_age.count() != 0) {
        auto const within = policy::within_age(
            h->message.first_received_at().value_or(time_.wall()), time_.wall(), delay, options.max_age);
        if (!within) return reject(std::move(h), "older than max_age");
        delay = *within;
    }
    fail_for(std::move(h), delay, verdict.what() != outcome::kind::release && delay <= longest_wait_for_head);
}

void consumer::pipeline::fail_for(held_ptr h, std::chrono::milliseconds delay, bool short_pause)
{
    auto const room = 2 * in_flight.size() <= options.max_in_flight && // for other groups, and for the head
        bytes_.room(in_flight.bytes(), intake_.coming()) != 0;
    if (short_pause && room && fifo_ && !drain_) {
        groups_.await(*h, now() + delay + grace_of_head);
    } else {
        give_back_tail(*h);
        groups_.leave(*h);
    }
    settle(std::move(h), settlement::purpose::postpone, delay);
}

/// A group goes on behind a rejected head only when its rejection is confirmed: until then it may come again.
void consumer::pipeline::reject(held_ptr h, std::string const& reason)
{
    log_.write(log_level::error, "message rejected", std::string(h->message.id()) + ": " + reason, now());
    h->rejected = true;
    h->reason = std::make_unique<std::string>(printable(reason, 256));
    settle(
        std::move(h), options.poison_queue_url.empty() ? settlement::purpose::remove : settlement::purpose::hand_off);
}

void consumer::pipeline::give_back_tail(held const& head)
{
    for (auto& h : groups_.take_tail(head))
        settle(std::move(h), settlement::purpose::postpone);
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
    if (h.at == held::stage::running && !std::exchange(h.cancelled, true)) tell(h);
}

/// Emits where the handler runs, and never before its coroutine has begun: either would be undefined.
void consumer::pipeline::tell(held& h)
{
    if (!h.run) return; // a plain function: nothing can stop it
    if (++h.run->told % h.run->messages == 0)
        asio::post(h.run->on, [run = h.run] { run->cancel.emit(asio::cancellation_type::terminal); });
}

void consumer::pipeline::lose(held_ptr const& h)
{
    if (h->at == held::stage::settling || h->at == held::stage::gone) return; // its settlement still may succeed
    if (h->asks && h->asks->deleted()) return;
    if (h->asks) h->asks->ack = handler_asks::deletion::none; // a delete that it had asked for comes too late
    note_lost(*h);
    give_back_tail(*h);
    tell_asks(*h, too_late());
    wake_.ring();
    if (h->at == held::stage::gathering) outage_.ended(*h, outage::sign::none, now());
    if (h->at == held::stage::running) {
        cancel(*h);
    } else {
        groups_.leave(*h);
        in_flight.remove(*h);
    }
}

void consumer::pipeline::note_lost(held& h)
{
    h.back = false; // and if it had come back, that lease is over as well
    if (std::exchange(h.lost, true)) return;
    ++counters.lost;
    if (drain_) ++report_.lost;
    log_.write(log_level::error, "lease lost", std::string(h.message.id()), now());
}

} // namespace quern
