// A handler that waits for something real: a simulated day is over before a socket has stirred.

#include <quern/sim/world.hpp>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

namespace asio = boost::asio;
using namespace quern;
using namespace std::chrono_literals;

namespace {

sim::run_result run_calm_day(sim::timed_handler handle)
{
    sim::run_options options;
    options.handle = std::move(handle);
    return sim::run(sim::draw("calm", 1), options);
}

} // namespace

BOOST_AUTO_TEST_SUITE(real_waits)

BOOST_AUTO_TEST_CASE(a_day_says_that_its_handlers_wait_for_something_real)
{
    auto const result = run_calm_day([](delivery&, quern::clock&) -> asio::awaitable<outcome> {
        asio::steady_timer real(co_await asio::this_coro::executor, 1h);
        co_await real.async_wait(asio::use_awaitable);
        co_return ack();
    });
    BOOST_REQUIRE(result.warnings.size() == 1u);
    BOOST_TEST_INFO(result.warnings.front());
    BOOST_TEST(result.warnings.front().find("something real") != std::string::npos);
    BOOST_REQUIRE(!result.passed());
    BOOST_TEST(result.violations.front() == result.warnings.front());
}

BOOST_AUTO_TEST_CASE(a_handler_may_take_many_leases_of_virtual_time)
{
    auto const result = run_calm_day([](delivery&, quern::clock& time) -> asio::awaitable<outcome> {
        auto const timer = time.make_timer(co_await asio::this_coro::executor);
        auto const due = co_await timer->wait_until(time.now() + 10min);
        co_return due ? ack() : release();
    });
    BOOST_TEST(result.warnings.empty());
}

BOOST_AUTO_TEST_SUITE_END()
