#include "consumer/mill.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <csignal>
#include <memory>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct drained_mill : mill {
    /// Handlers that take that long, unless they are cancelled, and then say so; all have begun.
    void run(int count, std::chrono::milliseconds length, outcome said)
    {
        send(count);
        consume([this, length, said](delivery&) -> asio::awaitable<outcome> {
            co_await pause(length / 2);
            co_await pause(length / 2);
            co_return said;
        });
        BOOST_REQUIRE(until(10s, [&] { return running == static_cast<std::size_t>(count); }));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(draining, drained_mill)

BOOST_AUTO_TEST_CASE(an_idle_consumer_ends_with_its_long_poll)
{
    consume(fast);
    time.run_for(io, 5s);
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST(end.took <= 20s);
}

BOOST_AUTO_TEST_CASE(what_arrives_while_draining_is_given_back_at_once)
{
    consume(fast);
    time.run_for(io, 5s);
    begin_drain(30s);
    time.run_for(io, 1s);
    send(3); // the long poll that is still open receives them
    BOOST_TEST(until(30s, [this] { return report.has_value(); }));
    BOOST_TEST(report->clean());
    BOOST_TEST(report->released == 1u); // the others came when the long poll had ended
    BOOST_TEST(runs.empty());
    BOOST_TEST(visible() == 3);
    BOOST_TEST(hidden() == 0);
}

// Given back earlier, a message would only come back through a receive of ours that is still open, and each time
// count as received once more: a step towards the dead-letter queue.
BOOST_AUTO_TEST_CASE(nothing_is_given_back_while_a_receive_of_ours_could_take_it)
{
    run(200, 2s, release());
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST(end.released == 200u);
    BOOST_TEST(visible() == 200);
}

BOOST_AUTO_TEST_CASE(running_handlers_end_and_are_settled)
{
    run(50, 5s, ack());
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST(end.finished == 50u);
    BOOST_TEST(empty());
}

BOOST_AUTO_TEST_CASE(handlers_that_take_too_long_are_cancelled_and_their_messages_released)
{
    run(50, 1h, ack());
    auto const end = drained(10s);
    BOOST_TEST(end.clean());
    BOOST_TEST(end.cancelled == 50u);
    BOOST_TEST(end.released >= 50u); // a receive of ours that was still open may have brought some back
    BOOST_TEST(end.took < 10s);
    BOOST_TEST(visible() == 50);
    BOOST_TEST(hidden() == 0);
}

BOOST_AUTO_TEST_CASE(a_second_drain_cancels_at_once_and_both_get_the_report)
{
    run(5, 1h, ack());
    begin_drain(30s);
    time.run_for(io, 1s);
    BOOST_TEST(!report.has_value());
    std::optional<drain_report> second;
    asio::co_spawn(io, it->drain(30s), [&](std::exception_ptr e, drain_report r) {
        BOOST_TEST(!e);
        second = r;
    });
    BOOST_TEST(until(25s, [&] { return report.has_value() && second.has_value(); }));
    BOOST_TEST(report->cancelled == 5u);
    BOOST_TEST(visible() == 5);
}

// They waited for each other until nine tenths of the drain's time were over.
BOOST_AUTO_TEST_CASE(handlers_that_await_the_drain_are_cancelled_as_soon_as_they_alone_are_left)
{
    send(3);
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        if (d.body() == "m0") {
            co_await pause(1s);
            co_await it->drain(10min);
        } else if (d.body() == "m1") {
            co_await it->drained();
        } else {
            co_await pause(1min); // and ends by itself
        }
        co_return ack();
    });
    BOOST_TEST(until(1min, [this] { return running == 3; }));
    auto const began = time.now();
    asio::co_spawn(io, it->drained(), [this](std::exception_ptr, drain_report r) { report = r; });
    BOOST_REQUIRE(until(10min, [this] { return report.has_value(); }));
    BOOST_TEST(time.now() - began <= 65s);
    BOOST_TEST(report->clean());
    BOOST_TEST(report->finished == 1u);
    BOOST_TEST(report->cancelled == 2u);
    BOOST_TEST(visible() == 2);
}

BOOST_AUTO_TEST_CASE(a_batch_whose_handler_awaits_the_drain_is_given_back)
{
    send(3);
    auto stops = [this](deliveries) -> asio::awaitable<void> { co_await it->drain(10min); };
    it.emplace(io.get_executor(), api, url, stops, options);
    it->start();
    asio::co_spawn(io, it->drained(), [this](std::exception_ptr, drain_report r) { report = r; });
    BOOST_REQUIRE(until(1min, [this] { return report.has_value(); }));
    BOOST_TEST(report->clean());
    BOOST_TEST(report->cancelled == 3u);
    BOOST_TEST(visible() == 3);
}

BOOST_AUTO_TEST_CASE(settlements_that_cannot_be_confirmed_are_reported_not_forgotten)
{
    send(20);
    api.on_delete = api.on_change = [] { return std::optional(failure(errc::connect_failed, "refused", true)); };
    consume([](delivery& d) -> asio::awaitable<outcome> {
        auto const even = (d.body().back() - '0') % 2 == 0;
        co_return even ? ack() : release();
    });
    BOOST_TEST(until(10s, [this] { return runs.size() == 20; }));
    auto const end = drained(10s);
    BOOST_TEST(!end.clean());
    BOOST_TEST(end.at_risk == 10u);
    BOOST_TEST(end.stranded == 10u);
    BOOST_TEST(end.took == 10s);
}

