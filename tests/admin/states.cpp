#include <quern/admin/reporter.hpp>

#include "consumer/mill.hpp"

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

// What a restart would not cure: each of these goes on for hours.

namespace {

struct watched : mill {
    std::shared_ptr<admin::board> board = std::make_shared<admin::board>(time.now());
    std::shared_ptr<admin::recorder> seen = std::make_shared<admin::recorder>(time);
    std::shared_ptr<admin::reporter> watch = std::make_shared<admin::reporter>(io.get_executor(), board, time);
    std::function<asio::awaitable<outcome>(delivery&)> handle = [](delivery&) -> asio::awaitable<outcome> {
        co_return ack();
    };

    void run()
    {
        options.observer = seen;
        consume([this](delivery& d) { return handle(d); });
        watch->watch("orders", *it, seen);
        watch->begin();
        time.run_for(io, 2s);
    }

    /// Looks each minute for three hours.
    void stays_alive()
    {
        for (int i = 0; i != 180; ++i) {
            time.run_for(io, 1min);
            auto const said = admin::liveness(board->last()->signs, {}, time.now());
            BOOST_REQUIRE_MESSAGE(said.status == 200, said.reason << " after " << i << " min");
        }
    }
    admin::health ready() const { return admin::readiness(board->last()->signs, {}, time.now()); }
    explanation const& said() const { return board->last()->queues.front().said; }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(alive, watched)

BOOST_AUTO_TEST_CASE(an_idle_consumer_is_alive_and_ready)
{
    run();
    stays_alive();
    BOOST_TEST(ready().status == 200);
}

BOOST_AUTO_TEST_CASE(a_paused_consumer_is_alive_and_ready)
{
    run();
    it->pause("lunch");
    stays_alive();
    BOOST_TEST(said().obstacles.front().name == "paused");
    BOOST_TEST(ready().status == 200);
}

BOOST_AUTO_TEST_CASE(a_consumer_whose_breaker_is_open_is_alive)
{
    options.outage.breaker.emplace();
    run();
    it->report_outage(true);
    send_now(3);
    stays_alive();
    BOOST_TEST(said().obstacles.front().name == "breaker");
}

BOOST_AUTO_TEST_CASE(a_full_house_is_alive_though_no_handler_ends)
{
    options.limits.max_in_flight = 3;
    handle = [this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(10h);
        co_return ack();
    };
    send(10);
    run();
    stays_alive();
    BOOST_TEST(said().in_flight == 3u);
    BOOST_TEST(ready().status == 200);
}

BOOST_AUTO_TEST_CASE(a_consumer_that_lags_is_alive)
{
    options.limits.max_in_flight = 2;
    handle = [this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(5min);
        co_return ack();
    };
    send(200);
    run();
    stays_alive();
    BOOST_TEST(!empty());
}

BOOST_AUTO_TEST_CASE(an_outage_of_sqs_is_no_death_and_unready)
{
    run();
    api.on_receive = [] { return failure(errc::service_error, "down"); };
    stays_alive();
    BOOST_TEST(ready().status == 503);
    BOOST_TEST(ready().reason.starts_with("orders: receives fail"));
    BOOST_TEST(board->last()->queues.front().seen.troubles.front().what == "receive failed");
}

BOOST_AUTO_TEST_CASE(a_consumer_that_was_never_started_is_alive_and_has_not_started)
{
    options.observer = seen;
    it.emplace(
        io.get_executor(), api, url, [](delivery&) -> asio::awaitable<outcome> { co_return ack(); }, options);
    watch->watch("orders", *it, seen);
    watch->begin();
    stays_alive();
    BOOST_TEST(admin::startup(board->last()->signs).reason == "orders: not started");
}

BOOST_AUTO_TEST_CASE(a_receive_that_is_never_answered_is_dead)
{
    api.before_received = [this](auto&) { return pause(100h); };
    send(1);
    run();
    time.run_for(io, 4min);
    auto const dead = admin::liveness(board->last()->signs, {}, time.now());
    BOOST_TEST(dead.status == 503);
    BOOST_TEST(dead.reason.starts_with("orders: no receive has ended for"));
}

BOOST_AUTO_TEST_CASE(the_end_lets_go_of_the_consumer)
{
    run();
    bool ended = false;
    asio::co_spawn(io, watch->end(), [&](std::exception_ptr) { ended = true; });
    time.run_for(io, 0s);
    BOOST_TEST(ended);
    it.reset();
    stays_alive();
    BOOST_TEST(board->last()->signs.over);
    BOOST_TEST(board->last()->queues.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
