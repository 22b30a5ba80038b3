#include "policy/breaker_bench.hpp"

#include <map>

using namespace quern::test;
using quern::tick;

BOOST_AUTO_TEST_SUITE(breaker_recovery)

BOOST_AUTO_TEST_CASE(after_its_time_one_probe_may_run)
{
    bench b;
    b.unavailable(3);
    b.now += 5s - 1ns;
    BOOST_TEST(b.allowance() == 0u);
    b.now += 1ns;
    BOOST_TEST(b.allowance() == 1u);
    BOOST_TEST(b.it->state() == phase::half_open);
    BOOST_TEST(!b.it->wake_at());
    BOOST_TEST(b.it->explain(b.now) == "half open, 1 at a time: 3 calls in a row found the dependency unavailable");
}

BOOST_AUTO_TEST_CASE(each_probe_that_fails_doubles_the_time_up_to_a_minute)
{
    bench b;
    b.half_open();
    for (auto const next : {10s, 20s, 40s, 60s, 60s}) {
        b.fail();
        BOOST_TEST(b.state() == phase::open);
        BOOST_TEST((b.open_for() == next));
        b.doze();
        BOOST_TEST(b.allowance() == 1u);
    }
    b.unavailable();
    BOOST_TEST(b.it->explain(b.now) == "open for 60 s more: the probe failed");
}

BOOST_AUTO_TEST_CASE(the_time_it_stays_open_is_spread)
{
    std::map<tick, int> ends;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        breaker one({}, seed);
        for (int i = 0; i < 3; ++i)
            one.unavailable(one.start(), tick());
        ++ends[*one.wake_at()];
    }
    BOOST_TEST(ends.size() > 80u);
    BOOST_TEST((ends.begin()->first >= tick(3'750ms) && ends.rbegin()->first <= tick(5s)));
}

BOOST_AUTO_TEST_CASE(recovered_it_doubles_each_round_until_full_speed)
{
    bench b;
    b.succeed(10'000); // of the time before: they recover nothing
    b.half_open();
    b.succeed();
    BOOST_TEST(b.state() == phase::slow_start);
    for (std::size_t const allowed : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}) {
        BOOST_TEST(b.allowance() == allowed);
        b.succeed(static_cast<int>(allowed) - 1);
        b.now += 5s;
        BOOST_TEST(b.allowance() == allowed); // no full round of successes
        BOOST_TEST(!b.it->wake_at());
        b.succeed();
    }
    BOOST_TEST(b.state() == phase::closed);
    BOOST_TEST(b.allowance() == breaker::unlimited);

    b.unavailable(3);
    BOOST_TEST((b.open_for() == 5s)); // forgiven
}

BOOST_AUTO_TEST_CASE(a_round_lasts_at_least_its_time_however_fast_the_calls)
{
    bench b;
    b.half_open();
    b.succeed(100);
    BOOST_TEST(b.allowance() == 1u);
    BOOST_REQUIRE(b.it->wake_at());
    BOOST_TEST((*b.it->wake_at() == b.now + 1s));
    b.doze();
    BOOST_TEST(b.allowance() == 2u);
    BOOST_TEST(b.it->explain(b.now) == "recovering, 2 at a time: 3 calls in a row found the dependency unavailable");
    BOOST_TEST(!b.it->wake_at());
    b.now += 400ms;
    b.succeed(100);
    BOOST_TEST(b.allowance() == 2u);
    b.now += 600ms;
    BOOST_TEST(b.allowance() == 4u);
}

BOOST_AUTO_TEST_CASE(a_failure_during_slow_start_takes_a_success_away)
{
    bench b;
    b.half_open();
    b.succeed();
    for (int i = 0; i < 2; ++i) {
        b.succeed(2);
        b.now += 1s;
    }
    BOOST_REQUIRE(b.allowance() == 4u);
    b.succeed(3);
    b.fail();
    b.succeed();
    b.now += 1s;
    BOOST_TEST(b.allowance() == 4u);
    b.succeed();
    BOOST_TEST(b.allowance() == 8u);
}

BOOST_AUTO_TEST_CASE(a_relapse_is_seen_in_as_many_calls_as_may_be_in_flight)
{
    bench b;
    b.half_open();
    b.succeed();
    BOOST_TEST(b.state() == phase::slow_start);
    b.fail();
    BOOST_TEST(b.state() == phase::open);
    BOOST_TEST((b.open_for() == 10s)); // it was never closed
    BOOST_TEST(b.it->explain(b.now) == "open for 10 s more: 100 % of the calls failed");
}

BOOST_AUTO_TEST_CASE(several_probes_must_all_succeed)
{
    breaker_options options;
    options.probes = 3;
    bench b(options);
    b.half_open();
    BOOST_TEST(b.allowance() == 3u);
    b.succeed(2);
    b.fail();
    BOOST_TEST(b.state() == phase::open);
    b.doze();
    BOOST_TEST(b.allowance() == 3u);
    b.succeed(2);
    BOOST_TEST(b.state() == phase::half_open); // those of the last time don't count
    b.succeed();
    BOOST_TEST(b.state() == phase::slow_start);
    BOOST_TEST(b.allowance() == 3u);
}

BOOST_AUTO_TEST_CASE(without_slow_start_a_probe_closes_it)
{
    breaker_options options;
    options.full_speed = 0;
    bench b(options);
    b.half_open();
    b.succeed();
    BOOST_TEST(b.state() == phase::closed);
    BOOST_TEST(b.allowance() == breaker::unlimited);
}

BOOST_AUTO_TEST_CASE(an_outage_of_an_hour_costs_one_call_a_minute_and_ends_within_two)
{
    // 50 calls at a time, a tenth of a second each, against a dependency that is down from minute 1 to minute 61.
    bench b;
    auto const began = b.now;
    auto const down = [&] { return b.now >= began + 1min && b.now < began + 61min; };
    int spent = 0;
    for (; b.now < began + 64min; b.now += 100ms) {
        auto const in_flight = std::min<std::size_t>(50, b.allowance());
        auto const ticket = b.it->start();
        for (std::size_t i = 0; i < in_flight; ++i) {
            if (!down())
                b.it->succeeded(ticket, b.now);
            else {
                ++spent;
                b.it->unavailable(ticket, b.now);
            }
        }
        if (b.now == began + 63min) BOOST_TEST(b.allowance() >= 50u);
    }
    BOOST_TEST(spent >= 50 + 60);
    BOOST_TEST(spent <= 50 + 64);
    BOOST_TEST(b.state() == phase::closed);
}

BOOST_AUTO_TEST_SUITE_END()
