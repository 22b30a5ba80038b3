#include <quern/consumer/consumer_group.hpp>
#include <quern/consumer/detail/group.hpp>
#include <quern/core/detail/ask.hpp>
#include <quern/core/detail/throw_wrong.hpp>

#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>
#include <utility>

namespace quern {

using namespace detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;

std::optional<failure> consumer_group_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (max_in_flight == 0 || max_in_flight > 1'000'000) return wrong("max_in_flight must be from 1 to 1000000");
    if (look_every < 10ms || look_every > 1min) return wrong("look_every must be from 10 ms to 1 min");
    return {};
}

consumer_group::consumer_group(asio::any_io_executor ex, consumer_group_options options)
    : ex_(std::move(ex)), max_in_flight_(options.max_in_flight)
{
    throw_wrong(options.validate());
    auto const made = std::make_shared<group_state>(ex_, options);
    auto& home = asio::query(ex_, asio::execution::context);
    made->at = at_ = lodgers::move_in(home, std::make_shared<tenant<group_state>>(made));
}

consumer_group::~consumer_group()
{
    if (at_.home) post_to<group_state>(at_, [](group_state& all) { all.abandon(); });
}

consumer_group& consumer_group::operator=(consumer_group&& from) noexcept
{
    consumer_group moved(std::move(from));
    std::swap(ex_, moved.ex_);
    std::swap(at_, moved.at_);
    std::swap(members_, moved.members_);
    std::swap(max_in_flight_, moved.max_in_flight_);
    std::swap(begun_, moved.begun_);
    return *this;
}

consumer& consumer_group::add(asio::any_io_executor on, sqs::api* api, std::string queue_url, handlers handle,
    consumer_options options, std::size_t weight)
{
    auto const refuse = [](std::string what) {
        throw_exception_from_error(failure(errc::invalid_option, std::move(what)), BOOST_CURRENT_LOCATION);
    };
    if (*begun_) refuse("add() comes before start(): the queues are shared out by then");
    if (weight == 0 || weight > 1'000) refuse("weight must be from 1 to 1000");
    auto const is_same = [&](member const& m) { return m.queue_url == queue_url && m.it.get().get_executor() == on; };
    if (std::ranges::any_of(members_, is_same))
        refuse(queue_url + " is there already: a greater weight gives it more, another executor another core");
    if (members_.size() == max_in_flight_)
        refuse("max_in_flight " + std::to_string(max_in_flight_) + " is less than one for each queue: raise it");

    auto const most = options.limits.max_in_flight;
    std::unique_ptr<consumer> made(
        new consumer(std::move(on), api, queue_url, std::move(handle), std::move(options)));
    auto& out = *made;
    bool is_there = false;
    visit_tenant<group_state>(at_, [&](auto const& all) {
        all->add(std::move(made), weight, most);
        is_there = true;
    });
    if (!is_there) refuse("the context has ended");
    members_.push_back({std::move(queue_url), weight, out});
    return out;
}

void consumer_group::start()
{
    *begun_ = true;
    post_to<group_state>(at_, [](group_state& all) { all.start(); });
}

void consumer_group::stop(std::optional<std::chrono::milliseconds> limit)
{
    *begun_ = true;
    post_to<group_state>(at_, [limit](group_state& all) { all.stop(limit); });
}

asio::awaitable<result<drain_report>> consumer_group::run_to_end()
{
    auto begin = [begun = begun_](group_state& all) {
        *begun = true;
        all.start();
    };
    return wait_for_end<group_state>(at_, begin, &end_waiter::of_run);
}

asio::awaitable<drain_report> consumer_group::drain_within(std::chrono::milliseconds limit)
{
    auto begin = [begun = begun_, limit](group_state& all) {
        *begun = true;
        all.stop(limit);
    };
    return wait_for_end<group_state>(at_, begin, &end_waiter::of_drain);
}

asio::awaitable<drain_report> consumer_group::end_of_drain()
{
    auto nothing = [](group_state&) {};
    return wait_for_end<group_state>(at_, nothing, &end_waiter::of_drain);
}

void consumer_group::drain_on(std::initializer_list<int> signals, std::optional<std::chrono::milliseconds> limit)
{
    for (auto const& one : members_)
        one.it.get().drain_on(signals, limit);
}

asio::awaitable<result<void>> consumer_group::share(std::size_t n)
{
    return ask<result<void>>([at = at_, n](asker<result<void>> who) {
        post_to<group_state>(at, [who = std::move(who), n](group_state& all) { who.tell(all.share(n)); });
    });
}

} // namespace quern
