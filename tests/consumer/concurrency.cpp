// The number of handlers at once finds itself.

#include "consumer/mill.hpp"

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct finding : mill {
    std::size_t servers = 8;
    bool down = false; // handlers run on while the fixture ends

    /// Handlers that share so many servers of 100 ms, as fairly as may be.
    void consume_sharing()
    {
        consume([this](delivery&) -> asio::awaitable<outcome> {
            auto const share = std::max(servers, running);
            co_await pause(std::chrono::milliseconds(100 * share / servers));
            co_return ack();
        });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(own_concurrency, finding)

BOOST_AUTO_TEST_CASE(as_many_handlers_run_as_keep_downstream_busy)
{
    options.concurrency = policy::automatic_concurrency{};
    send(4'000);
    consume_sharing();
    time.run_for(io, 15s);
    most_running = running;
    time.run_for(io, 10s);
    BOOST_TEST(most_running >= 7u);
    BOOST_TEST(most_running <= 12u);
    BOOST_TEST(explained().find("concurrency finds itself: ") != std::string::npos, explained());

    servers = 40;
    time.run_for(io, 5s);
    most_running = running;
    time.run_for(io, 3s);
    BOOST_TEST(most_running >= 30u);
    BOOST_TEST(std::ranges::all_of(runs, [](auto const& one) { return one.second == 1; }));
}

BOOST_AUTO_TEST_CASE(a_number_that_was_set_stays_the_most)
{
    options.concurrency = policy::automatic_concurrency{};
    options.limits.handler_concurrency = 5;
    servers = 100;
    send(1'000);
    consume_sharing();
    time.run_for(io, 15s);
    BOOST_TEST(most_running == 5u);
}

BOOST_AUTO_TEST_CASE(unavailable_makes_them_few)
{
    options.concurrency = policy::automatic_concurrency{.min = 2, .max = 40};
    options.outage.breaker.reset();
    send(8'000);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(100ms);
        if (down) co_return unavailable();
        co_return ack();
    });
    time.run_for(io, 5s);
    BOOST_TEST(most_running >= 30u);
    down = true;
    time.run_for(io, 20s);
    most_running = running;
    time.run_for(io, 3s);
    BOOST_TEST(most_running == 2u);
}

BOOST_AUTO_TEST_CASE(bounds_that_cannot_work_are_refused)
{
    options.concurrency = policy::automatic_concurrency{.min = 0};
    auto const why = options.validate();
    BOOST_REQUIRE(why.has_value());
    BOOST_TEST(why->message.starts_with("automatic_concurrency.min"));
}

BOOST_AUTO_TEST_SUITE_END()
