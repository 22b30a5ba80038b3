// Where handlers run: how one begins, and how it is told to end.

#include <quern/consumer/detail/dispatch/dispatch_stage.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <functional>
#include <stdexcept>
#include <utility>

namespace quern::detail {

namespace asio = boost::asio;
using life = message_life;

namespace {

/// Comes back with what a handler said or threw, or when nothing calls it any more.
struct homecoming {
    std::shared_ptr<door> to;
    held_ptr h;

    homecoming(std::shared_ptr<door> home, held_ptr who) : to(std::move(home)), h(std::move(who)) {}
    homecoming(homecoming&&) = default;
    ~homecoming()
    {
        if (to) to->come_home({std::move(h), {}, {}, true});
    }

    using cancellation_slot_type = asio::cancellation_slot;
    cancellation_slot_type get_cancellation_slot() const noexcept { return h->run->cancel.slot(); }

    void operator()(std::exception_ptr thrown) { (*this)(thrown, ack()); }
    void operator()(std::exception_ptr thrown, outcome said)
    {
        std::optional<outcome> verdict;
        if (!thrown) verdict = std::move(said);
        std::exchange(to, nullptr)->come_home({std::move(h), std::move(thrown), std::move(verdict)});
    }
};

/// The same of a batch.
struct homecoming_of_all {
    std::shared_ptr<door> to;
    std::vector<held_ptr> messages;

    homecoming_of_all(std::shared_ptr<door> home, std::vector<held_ptr> all)
        : to(std::move(home)), messages(std::move(all))
    {}
    homecoming_of_all(homecoming_of_all&&) = default;
    ~homecoming_of_all()
    {
        if (!to) return;
        for (auto& h : messages)
            to->come_home({std::move(h), {}, {}, true});
    }

    using cancellation_slot_type = asio::cancellation_slot;
    cancellation_slot_type get_cancellation_slot() const noexcept { return messages.front()->run->cancel.slot(); }