BOOST_AUTO_TEST_CASE(a_consumer_that_never_started_drains_at_once)
{
    it.emplace(io.get_executor(), api, url, fast, options);
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST(end.took == 0s);
    it->start();
    time.run_for(io, 1min);
    BOOST_TEST(api.receives == 0);
}

BOOST_AUTO_TEST_CASE(the_wait_for_a_drain_outlives_the_consumer)
{
    auto mine = std::make_unique<consumer>(io.get_executor(), api, url, fast, options);
    auto wait = mine->drain(10s);
    mine.reset();
    asio::co_spawn(io, std::move(wait), [this](std::exception_ptr e, drain_report r) {
        BOOST_TEST(!e);
        report = r;
    });
    BOOST_TEST(until(11s, [this] { return report.has_value(); }));
}

BOOST_AUTO_TEST_CASE(whoever_waits_for_a_consumer_that_is_never_started_is_told_when_it_goes)
{
    auto mine = std::make_unique<consumer>(io.get_executor(), api, url, fast, options);
    asio::co_spawn(io, mine->drained(), [this](std::exception_ptr e, drain_report r) {
        BOOST_TEST(!e);
        report = r;
    });
    time.run_for(io, 1min);
    BOOST_TEST(!report.has_value());
    mine.reset();
    BOOST_TEST(until(1s, [this] { return report.has_value(); }));
}

BOOST_AUTO_TEST_CASE(a_cancelled_wait_for_the_drain_leaves_the_line)
{
    asio::cancellation_signal stop;
    bool ended = false;
    consume(fast);
    asio::co_spawn(
        io, it->drained(), asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr e, drain_report) {
            BOOST_TEST(!!e);
            ended = true;
        }));
    time.run_for(io, 1s);
    stop.emit(asio::cancellation_type::terminal);
    time.run_for(io, 1s);
    BOOST_TEST(ended);
    BOOST_TEST(drained().clean());
}

BOOST_AUTO_TEST_CASE(signals_are_the_systems_again_after_the_drain)
{
    auto const handled = [] {
        struct sigaction now = {};
        ::sigaction(SIGUSR1, nullptr, &now);
        return now.sa_handler != SIG_DFL;
    };
    consume(fast);
    it->drain_on({SIGUSR1});
    time.run_for(io, 0s);
    BOOST_TEST(handled());
    BOOST_TEST(drained().clean());
    BOOST_TEST(!handled());
    it->drain_on({SIGUSR1});
    time.run_for(io, 0s);
    BOOST_TEST(!handled());
}

// The signal was heard, and the next one was awaited of a set that had gone: the process could only be killed.
BOOST_AUTO_TEST_CASE(a_signal_before_the_start_ends_it)
{
    it.emplace(io.get_executor(), api, url, handler(fast), options);
    it->drain_on({SIGUSR1});
    time.run_for(io, 0s);
    ::raise(SIGUSR1);
    time.run_for(io, 0s);
    BOOST_TEST(log_lines("never started: neither start() nor run()") == 1);
    it->start();
    asio::co_spawn(io, it->drained(), [this](std::exception_ptr, drain_report r) { report = r; });
    BOOST_TEST(until(1s, [this] { return report.has_value(); }));
    BOOST_TEST(report->clean());
    it.reset();
    local.reset();
    time.run_for(io, 0s);
    BOOST_TEST(io.stopped()); // nothing is left to do
}

BOOST_AUTO_TEST_CASE(absurd_limits_are_cut)
{
    consume(fast);
    time.run_for(io, 1s);
    begin_drain(std::chrono::milliseconds::max());
    BOOST_TEST(until(21s, [this] { return report.has_value(); }));
    BOOST_TEST(report->clean());
}

BOOST_AUTO_TEST_CASE(a_limit_below_zero_ends_at_once)
{
    consume(fast);
    time.run_for(io, 1s);
    begin_drain(std::chrono::milliseconds::min());
    BOOST_TEST(until(1s, [this] { return report.has_value(); }));
    BOOST_TEST(report->polls == 1u);
}

BOOST_AUTO_TEST_CASE(a_drain_at_any_moment_leaves_nothing_hidden)
{
    for (auto at = 0ms; at < 400ms; at += 7ms) {
        BOOST_TEST_CONTEXT("drain after " << at.count() << " ms")
        {
            mill m;
            m.send(100);
            m.options.limits.max_in_flight = 30;
            m.consume([&m](delivery& d) -> asio::awaitable<outcome> {
                co_await m.pause(20ms * d.receive_count());
                auto const odd = d.body().back() % 2 == 1;
                co_return odd&& d.receive_count() == 1 ? release() : ack();
            });
            m.time.run_for(m.io, at);
            auto const end = m.drained();
            BOOST_TEST(end.clean());
            BOOST_TEST(m.hidden() == 0);
            BOOST_TEST(m.visible() + static_cast<int>(m.it->counters().acked) == 100);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_fails_keeps_its_backoff_although_the_consumer_was_paused)
{
    options.backoff = policy::backoff::fixed({2min});
    run(1, 10s, retry());
    it->pause();
    begin_drain(30s);
    BOOST_TEST(until(30s, [this] { return report.has_value(); }));
    BOOST_TEST(report->clean());
    BOOST_TEST(visible() == 0);
    BOOST_TEST(hidden() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
