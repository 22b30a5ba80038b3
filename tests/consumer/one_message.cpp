#include <quern/sim/one_message.hpp>

#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

namespace asio = boost::asio;
using namespace quern;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(one_message)

BOOST_AUTO_TEST_CASE(has_what_it_was_given)
{
    auto const d = sim::make_delivery({"rolls", {{"tenant", "a"}, {"kind", "new"}}, "g1", 3});
    BOOST_TEST(d->body() == "rolls");
    BOOST_TEST(d->group() == "g1");
    BOOST_TEST(d->receive_count() == 3);
    BOOST_REQUIRE(d->attribute("tenant"));
    BOOST_TEST(d->attribute("tenant")->value == "a");
    BOOST_TEST(d->attribute("kind")->value == "new");
    BOOST_TEST(!d->attribute("other"));
}

BOOST_AUTO_TEST_CASE(a_handler_of_each_shape_runs)
{
    auto const d = sim::make_delivery({"rolls"});
    auto const what = [&](auto handle) { return sim::run_handler(std::move(handle), *d).what(); };
    BOOST_TEST((what([](delivery&) {}) == outcome::kind::ack));
    BOOST_TEST((what([](delivery&) { return retry(); }) == outcome::kind::retry));
    BOOST_TEST((what([](delivery&) -> asio::awaitable<void> { co_return; }) == outcome::kind::ack));
    BOOST_TEST((what([](delivery&) -> asio::awaitable<outcome> { co_return release(); }) == outcome::kind::release));
    auto batch = [](deliveries all) -> asio::awaitable<std::vector<outcome>> {
        co_return std::vector<outcome>(all.size(), reject("no"));
    };
    BOOST_TEST((what(batch) == outcome::kind::reject));
}

BOOST_AUTO_TEST_CASE(what_the_handler_throws_comes_out)
{
    auto const d = sim::make_delivery({"rolls"});
    auto throws = [](delivery&) -> asio::awaitable<void> {
        if (true) throw parse_error("no rolls");
        co_return;
    };
    BOOST_CHECK_THROW((void)sim::run_handler(throws, *d), parse_error);
}

BOOST_AUTO_TEST_CASE(its_operations_succeed_and_time_passes_at_once)
{
    auto const d = sim::make_delivery({"rolls"});
    sim::virtual_clock time;
    auto handle = [&](delivery& order) -> asio::awaitable<outcome> {
        auto const timer = time.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(time.now() + 3h);
        auto const said = co_await order.ack();
        if (said) co_return ack();
        co_return retry();
    };
    BOOST_TEST((sim::run_handler(handle, *d, &time).what() == outcome::kind::ack));
}

BOOST_AUTO_TEST_CASE(a_handler_that_waits_for_nothing_is_told_of)
{
    auto const d = sim::make_delivery({"rolls"});
    sim::virtual_clock time;
    auto handle = [&](delivery&) -> asio::awaitable<void> {
        auto const timer = time.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(tick::max());
    };
    BOOST_CHECK_THROW((void)sim::run_handler(handle, *d, &time), std::logic_error);
}

BOOST_AUTO_TEST_SUITE_END()
