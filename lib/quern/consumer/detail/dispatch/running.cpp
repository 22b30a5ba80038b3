// Where handlers run: how one begins, and how it is told to end.

#include <quern/consumer/detail/dispatch/dispatch_stage.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <functional>
#include <stdexcept>
#include <utility>

namespace quern::detail {

namespace asio = boost::asio;
using life = message_life;

namespace {

/// On the thread of a handler that is about to begin: the door that it comes home through. Null when it must not begin: it
/// has been called off, perhaps long ago, and its message with it; or its lease is over, and it comes home from here.
/// `tells`: by which clock its begin is told to the strand; null: that needs not know.
std::shared_ptr<door> begins(std::weak_ptr<door> const& home, held_ptr const& h, clock const* tells)
{
    if (h->turn.is_called_off()) return {};
    auto out = home.lock();
    if (!out || !out->is_open()) return {};
    auto const in_time = h->message.remaining().count() > 0;
    auto const has_the_say = in_time ? h->turn.begin() : h->turn.call_off();
    if (!has_the_say) return {};
    if (!in_time) {
        out->come_home({h, {}, {}});
        return {};
    }
    if (tells) {
        h->started_at = tells->now();
        out->note_begun(h);
    }
    return out;
}

/// Comes back with what a handler said or threw.
struct homecoming {
    std::shared_ptr<door> to;
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

asio::awaitable<std::vector<outcome>> handle_all(batch_handler const& handle, std::vector<held_ptr> what)
{
    std::vector<std::reference_wrapper<delivery>> messages;
    for (auto const& h : what)
        messages.emplace_back(h->message);
    deliveries const all(messages);
    auto said = co_await handle(all);
    if (said.size() == what.size()) co_return said;
    throw std::length_error("the batch handler returned " + std::to_string(said.size()) + " outcomes for " +
        std::to_string(what.size()) + " messages; all are tried again");
}

} // namespace

std::shared_ptr<handler_run> dispatch_stage::begin_run(std::span<held_ptr const> messages)
{
    auto const run = std::make_shared<handler_run>(handler_strand(), messages.size());
    for (auto const& h : messages) {
        begin_run(*h);
        h->run = run;
    }
    return run;
}

void dispatch_stage::begin_run(held& h)
{
    if (line_.running++ == 0) busy_ = asio::prefer(line_.strand.inner(), asio::execution::outstanding_work.tracked);
    h.life.on(life::event::begin);
    h.turn.wait();
    h.seen.waited = h.seen.handled = -1;
    if (!line_.options.handler_executor) note_begun(h, line_.now()); // else it may have to wait for a thread
}

void dispatch_stage::note_begun(held& h, tick at)
{
    runs_.started(h, line_.now());
    line_.note_begun(h, at);
}

/// The clock by which handlers tell that they have begun, where that is not known otherwise and somebody wants to
/// know.
clock const* dispatch_stage::tells() const
{
    auto const& o = line_.options;
    return o.handler_executor && (o.handler_timeout.count() != 0 || line_.watcher) ? &line_.time : nullptr;
}

/// One of its own where handlers may block. Otherwise they share a few, since a strand each costs memory.
compact_strand dispatch_stage::handler_strand()
{
    auto const& elsewhere = line_.options.handler_executor;
    if (!elsewhere) return shared_strands_[next_strand_++ % shared_strands_.size()];
    return compact_strand::on(asio::prefer(*elsewhere, asio::execution::outstanding_work.tracked));
}

/// Posted: begun from here, a handler would run its first stretch on the strand of the pipeline.
///
/// The function is called within the coroutine that is spawned, so a handler that throws before its first await is only a
/// failed message. No frame stands between the two, because each costs memory for as long as the handler waits.
void dispatch_stage::run(held_ptr h)
{
    if (door_->handle.call) return call(std::move(h));
    auto const on = begin_run({&h, 1})->on;
    auto begin = [home = std::weak_ptr(door_), h = std::move(h), on, tells = tells()]() mutable {
        auto to = begins(home, h, tells);
        if (!to) return;
        auto const& its = to->handle;
        auto& d = h->message;
        homecoming done{std::move(to), std::move(h)};
        if (its.plain)
            asio::co_spawn(
                on, [&its, &d] { return its.plain(d); }, std::move(done));
        else
            asio::co_spawn(
                on, [&its, &d] { return its.one(d); }, std::move(done));
    };
    asio::post(on, std::move(begin));
}

/// A plain function. It needs no strand. Until it begins it keeps its message alive, and nothing else.
void dispatch_stage::call(held_ptr h)
{
    begin_run(*h);
    auto const& elsewhere = line_.options.handler_executor;
    auto work = [home = std::weak_ptr(door_), h = std::move(h), tells = tells()]() mutable {
        auto const to = begins(home, h, tells);
        if (!to) return;
        finished done;
        try {
            done.said = to->handle.call(h->message);
        } catch (...) {
            done.thrown = std::current_exception();
        }
        done.what = std::move(h);
        to->come_home(std::move(done));
    };
    asio::post(elsewhere ? *elsewhere : line_.strand.inner(), std::move(work));
}

void dispatch_stage::run(std::vector<held_ptr> messages)
{
    auto const run = begin_run(messages);
    auto begin = [home = std::weak_ptr(door_), run, messages = std::move(messages), tells = tells()]() mutable {
        std::shared_ptr<door> to;
        std::erase_if(messages, [&](held_ptr const& h) {
            auto mine = begins(home, h, tells);
            if (!mine) return true;
            to = std::move(mine);
            return false;
        });
        if (!to) return;
        auto all = handle_all(to->handle.many, messages);
        auto done = [to = std::move(to), messages = std::move(messages)](
                        std::exception_ptr thrown, std::vector<outcome> said) {
            for (std::size_t i = 0; i < messages.size(); ++i)
                to->come_home({messages[i], thrown, thrown ? std::nullopt : std::optional(said[i])});
        };
        asio::co_spawn(run->on, std::move(all), asio::bind_cancellation_slot(run->cancel.slot(), std::move(done)));
    };
    asio::post(run->on, std::move(begin));
}

void dispatch_stage::stop_overdue(tick now)
{
    for (auto const& h : runs_.overdue(now)) {
        if (!h->run) continue; // a plain function: there is no way to tell it
        h->life.mark_overdue();
        tell(*h);
    }
}

/// True when its handler had not begun, and now never will.
bool dispatch_stage::call_off(held& h)
{
    if (!h.life.is_running() || !h.turn.call_off()) return false;
    door_->come_home({held_ptr(&h), {}, {}});
    return true;
}

void dispatch_stage::cancel(held& h)
{
    if (call_off(h)) return;
    if (h.life.is_running() && h.run && h.life.mark_cancelled()) tell(h);
}

void dispatch_stage::cancel_all()
{
    line_.in_flight.for_each([this](held_ptr const& h) { cancel(*h); });
}

/// Emits where the handler runs, and never before its coroutine has begun: either would be undefined. Of a batch, once
/// each of its messages says so.
void dispatch_stage::tell(held& h)
{
    ++h.run->told;
    tell_when_all_say_so(h.run);
}

void dispatch_stage::tell_when_all_say_so(std::shared_ptr<handler_run> const& run)
{
    if (run->messages == 0 || run->told == 0 || run->told % run->messages != 0) return;
    asio::post(run->on, [run] { run->cancel.emit(asio::cancellation_type::terminal); });
}

} // namespace quern::detail
