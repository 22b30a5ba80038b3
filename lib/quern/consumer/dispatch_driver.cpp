// The pipeline's dispatch and lease keeper: the handler runs while the message is ours.

#include <quern/consumer/pipeline.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <iterator>
#include <utility>

namespace quern {

namespace asio = boost::asio;

namespace {

asio::awaitable<std::vector<outcome>> handle_all(batch_handler const& handle, std::vector<held_ptr> what)
{
    std::vector<std::reference_wrapper<delivery>> messages;
    for (auto const& h : what)
        messages.emplace_back(h->message);
    deliveries const all(messages);
    auto said = co_await handle(all);
    co_return said;
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
    if (!options.handler_executor) return shared_strands_[next_strand_++ % shared_strands_.size()];
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
        come_home(std::move(to), {std::move(h), std::move(thrown), std::move(verdict)});
    }
};

/// Those that end at about the same time are fetched together. `to` is let go of where welcome() still holds it: on the
/// thread of a handler the pipeline must not end.
void consumer::pipeline::come_home(std::shared_ptr<pipeline> to, finished one)
{
    {
        auto& of = *to;
        std::lock_guard const lock(of.door_);
        of.home_.push_back(std::move(one));
        if (std::exchange(of.expected_, true)) return to.reset();
    }
    auto const back = to->strand;
    asio::post(back, [to = std::move(to)] { to->welcome(); });
}

void consumer::pipeline::welcome()
{
    {
        std::lock_guard const lock(door_);
        std::move(home_.rbegin(), home_.rend(), std::back_inserter(welcomed_));
        home_.clear();
        expected_ = false;
    }
    while (!welcomed_.empty()) { // what throws must not take the others with it
        auto one = std::move(welcomed_.back());
        welcomed_.pop_back();
        handled(std::move(one.what), std::move(one.thrown), std::move(one.said));
    }
}

/// A plain function. Nothing can stop it, but until it has begun it can be called off. It needs no strand.
void consumer::pipeline::call(held_ptr h)
{
    begin_run(*h);
    auto work = [self = shared_from_this(), h = std::move(h)]() mutable {
        finished done;
        try {
            auto const in_time = !h->called_off && h->message.remaining().count() > 0;
            if (in_time) done.said = self->handle_.call(h->message);
        } catch (...) {
            done.thrown = std::current_exception();
        }
        done.what = std::move(h);
        come_home(std::move(self), std::move(done));
    };
    asio::post(options.handler_executor ? *options.handler_executor : strand.inner(), std::move(work));
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

void consumer::pipeline::stop_overdue(tick time)
{
    for (auto const& h : runs_.overdue(time)) {
        if (!h->run) continue; // a plain function: there is no way to tell it
        h->overdue = true;
        tell(*h);
    }
}

void consumer::pipeline::cancel(held& h)
{
    h.called_off = true;
    if (h.at == held::stage::running && h.run && !std::exchange(h.cancelled, true)) tell(h);
}

/// Emits where the handler runs, and never before its coroutine has begun: either would be undefined.
void consumer::pipeline::tell(held& h)
{
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
