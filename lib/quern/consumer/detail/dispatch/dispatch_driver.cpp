// The pipeline's dispatch and lease keeper: the handler runs while the message is ours.

#include <quern/consumer/detail/pipeline.hpp>

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
    auto const time = now();
    outage_.started(*h, time);
    auto const alone = outage_.hurries(*h);
    if (handle_.many)
        batches_.add(std::move(h), time, alone);
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
    h.its_turn = held::turn::waits; // again, if an outage has kept it
    h.overdue = false;
    if (!options.handler_executor) runs_.started(h, now()); // else it may have to wait for a thread
}

/// One of its own where handlers may block. Otherwise they share a few, since a strand each costs memory.
compact_strand consumer::pipeline::handler_strand()
{
    if (!options.handler_executor) return shared_strands_[next_strand_++ % shared_strands_.size()];
    return compact_strand::on(asio::prefer(*options.handler_executor, asio::execution::outstanding_work.tracked));
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

/// On the thread of a handler that is about to begin. Null when it must not: it has been called off, perhaps long ago, and
/// its message with it; or its lease is over, and it comes home from here.
std::shared_ptr<consumer::pipeline> consumer::pipeline::begins(std::weak_ptr<pipeline> const& line, held_ptr const& h)
{
    if (h->is_called_off()) return {};
    auto const in_time = h->message.remaining().count() > 0;
    auto const has_the_say = in_time ? h->begin() : h->call_off();
    auto self = has_the_say ? line.lock() : nullptr;
    if (!self) return {};
    if (!in_time) {
        come_home(std::move(self), {h, {}, {}});
        return {};
    }
    if (self->options.handler_executor && self->options.handler_timeout.count() != 0) {
        auto const on = self->strand;
        asio::post(on, [self, h] { self->has_begun(h); });
    }
    return self;
}

void consumer::pipeline::has_begun(held_ptr h)
{
    if (h->at == held::stage::running && !h->run_hook::is_linked()) runs_.started(*h, now());
}

/// A plain function. It needs no strand. Until it begins it keeps its message alive, and nothing else.
void consumer::pipeline::call(held_ptr h)
{
    begin_run(*h);
    auto work = [line = weak_from_this(), h = std::move(h)]() mutable {
        auto self = begins(line, h);
        if (!self) return;
        finished done;
        try {
            done.said = self->handle_.call(h->message);
        } catch (...) {
            done.thrown = std::current_exception();
        }
        done.what = std::move(h);
        come_home(std::move(self), std::move(done));
    };
    asio::post(options.handler_executor ? *options.handler_executor : strand.inner(), std::move(work));
}

/// Posted: begun from here, a handler would run its first stretch on the strand of the pipeline.
///
/// The function is called within the coroutine that is spawned, so a handler that throws before its first await is only a
/// failed message. No frame stands between the two, because each costs memory for as long as the handler waits.
void consumer::pipeline::dispatch(held_ptr h)
{
    if (handle_.call) return call(std::move(h));
    auto const on = begin_run({&h, 1})->on;
    auto begin = [line = weak_from_this(), h = std::move(h), on]() mutable {
        auto self = begins(line, h);
        if (!self) return;
        auto const& its = self->handle_;
        auto& d = h->message;
        homecoming done{std::move(self), std::move(h)};
        if (its.plain)
            asio::co_spawn(
                on, [&its, &d] { return its.plain(d); }, std::move(done));
        else
            asio::co_spawn(
                on, [&its, &d] { return its.one(d); }, std::move(done));
    };
    asio::post(on, std::move(begin));
}

void consumer::pipeline::dispatch(std::vector<held_ptr> messages)
{
    auto const run = begin_run(messages);
    auto begin = [line = weak_from_this(), run, messages = std::move(messages)]() mutable {
        std::shared_ptr<pipeline> self;
        std::erase_if(messages, [&](held_ptr const& h) {
            auto alive = begins(line, h);
            if (!alive) return true;
            self = std::move(alive);
            return false;
        });
        if (!self) return;
        auto all = handle_all(self->handle_.many, messages);
        auto const back = self->strand;
        auto done = [self = std::move(self), messages = std::move(messages)](std::exception_ptr thrown,
                        std::vector<outcome> said) { self->handled(messages, thrown, said); };
        auto home = asio::bind_cancellation_slot(run->cancel.slot(), asio::bind_executor(back, std::move(done)));
        asio::co_spawn(run->on, std::move(all), std::move(home));
    };
    asio::post(run->on, std::move(begin));
}

/// What gathers for something that has gone down goes back, or waits as others do.
void consumer::pipeline::run_batches(tick time)
{
    if (!outage_.good_times()) {
        for (auto& h : batches_.take_if([&](held const& one) { return outage_.forbids(one, time); })) {
            outage_.ended(*h, {}, time);
            stand_back(std::move(h));
        }
    }
    auto const full = in_flight.size() >= options.max_in_flight || bytes_.room(in_flight.bytes(), 0) == 0;
    auto const no_more = full && running_ == 0;
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

/// True when its handler had not begun, and now never will.
bool consumer::pipeline::call_off(held& h)
{
    if (h.at != held::stage::running || !h.call_off()) return false;
    come_home(shared_from_this(), {held_ptr(&h), {}, {}});
    return true;
}

void consumer::pipeline::cancel(held& h)
{
    if (call_off(h)) return;
    if (h.at == held::stage::running && h.run && !std::exchange(h.cancelled, true)) tell(h);
}

/// Emits where the handler runs, and never before its coroutine has begun: either would be undefined. Of a batch, once
/// each of its messages says so.
void consumer::pipeline::tell(held& h)
{
    ++h.run->told;
    tell_when_all_say_so(h.run);
}

void consumer::pipeline::tell_when_all_say_so(std::shared_ptr<handler_run> const& run)
{
    if (run->messages == 0 || run->told == 0 || run->told % run->messages != 0) return;
    asio::post(run->on, [run] { run->cancel.emit(asio::cancellation_type::terminal); });
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
    if (h->at == held::stage::gathering) outage_.ended(*h, {}, now());
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
