// Every operation takes any completion token, and ends one way when it is cancelled.

#include "consumer/mill.hpp"

#include <quern/consumer/detail/message/held.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <future>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;
using boost::system::error_code;

namespace {

struct tokens : mill {
    void consume_some(int count = 20)
    {
        send(count);
        consume(fast);
        BOOST_REQUIRE(until(1min, [this] { return empty(); }));
    }

    template <class T>
    T got(std::future<T> from)
    {
        BOOST_REQUIRE(until(1min, [&] { return from.wait_for(0s) == std::future_status::ready; }));
        return from.get();
    }

    bool ended() { return it->in_flight() == 0 && visible() == 0; }
};

using own_executor = asio::io_context::executor_type;

} // namespace

BOOST_FIXTURE_TEST_SUITE(completion_tokens, tokens)

BOOST_AUTO_TEST_CASE(a_callback)
{
    consume_some();
    std::optional<result<drain_report>> of_run;
    it->run([&](result<drain_report> said) { of_run = std::move(said); });
    it->drain(30s, [&](error_code ec, drain_report said) {
        BOOST_TEST(!ec);
        report = said;
    });
    BOOST_REQUIRE(until(1min, [&] { return report && of_run; }));
    BOOST_TEST(report->stranded == 0);
    BOOST_TEST(of_run->has_value());
}

BOOST_AUTO_TEST_CASE(a_future)
{
    consume_some();
    BOOST_TEST(got(it->explain(asio::use_future)).in_flight == 0);
    consumer_limits no;
    no.max_in_flight = 0;
    BOOST_TEST(got(it->set_limits(no, asio::use_future)).has_error());
    report = got(it->drain(30s, asio::use_future));
    BOOST_TEST(report->stranded == 0);
}

BOOST_AUTO_TEST_CASE(a_deferred_operation_begins_when_it_is_initiated)
{
    consume_some();
    auto later = it->drain(30s, asio::deferred);
    send(5);
    BOOST_REQUIRE(until(1min, [this] { return empty(); }));
    BOOST_TEST(!report);
    later([&](error_code, drain_report said) { report = said; });
    BOOST_REQUIRE(until(1min, [&] { return report.has_value(); }));
}

