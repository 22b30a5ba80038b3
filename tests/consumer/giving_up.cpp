#include "consumer/mill.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

using namespace quern;
using namespace quern::test;

namespace {

failure refused()
{
    failure out(errc::service_error, "The specified queue does not exist.");
    out.service_code = "AWS.SimpleQueueService.NonExistentQueue";
    out.http_status = 400;
    return out;
}

struct refused_mill : mill {
    std::optional<result<drain_report>> end;

    void run()
    {
        it.emplace(io.get_executor(), api, url, fast, options);
        await_end();
    }

    void await_end()
    {
        asio::co_spawn(io, it->run(), [this](std::exception_ptr e, result<drain_report> said) {
            BOOST_TEST(!e);
            end = std::move(said);
        });
    }

    void refuse(bool so)
    {
        api.on_receive = [so] { return so ? std::optional(refused()) : std::nullopt; };
    }

    bool over() const { return end.has_value(); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(giving_up, refused_mill)

BOOST_AUTO_TEST_CASE(a_run_begins_and_completes_with_the_report_of_the_drain)
{
    send(20);
    run();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(!over());
    it->stop(30s);
    BOOST_TEST(until(31s, [this] { return over(); }));
    BOOST_REQUIRE(end->has_value());
    BOOST_TEST((*end)->clean());
    end.reset();
    await_end(); // what is over stays over
    BOOST_TEST(until(1s, [this] { return over(); }));
    BOOST_TEST(end->has_value());
}

BOOST_AUTO_TEST_CASE(a_queue_that_is_gone_is_waited_for_by_default)
{
    run();
    time.run_for(io, 1min);
    refuse(true);
    time.run_for(io, 24h);
    BOOST_TEST(!over());
    refuse(false);
    send(1);
    BOOST_TEST(until(1min, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(it_gives_up_when_it_was_told_for_how_long_to_wait)
{
    options.give_up.after = 10min;
    run();
    time.run_for(io, 1min);
    refuse(true);
    auto const since = time.now();
    BOOST_TEST(until(1h, [this] { return over(); }));
    auto const waited = time.now() - since;
    BOOST_TEST(waited >= 10min);
    BOOST_TEST(waited <= 11min); // the open receive, and the pause of ten seconds
    BOOST_REQUIRE(end->has_error());
    BOOST_TEST(end->error().service_code == "AWS.SimpleQueueService.NonExistentQueue");
    BOOST_TEST(log_lines("gave up") == 1);
    BOOST_TEST(drained().clean()); // and its report can be had
}

BOOST_AUTO_TEST_CASE(what_was_never_right_may_end_at_once)
{
    options.give_up.at_start_after = 0s;
    refuse(true);
    run();
    BOOST_TEST(until(1s, [this] { return over(); }));
    BOOST_TEST(end->has_error());
    BOOST_TEST(api.receives == 1);
}

BOOST_AUTO_TEST_CASE(what_was_right_once_does_not_end_by_the_limit_of_the_start)
{
    options.give_up.at_start_after = 0s;
    send(1);
    run();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    refuse(true);
    time.run_for(io, 1h);
    BOOST_TEST(!over());
}

BOOST_AUTO_TEST_CASE(handlers_that_run_may_end_first)
{
    options.give_up.after = 0s;
    send(4);
    bool handled = false;
    it.emplace(
        io.get_executor(), api, url,
        [&, this](delivery&) -> asio::awaitable<void> {
            refuse(true);
            co_await pause(25s); // the open receive ends before, and the next is refused
            handled = true;
        },
        options);
    await_end();
    BOOST_TEST(until(1min, [this] { return over(); }));
    BOOST_TEST(handled);
    BOOST_TEST(empty());
    BOOST_TEST(end->has_error());
    BOOST_TEST(drained().clean());
}

BOOST_AUTO_TEST_CASE(it_tells_that_it_is_refused_and_that_it_is_not_ready)
{
    auto const asked = [this] {
        explanation out;
        asio::co_spawn(io, it->explain(), [&](std::exception_ptr, explanation said) { out = std::move(said); });
        time.run_for(io, 0s);
        return out;
    };
    options.give_up.after = 1h;
    it.emplace(io.get_executor(), api, url, fast, options);
    BOOST_TEST(!asked().ready);
    await_end();
    BOOST_TEST(asked().ready);
    time.run_for(io, 1min);
    refuse(true);
    time.run_for(io, 2min);
    auto const said = asked();
    BOOST_TEST(!said.ready);
    BOOST_REQUIRE(!said.obstacles.empty());
    BOOST_TEST(said.obstacles[0].name == "receives_fail");
    BOOST_TEST(said.obstacles[0].text.find("receives are refused for 1") == 0u, said.obstacles[0].text);
    BOOST_TEST(said.obstacles[0].text.find("it gives up after 3600 s: the next in") != std::string::npos);
    refuse(false);
    time.run_for(io, 1min);
    BOOST_TEST(asked().ready);
    it->stop();
    BOOST_TEST(!asked().ready);
}

BOOST_AUTO_TEST_CASE(a_wait_for_the_end_that_is_cancelled_ends_alone)
{
    run();
    asio::cancellation_signal stop;
    bool aborted = false;
    auto done = [&](std::exception_ptr e, result<drain_report> const& said) {
        aborted = !e && said.has_error() && said.error().code == asio::error::operation_aborted;
    };
    asio::co_spawn(io, it->run(), asio::bind_cancellation_slot(stop.slot(), done));
    time.run_for(io, 1s);
    stop.emit(asio::cancellation_type::terminal);
    time.run_for(io, 0s);
    BOOST_TEST(aborted);
    BOOST_TEST(!over());
    send(1);
    BOOST_TEST(until(1min, [this] { return empty(); }));
}

BOOST_AUTO_TEST_SUITE_END()
