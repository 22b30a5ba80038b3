// Tenants of one queue, when one of them sends more than its part.

#include "consumer/mill.hpp"

using namespace quern;
using namespace quern::test;

namespace {

struct shop : mill {
    std::map<char, int> done; // by tenant, the first letter of a body

    shop()
    {
        options.tenant = [](delivery const& d) { return std::string(d.body().substr(0, 1)); };
        options.limits.max_in_flight = 40;
        time.run_for(io, 0s);
    }
    ~shop()
    {
        if (it) drained(1s); // its handlers count here
    }

    void open()
    {
        consume([this](delivery& d) -> asio::awaitable<outcome> {
            co_await pause(1s);
            ++done[d.body().front()];
            co_return ack();
        });
    }

    void send(char tenant, int count)
    {
        for (int i = 0; i < count; ++i)
            send_now(std::string(1, tenant) + std::to_string(i));
        time.run_for(io, 0s);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(tenants_in_turn, shop)

// A cap is not to become everybody's: what waits for it may not take all places, nor be all that waits for a handler.
BOOST_AUTO_TEST_CASE(a_cap_of_one_holds_up_nobody_else)
{
    for (auto const handlers : {std::optional<std::size_t>(), std::optional<std::size_t>(4)}) {
        shop one;
        one.options.fairness.tenant_concurrency = 1;
        one.options.limits.handler_concurrency = handlers;
        one.send('a', 300);
        one.send('c', 300);
        one.open();
        one.time.run_for(one.io, 30s);
        one.send('b', 5);
        one.time.run_for(one.io, 60s);
        BOOST_TEST(one.done['b'] == 5);
        BOOST_TEST(one.done['a'] > 80);            // of 90, one a second
        BOOST_TEST(one.done['c'] > 50);            // its first stand behind 300
        BOOST_TEST(one.log_lines("turns: ") >= 1); // says what goes back, and why
    }
}

BOOST_AUTO_TEST_CASE(what_a_dead_letter_queue_would_take_soon_does_not_go_back)
{
    auto const dead = allow_receives("3");
    options.fairness.tenant_concurrency = 1;
    send('a', 60);
    open();
    BOOST_TEST(until(5min, [this] { return done['a'] == 60; }));
    BOOST_TEST(in(dead) == 0);
}

BOOST_AUTO_TEST_CASE(explain_names_who_waits_who_runs_and_who_is_capped)
{
    options.fairness.tenant_concurrency = 2;
    send('a', 10);
    send('b', 1);
    open();
    time.run_for(io, 100ms);
    explanation said;
    asio::co_spawn(io, it->explain(), [&](std::exception_ptr, explanation now) { said = std::move(now); });
    time.run_for(io, 0s);
    BOOST_REQUIRE(said.tenants.size() == 2u);
    BOOST_TEST(said.tenants[0].name == "a");
    BOOST_TEST(said.tenants[0].running == 2u);
    BOOST_TEST(said.tenants[0].waiting == 8u);
    BOOST_TEST(said.tenants[0].capped);
    BOOST_TEST(
        to_json(said).find(R"("tenants":[{"name":"a","waiting":8,"running":2,"capped":true},)") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
