#include <quern/consumer/detail/group.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace quern::detail {

namespace asio = boost::asio;

namespace {

struct work final : lodgers::lodger {
    explicit work(asio::any_io_executor const& of)
        : counted(asio::prefer(of, asio::execution::outstanding_work.tracked))
    {}

    asio::any_io_executor const counted;
};

} // namespace

busy_context::busy_context(asio::any_io_executor const& of)
    : at_(lodgers::move_in(asio::query(of, asio::execution::context), std::make_shared<work>(of)))
{}

busy_context::~busy_context()
{
    lodgers::visit const last(at_, lodgers::purpose::move_out);
}

group_state::group_state(asio::any_io_executor ex, consumer_group_options const& options)
    : strand_(compact_strand::on(std::move(ex))), options_(options),
      time_(options.time ? *options.time : real_clock()), wake_(time_, strand_)
{}

void group_state::add(std::unique_ptr<consumer> it, std::size_t weight, std::size_t most)
{
    auto const of = [](asio::any_io_executor const& ex) { return &asio::query(ex, asio::execution::context); };
    auto const its = it->get_executor();
    if (of(its) != of(strand_.inner())) {
        busy_.emplace_back(its);
        busy_.emplace_back(strand_.inner());
    }
    all_.push_back({std::move(it), weight, most, most});
}

void group_state::spawn(asio::awaitable<void> task)
{
    asio::co_spawn(strand_, std::move(task), [self = shared_from_this()](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    });
}

void group_state::start()
{
    if (std::exchange(started_, true)) return;
    at_work_ = all_.size();
    if (all_.empty()) return end();
    spawn(work());
}

void group_state::stop(std::optional<std::chrono::milliseconds> limit)
{
    for (auto const& one : all_)
        one.it->stop(limit);
    start(); // only to see the end
}

/// The shares come first, so that nobody takes those of others at the start.
asio::awaitable<void> group_state::work()
{
    std::vector<sharer> who;
    for (auto const& one : all_)
        who.push_back({one.weight, one.most});
    auto const shares = fair_shares(options_.max_in_flight, who);
    for (std::size_t i = 0; i < all_.size(); ++i)
        co_await turn(all_[i], shares[i]);
    for (auto const& one : all_)
        spawn(watch(*one.it));
    while (!ended_) {
        auto const busy = co_await balance();
        std::optional<tick> look_at; // one alone has nobody to share with
        if (all_.size() > 1) look_at = time_.now() + (busy ? options_.look_every : 4 * options_.look_every);
        if (!ended_) co_await wake_.wait(look_at);
    }
}

asio::awaitable<void> group_state::watch(consumer& one)
{
    auto const end = co_await one.run();
    auto const said = co_await one.drained();
    report_.add(said);
    if (end.has_error() && !gave_up_) {
        gave_up_ = end.error();
        for (auto const& other : all_)
            other.it->halt();
    }
    if (--at_work_ == 0) this->end();
}

/// Lowers first, and looks again: only what nobody can take any more is free for others.
asio::awaitable<bool> group_state::balance()
{
    auto const all = options_.max_in_flight;
    auto now = co_await look();
    auto const wanted = wanted_limits(all, now);
    bool lowered = false;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        if (wanted[i] >= all_[i].limit) continue;
        lowered = true;
        co_await turn(all_[i], wanted[i]);
    }
    if (lowered) now = co_await look();
    auto const next = next_limits(all, now, wanted);
    for (std::size_t i = 0; i < all_.size(); ++i)
        if (next[i] > all_[i].limit) co_await turn(all_[i], next[i]);
    co_return std::ranges::any_of(now, [](auto const& s) { return s.in_flight != 0; });
}

asio::awaitable<std::vector<sharer>> group_state::look()
{
    std::vector<sharer> out;
    for (auto const& one : all_) {
        auto const load = co_await one.it->weigh();
        out.push_back({one.weight, one.most, one.limit, load.in_flight, load.coming, load.ending});
    }
    co_return out;
}

/// One that has ended needs none.
asio::awaitable<void> group_state::turn(colleague& which, std::size_t limit)
{
    which.limit = limit;
    auto const change = [limit](consumer_limits& l) { l.max_in_flight = limit; };
    auto const said = co_await which.it->set_limits(change);
    (void)said;
}

result<void> group_state::share(std::size_t max_in_flight)
{
    auto options = options_;
    options.max_in_flight = max_in_flight;
    if (auto const wrong = options.validate()) return *wrong;
    if (max_in_flight < all_.size())
        return failure(errc::invalid_option,
            "max_in_flight " + std::to_string(max_in_flight) + " is less than one for each of " +
                std::to_string(all_.size()) + " queues");
    options_ = options;
    wake_.ring();
    return {};
}

void group_state::join(std::shared_ptr<end_waiter> who)
{
    if (ended_) return who->tell(gave_up_, report_);
    waiting_.push_back(std::move(who));
}

void group_state::leave(std::shared_ptr<end_waiter> const& who)
{
    if (who && std::erase(waiting_, who) != 0) who->leave();
}

void group_state::end()
{
    ended_ = true;
    busy_.clear();
    wake_.ring();
    for (auto const& who : std::exchange(waiting_, {}))
        who->tell(gave_up_, report_);
    move_out_if_done();
}

void group_state::abandon()
{
    abandoned_ = true;
    for (auto const& one : all_)
        one.it->halt();
    move_out_if_done();
}

/// Lets go of the context, which kept it. What runs still has a share.
void group_state::move_out_if_done()
{
    if (!abandoned_ || (started_ && !ended_)) return;
    busy_.clear();
    lodgers::visit const last(at, lodgers::purpose::move_out);
}

} // namespace quern::detail
