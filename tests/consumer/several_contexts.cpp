#include <quern/consumer/consumer_group.hpp>

#include "support/live_broker.hpp"
#include "support/wait_until.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> rest(std::chrono::milliseconds d)
{
    auto const ex = co_await asio::this_coro::executor;
    asio::steady_timer timer(ex, d);
    co_await timer.async_wait(asio::use_awaitable);
}

} // namespace

BOOST_AUTO_TEST_SUITE(several_contexts)

// One strand fills one core. Two contexts of one group share the limit, a queue, and the drain.
BOOST_AUTO_TEST_CASE(a_queue_on_several_contexts)
{
    live_broker broker;
    auto const url = broker.create("orders");
    std::array<asio::io_context, 2> contexts;
    std::array<std::atomic<int>, 2> handled{};
    consumer_group all(contexts[0], {.max_in_flight = 40});
    consumer_options options;
    options.wait_time = 1s;
    for (std::size_t i = 0; i < contexts.size(); ++i) {
        auto const handle = [&handled, i](delivery&) -> asio::awaitable<void> {
            ++handled[i];
            co_await rest(2ms);
        };
        all.add(contexts[i].get_executor(), url, handle, options);
        BOOST_CHECK_THROW(all.add(contexts[i].get_executor(), url, handle, options), boost::system::system_error);
    }
    all.start();
    std::vector<std::thread> threads;
    for (auto& each : contexts)
        threads.emplace_back([&each] { each.run(); });
    for (int i = 0; i < 20; ++i) // each has something to do, whoever is quicker
        broker.send(url, 50);
    wait_until([&] { return handled[0] + handled[1] >= 1'000; });
    auto const end = all.drain(10s, asio::use_future).get();
    for (auto& each : threads)
        each.join();
    BOOST_TEST(end.stranded == 0);
    BOOST_TEST(handled[0] + handled[1] == 1'000);
    BOOST_TEST(handled[0] > 0);
    BOOST_TEST(handled[1] > 0);
}

BOOST_AUTO_TEST_SUITE_END()