// It acted when it was called, and the others when they are awaited.
BOOST_AUTO_TEST_CASE(an_awaitable_that_nothing_awaits_does_nothing)
{
    consume_some();
    {
        auto const dropped = it->drain(30s);
        (void)dropped;
    }
    send(5);
    BOOST_TEST(until(1min, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(a_token_on_another_executor)
{
    consume_some();
    auto const there = asio::make_strand(io);
    bool was_there = false;
    it->drain(30s, asio::bind_executor(there, [&](error_code, drain_report said) {
        was_there = there.running_in_this_thread();
        report = said;
    }));
    BOOST_REQUIRE(until(1min, [&] { return report.has_value(); }));
    BOOST_TEST(was_there);
}

BOOST_AUTO_TEST_CASE(what_is_cancelled_ends_with_operation_canceled)
{
    consume_some();
    asio::cancellation_signal stop_drained, stop_run;
    std::optional<error_code> of_drained, of_run;
    it->drained(asio::bind_cancellation_slot(
        stop_drained.slot(), [&](error_code ec, drain_report const&) { of_drained = ec; }));
    it->run(asio::bind_cancellation_slot(
        stop_run.slot(), [&](result<drain_report> said) { of_run = said.error().code; }));
    time.run_for(io, 1s);
    stop_drained.emit(asio::cancellation_type::terminal);
    stop_run.emit(asio::cancellation_type::terminal);
    BOOST_REQUIRE(until(1s, [&] { return of_drained && of_run; }));
    BOOST_TEST((*of_drained == std::errc::operation_canceled));
    BOOST_TEST((*of_run == std::errc::operation_canceled));
    send(5);
    BOOST_TEST(until(1min, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(a_consumer_that_was_moved_goes_on)
{
    consume_some();
    consumer moved(std::move(*it));
    it.reset();
    send(5);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    consumer other(io.get_executor(), api, url, fast, options);
    other = std::move(moved);
    send(5);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    it.emplace(std::move(other));
}

BOOST_AUTO_TEST_CASE(a_handler_acknowledges_with_a_token)
{
    send(1);
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        auto const said = co_await d.ack(asio::deferred);
        BOOST_TEST(said.has_value());
        co_return ack();
    });
    BOOST_TEST(until(1min, [this] { return empty(); }));
}

// One whose lease was lost ends, and is gone, before what it has begun elsewhere has had its turn.
BOOST_AUTO_TEST_CASE(what_a_handler_asks_for_with_a_token_finds_its_message_though_the_handler_has_ended)
{
    struct : delivery::keeper {
        asio::any_io_executor on;
        std::vector<std::string> asked_about;
        void ask(quern::detail::held& h, delivery::wish, reply tell) override
        {
            asked_about.emplace_back(h.message.id());
            tell({});
        }
        asio::any_io_executor get_executor() const override { return on; }
    } who;
    who.on = io.get_executor();
    sqs::message m;
    m.id = "a";
    auto h = quern::detail::make_held(m, nullptr, time, time.now());
    h->message.kept_by(who, *h);
    int told = 0;
    auto const tell = [&](result<void> const& said) { told += said.has_value(); };
    h->message.ack(tell);
    BOOST_TEST(h->use_count() == 2u);
    h->message.extend(10s, tell);
    h->message.guard_lease({}, tell);
    BOOST_TEST(h->use_count() == 4u);
    h.reset();
    BOOST_TEST(until(1min, [&] { return told == 3; }));
    BOOST_TEST((who.asked_about == std::vector<std::string>{"a", "a", "a"}));
}

BOOST_AUTO_TEST_CASE(a_handler_of_an_executor_of_its_own)
{
    send(20);
    int done = 0;
    auto handle = [&](delivery&) -> asio::awaitable<outcome, own_executor> {
        own_executor const here = co_await asio::this_coro::executor;
        BOOST_TEST((here == io.get_executor()));
        if (++done % 2 == 0) co_return ack();
        co_return retry_after(1s);
    };
    it.emplace(io.get_executor(), api, url, handle, options);
    it->start();
    BOOST_TEST(until(10min, [this] { return empty(); }));
    BOOST_TEST(done >= 20);
}

BOOST_AUTO_TEST_CASE(a_handler_of_an_executor_of_its_own_is_cancelled)
{
    send(1);
    bool began = false, cancelled = false;
    auto handle = [&](delivery&) -> asio::awaitable<void, own_executor> {
        began = true;
        auto const timer = time.make_timer(io.get_executor());
        auto wait = timer->wait_until(time.now() + 1h);
        asio::use_awaitable_t<own_executor> const token;
        bool const full = co_await asio::co_spawn(io.get_executor(), std::move(wait), token);
        cancelled = !full;
    };
    it.emplace(io.get_executor(), api, url, handle, options);
    it->start();
    BOOST_REQUIRE(until(1min, [&] { return began; }));
    begin_drain(30s);
    begin_drain(30s);                                           // cancels the handlers
    BOOST_TEST(until(30s, [&] { return report.has_value(); })); // so long an open receive may take
    BOOST_TEST(cancelled);
}

BOOST_AUTO_TEST_CASE(a_handler_of_an_executor_that_is_not_there_is_told_of)
{
    send(1);
    it.emplace(
        io.get_executor(), api, url,
        [](delivery&) -> asio::awaitable<void, asio::thread_pool::executor_type> { co_return; }, options);
    it->start();
    BOOST_REQUIRE(until(1min, [&] { return !log.empty(); }));
    BOOST_TEST(log.front().find("another executor type") != std::string::npos, log.front());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(error_conditions)

BOOST_AUTO_TEST_CASE(codes_have_conditions)
{
    BOOST_TEST((std::error_code(make_error_code(errc::timed_out)) == std::errc::timed_out));
    BOOST_TEST((make_error_code(errc::timed_out) == boost::system::errc::timed_out));
    BOOST_TEST((make_error_code(errc::stopped) == boost::system::errc::operation_canceled));
    BOOST_TEST((make_error_code(errc::throttled) != boost::system::errc::operation_canceled));
    BOOST_TEST((error_code(asio::error::operation_aborted) == boost::system::errc::operation_canceled));
}

BOOST_AUTO_TEST_SUITE_END()
