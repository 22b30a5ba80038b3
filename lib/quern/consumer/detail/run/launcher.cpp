#include <quern/consumer/detail/run/launcher.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <functional>
#include <stdexcept>
#include <utility>

namespace quern::detail {

namespace asio = boost::asio;

namespace {

/// Coroutines that are kept without a message; the rest end. About a kilobyte each.
constexpr std::size_t most_idle = 1000;

/// Enough that two handlers that are busy at the same time, on a few threads, hardly ever share one.
std::vector<compact_strand> make_strands(asio::any_io_executor const& ex)
{
    std::vector<compact_strand> out;
    for (int i = 0; i < 64; ++i)
        out.push_back(compact_strand::on(ex));
    return out;
}

/// Comes back with what a batch handler said or threw, or when nothing calls it any more.
struct homecoming_of_all {
    std::shared_ptr<handler_channel> to;
    std::vector<held_ptr> messages;

    homecoming_of_all(std::shared_ptr<handler_channel> home, std::vector<held_ptr> all)
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

launcher::launcher(handlers handle, compact_strand const& own, std::optional<asio::any_io_executor> elsewhere,
    clock& time, bool tells)
    : channel_(std::make_shared<handler_channel>(std::move(handle))),
      place_(own.inner(), std::move(elsewhere), channel_), tells_(tells && place_.is_elsewhere() ? &time : nullptr),
      calls_(std::make_shared<call_queue>(channel_, place_.executor(), time, tells_)),
      shared_strands_(make_strands(own.inner()))
{}

void launcher::open(compact_strand to, std::weak_ptr<void> owner, channel_keeper& who)
{
    channel_->open(std::move(to), std::move(owner), who);
}

void launcher::close()
{
    channel_->close();
    idle_.clear();
}

/// One of its own where handlers may block. Otherwise they share a few, since a strand each costs memory.
compact_strand launcher::handler_strand()
{
    if (!is_elsewhere()) return shared_strands_[next_strand_++ % shared_strands_.size()];
    return compact_strand::on(place_.executor());
}

std::shared_ptr<runner> launcher::idle_runner()
{
    if (idle_.empty()) return std::make_shared<runner>(handler_strand());
    auto out = std::move(idle_.back());
    idle_.pop_back();
    out->told = 0;
    return out;
}

void launcher::take_back(std::shared_ptr<handler_run> run)
{
    if (idle_.size() < most_idle) idle_.push_back(std::static_pointer_cast<runner>(std::move(run)));
}

/// Posted: begun from here, a handler would run its first stretch on the strand of the pipeline.
void launcher::begin(held_ptr h)
{
    auto const turn = h->turn.wait();
    if (channel_->handle.call) return calls_->add(std::move(h), turn);
    auto const run = idle_runner();
    h->run = run;
    auto begin = [home = std::weak_ptr(channel_), h = std::move(h), tells = tells_, turn]() mutable {
        auto to = home.lock();
        if (!to || !to->lets_begin(h, turn, h->message.remaining(), tells)) return;
        auto& its = static_cast<runner&>(*h->run);
        its.begin(std::move(to), std::move(h));
    };
    asio::post(run->on, std::move(begin));
}

void launcher::begin(std::vector<held_ptr> messages)
{
    auto const run = std::make_shared<batch_run>(handler_strand(), messages.size());
    std::vector<handler_turn::number> turns;
    for (auto const& h : messages) {
        h->run = run;
        turns.push_back(h->turn.wait());
    }
    auto begin = [home = std::weak_ptr(channel_), run, messages = std::move(messages), turns = std::move(turns),
                     tells = tells_]() mutable {
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

bool launcher::call_off(held& h)
{
    if (!h.turn.call_off()) return false;
    channel_->come_home({held_ptr(&h), {}, {}});
    return true;
}

/// Emits where the handler runs, and never before its coroutine has begun: either would be undefined. Of a batch,
/// once each of its messages says so, whether for want of time or of a lease.
void launcher::tell(held& h, bool is_new)
{
    h.run->told += is_new ? 1 : 0;
    tell_when_all_say_so(h.run);
}

void launcher::tell_when_all_say_so(std::shared_ptr<handler_run> const& run)
{
    if (run->messages == 0 || run->told < run->messages) return;
    asio::post(run->on, [run] { run->cancel.emit(asio::cancellation_type::terminal); });
}

} // namespace quern::detail
