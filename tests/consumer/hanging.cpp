// Handlers that do not end when they are told to, and what becomes of their messages and of those that wait.

#include "consumer/mill.hpp"

#include <quern/sim/virtual_threads.hpp>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct hanging : mill {
    sim::virtual_threads threads{io, time, 4};

    hanging() { options.handler_timeout = 10s; }

    void go(std::chrono::milliseconds how_long)
    {
        for (auto const until = time.now() + how_long; time.now() < until;) {
            time.run_for(io, 100ms);
            while (threads.run() != 0)
                time.run_for(io, 1ms);
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(handlers_that_hang, hanging)

// Its lease was extended for twelve hours, and another consumer beside it got the message after a day.
BOOST_AUTO_TEST_CASE(the_lease_of_a_handler_that_does_not_listen_is_left_to_end)
{
    consume([&](delivery&) -> asio::awaitable<outcome> {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        co_await pause(60min);
        co_return ack();
    });
    send_now(1);
    time.run_for(io, 1s);
    auto settings = options;
    settings.observer = nullptr;
    int handled = 0;
    consumer other(
        io.get_executor(), api, url, [&](delivery&) { ++handled; }, settings);
    other.start();
    time.run_for(io, 38s);
    BOOST_TEST(handled == 0);
    BOOST_TEST(until(5min, [&] { return handled == 1; }));
    BOOST_TEST(log_lines("handler hangs: ") != 0);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    other.stop();
    time.run_for(io, 90min);
}

// One after the other in the same coroutine.
BOOST_AUTO_TEST_CASE(each_call_begins_with_a_cancellation_state_of_its_own)
{
    options.limits.max_in_flight = 1;
    int calls = 0, cancelled = 0, clean = 0;
    tick begun;
    consume([&](delivery&) -> asio::awaitable<outcome> {
        auto const state = co_await asio::this_coro::cancellation_state;
        bool const throws = co_await asio::this_coro::throw_if_cancelled();
        clean += throws && state.cancelled() == asio::cancellation_type::none;
        switch (calls++ % 4) {
        case 0: // is told to end, and does not listen
            co_await asio::this_coro::throw_if_cancelled(false);
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            co_await pause(12s);
            break;
        case 1: // is told to end, and does
            begun = time.now();
            co_await pause(1min);
            cancelled += time.now() - begun < 11s;
            break;
        case 2: throw std::runtime_error("no");
        default: break; // does not wait at all
        }
        co_return ack();
    });
    send_now(40);
    BOOST_TEST(until(30min, [this] { return empty(); }));
    BOOST_TEST(calls >= 40);
    BOOST_TEST(clean == calls);
    BOOST_TEST(cancelled == (calls + 2) / 4);
}

// Each of 500 messages had its lease extended for twelve hours, and no line said why nothing was done.
BOOST_AUTO_TEST_CASE(when_all_threads_hang_the_rest_goes_back_and_nothing_is_received)
{
    options.handler_executor = threads.get_executor();
    options.limits.max_in_flight = 100;
    int done = 0;
    it.emplace(
        io.get_executor(), api, url,
        [&](delivery&) {
            if (++done <= 4) threads.stand_still(20min);
        },
        options);
    it->start();
    send_now(50);
    go(2min);
    BOOST_TEST(log_lines("handlers hang: ") == 1);
    BOOST_TEST(log_lines("handler timeout: ") != 0);
    BOOST_TEST(explained().find("all handlers hang") != std::string::npos, explained());
    BOOST_TEST(it->in_flight() <= 4u);
    auto const received = it->counters().received;
    go(10min);
    BOOST_TEST(it->counters().received == received);
    BOOST_TEST(visible() >= 46);
    go(15min);
    BOOST_TEST(done >= 50);
    BOOST_TEST(empty());
}

// One of four that hangs is no reason to stop.
BOOST_AUTO_TEST_CASE(while_one_thread_is_left_the_work_goes_on)
{
    options.handler_executor = threads.get_executor();
    int done = 0;
    it.emplace(
        io.get_executor(), api, url, [&](delivery&) { threads.stand_still(++done <= 3 ? 60min : 1'000ms); }, options);
    it->start();
    send_now(200);
    go(5min);
    BOOST_TEST(done >= 200);
    BOOST_TEST(log_lines("handlers hang: ") == 0);
}

BOOST_AUTO_TEST_CASE(handlers_that_run_for_long_are_no_standstill)
{
    options.handler_timeout.reset();
    options.stall_after = 60s;
    options.limits.max_in_flight = 5;
    consume([&](delivery&) -> asio::awaitable<outcome> {
        co_await pause(10min);
        co_return ack();
    });
    send_now(20);
    time.run_for(io, 30min);
    BOOST_TEST(log_lines("stalled") == 0);
}

BOOST_AUTO_TEST_CASE(messages_that_wait_for_a_thread_are_one_though_polls_come_back_empty)
{
    options.handler_timeout.reset();
    options.stall_after = 60s;
    options.handler_executor = threads.get_executor();
    it.emplace(
        io.get_executor(), api, url, [&](delivery&) { threads.stand_still(30min); }, options);
    it->start();
    send_now(20);
    go(3min);
    BOOST_TEST(log_lines("stalled") != 0);
}

BOOST_AUTO_TEST_SUITE_END()