    void operator()(std::exception_ptr thrown, std::vector<outcome> said)
    {
        auto const home = std::exchange(to, nullptr);
        for (std::size_t i = 0; i < messages.size(); ++i)
            home->come_home({messages[i], thrown, thrown ? std::nullopt : std::optional(said[i])});
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

std::shared_ptr<handler_run> dispatch_stage::make_run(std::size_t messages)
{
    if (!takes_batches()) return std::make_shared<handler_run>(handler_strand(), messages);
    ++batch_calls_;
    return std::make_shared<batch_run>(handler_strand(), messages);
}

handler_turn::number dispatch_stage::begin_run(held& h, tick now)
{
    if (line_.running++ == 0) place_.keep_busy(true);
    h.life.on(life::event::begin);
    h.message.note_last_receive(outage_.is_last_receive(h));
    h.ended_at = held::not_begun;
    if (!place_.is_elsewhere()) note_begun(h, now); // else it may have to wait for a thread
    return h.turn.wait();
}

void dispatch_stage::note_begun(held& h, tick at)
{
    runs_.started(h, at);
    line_.note_begun(h);
}

/// The clock by which handlers tell that they have begun, where that is not known otherwise and somebody wants to
/// know.
clock const* dispatch_stage::tells() const
{
    auto const& o = line_.options;
    return place_.is_elsewhere() && (o.handler_timeout.count() != 0 || line_.watcher) ? &line_.time : nullptr;
}

/// One of its own where handlers may block. Otherwise they share a few, since a strand each costs memory.
compact_strand dispatch_stage::handler_strand()
{
    if (!place_.is_elsewhere()) return shared_strands_[next_strand_++ % shared_strands_.size()];
    return compact_strand::on(place_.executor());
}

/// Posted: begun from here, a handler would run its first stretch on the strand of the pipeline.
///
/// The function is called within the coroutine that is spawned, so a handler that throws before its first await is
/// only a failed message. No frame stands between the two, because each costs memory for as long as the handler
/// waits.
void dispatch_stage::run(held_ptr h, tick now)
{
    if (door_->handle.call) {
        auto const turn = begin_run(*h, now);
        return calls_->add(std::move(h), turn);
    }
    auto const run = make_run(1);
    h->run = run;
    auto const turn = begin_run(*h, now);
    auto begin = [home = std::weak_ptr(door_), h = std::move(h), tells = tells(), turn]() mutable {
        auto to = home.lock();
        if (!to || !to->lets_begin(h, turn, h->message.remaining(), tells)) return;
        auto const& its = to->handle;
        auto const& on = h->run->on;
        auto& d = h->message;
        homecoming done(std::move(to), std::move(h));
        if (its.plain)
            asio::co_spawn(
                on, [&its, &d] { return its.plain(d); }, std::move(done));
        else
            asio::co_spawn(
                on, [&its, &d] { return its.one(d); }, std::move(done));
    };
    asio::post(run->on, std::move(begin));
}

void dispatch_stage::run(std::vector<held_ptr> messages, tick now)
{
    auto const run = make_run(messages.size());
    std::vector<handler_turn::number> turns;
    for (auto const& h : messages) {
        h->run = run;
        turns.push_back(begin_run(*h, now));
    }
    auto begin = [home = std::weak_ptr(door_), run, messages = std::move(messages), turns = std::move(turns),
                     tells = tells()]() mutable {
        auto to = home.lock();
        if (!to) return;
        auto turn = turns.begin();
        std::erase_if(
            messages, [&](held_ptr const& h) { return !to->lets_begin(h, *turn++, h->message.remaining(), tells); });
        if (messages.empty()) return;
        auto all = handle_all(to->handle.many, messages);
        asio::co_spawn(run->on, std::move(all), homecoming_of_all(std::move(to), std::move(messages)));
    };
    asio::post(run->on, std::move(begin));
}

void dispatch_stage::stop_overdue(tick now)
{
    for (auto const& h : runs_.overdue(now)) {
        if (!h->run) continue; // a plain function: there is no way to tell it
        auto const is_new = !h->life.is_told();
        if (h->life.mark_overdue()) tell(*h, is_new);
    }
}

/// True when its handler had not begun, and now never will.
bool dispatch_stage::call_off(held& h)
{
    if (!h.life.is_running() || !h.turn.call_off()) return false;
    door_->come_home({held_ptr(&h), {}, {}});
    return true;
}

/// Handlers that wait for a thread may do so for long, and run against what is known to be down by then. They come
/// home without having begun, and their messages stand back. All others begin in this instant.
void dispatch_stage::call_off_revoked(tick now)
{
    if (!place_.is_elsewhere() && !door_->handle.call) return;
    line_.in_flight.for_each([&](held_ptr const& h) {
        if (h->life.is_running() && outage_.revokes(*h, now)) call_off(*h);
    });
}

void dispatch_stage::cancel(held& h)
{
    if (call_off(h)) return;
    auto const is_new = !h.life.is_told();
    if (h.life.is_running() && h.run && h.life.mark_cancelled()) tell(h, is_new);
}

void dispatch_stage::cancel_all()
{
    line_.in_flight.for_each([this](held_ptr const& h) { cancel(*h); });
}

/// Emits where the handler runs, and never before its coroutine has begun: either would be undefined. Of a batch,
/// once each of its messages says so, whether for want of time or of a lease.
void dispatch_stage::tell(held& h, bool is_new)
{
    h.run->told += is_new ? 1 : 0;
    tell_when_all_say_so(h.run);
}

void dispatch_stage::tell_when_all_say_so(std::shared_ptr<handler_run> const& run)
{
    if (run->messages == 0 || run->told < run->messages) return;
    asio::post(run->on, [run] { run->cancel.emit(asio::cancellation_type::terminal); });
}

} // namespace quern::detail
