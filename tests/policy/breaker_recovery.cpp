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
        b.unavailable();
        BOOST_TEST(b.state() == phase::open);
        BOOST_TEST(b.open_for() == next);
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
            one.unavailable(one.start(), static_cast<std::uint64_t>(i), tick());
        ++ends[*one.wake_at()];
    }
    BOOST_TEST(ends.size() > 80u);
    BOOST_TEST(ends.begin()->first >= tick(3'750ms));
    BOOST_TEST(ends.rbegin()->first <= tick(5s));
}

BOOST_AUTO_TEST_CASE(recovered_it_doubles_each_round_until_full_speed)
{
    bench b;
    b.half_open();
    b.succeed();
    BOOST_TEST(b.state() == phase::slow_start);
    BOOST_TEST(b.it->explain(b.now) == "recovering, 1 at a time: 3 calls in a row found the dependency unavailable");
    for (std::size_t const allowed : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}) {
        BOOST_TEST(b.allowance() == allowed);
        b.succeed(1'000); // however fast the calls
        b.now += 1s - 1ns;
        BOOST_TEST(b.allowance() == allowed);
        BOOST_REQUIRE(b.it->wake_at());
        BOOST_TEST(*b.it->wake_at() == b.now + 1ns);
        b.doze();
    }
    BOOST_TEST(b.state() == phase::closed);
    BOOST_TEST(b.allowance() == breaker::unlimited);

    b.unavailable(3);
    BOOST_TEST(b.open_for() == 5s); // forgiven
}

// Each failure took a success away: where most calls fail for reasons of their messages it never came back to speed.
BOOST_AUTO_TEST_CASE(calls_that_fail_by_themselves_do_not_slow_down_a_recovery)
{
    breaker_options options;
    options.failure_ratio = 1;
    bench b(options);
    b.get_used_to_failures(7);
    b.unavailable(3);
    BOOST_REQUIRE(b.state() == phase::open);
    b.doze();
    b.fail(); // it was reached
    BOOST_TEST(b.state() == phase::slow_start);
    for (int second = 0; second < 10; ++second) {
        for (int i = 0; i < 10; ++i)
            i < 7 ? b.fail() : b.succeed();
        b.now += 1s;
    }
    BOOST_TEST(b.state() == phase::closed);
}

BOOST_AUTO_TEST_CASE(a_quiet_recovery_ends_by_time)
{
    bench b;
    b.half_open();
    b.succeed();
    b.now += 1h;
    BOOST_TEST(b.state() == phase::closed);
}

BOOST_AUTO_TEST_CASE(a_relapse_is_what_would_have_opened_it_anyway)
{
    bench b;
    b.half_open();
    b.succeed();
    b.unavailable(2);
    b.fail(10);
    BOOST_TEST(b.state() == phase::slow_start);
    b.unavailable(3);
    BOOST_TEST(b.state() == phase::open);
    BOOST_TEST(b.open_for() == 10s); // it was never closed
}

BOOST_AUTO_TEST_CASE(opened_by_failures_a_probe_has_to_succeed)
{
    bench b;
    b.fail(20);
    BOOST_REQUIRE(b.state() == phase::open);
    b.doze();
    b.fail();
    BOOST_TEST(b.state() == phase::open);
    BOOST_TEST(b.it->reason() == "the probe failed");
    b.doze();
    b.succeed();
    BOOST_TEST(b.state() == phase::slow_start);
}

// Where nearly all calls fail by themselves the breaker may open before it knows. An outage that began meanwhile was
// over, and each probe that reached the dependency and failed kept it open.
BOOST_AUTO_TEST_CASE(opened_by_failures_and_then_found_unavailable_it_wants_to_be_reached)
{
    bench b;
    b.fail(20);
    for (int i = 0; i < 3; ++i) {
        b.doze();
        b.unavailable();
        BOOST_TEST(b.state() == phase::open);
    }
    b.doze();
    b.fail();
    BOOST_TEST(b.state() == phase::slow_start);
}

// Some handlers say that it is down and others only fail: one of each is no end of an outage.
BOOST_AUTO_TEST_CASE(opened_by_failures_it_takes_several_probes_in_a_row_to_know_better)
{
    bench b;
    b.fail(20);
    for (int i = 0; i < 9; ++i) {
        b.doze();
        if (i % 3 == 2)
            while (b.state() == phase::half_open)
                b.fail();
        else
            b.unavailable();
        BOOST_TEST(b.state() == phase::open);
    }
}

// A turn of one probe would hardly ever see one of the seven in a hundred that succeed.
BOOST_AUTO_TEST_CASE(opened_by_failures_it_tries_more_of_them_with_each_turn)
{
    bench b;
    b.fail(20);
    for (std::size_t const tries : {1, 2, 4, 8, 8}) {
        b.doze();
        BOOST_TEST(b.allowance() == tries); // together: they may take long
        b.fail(static_cast<int>(tries) - 1);
        BOOST_TEST(b.state() == phase::half_open);
        b.fail();
        BOOST_TEST(b.state() == phase::open);
    }
    b.doze();
    b.fail(7);
    b.succeed();
    BOOST_TEST(b.state() == phase::slow_start);
}

// Each opening and closing was forgotten as soon as it was over, so that it went on like that for hours.
BOOST_AUTO_TEST_CASE(opened_by_failures_again_and_again_it_comes_to_take_them_for_the_usual)
{
    breaker_options options;
    options.failure_ratio = 1;
    bench b(options);
    int in_a_row = 0;
    for (int const least : {20, 20, 30, 60}) {
        for (in_a_row = 0; b.state() != phase::open; ++in_a_row)
            b.fail();
        BOOST_TEST(in_a_row >= least);
        while (b.state() != phase::slow_start) {
            b.doze();
            b.fail(3);
            if (b.state() == phase::half_open) b.succeed();
        }
        b.now += 1h;
    }
    BOOST_TEST(in_a_row < 400);
}

// What is usual is known by some sixty calls, and of a hundred in a row it makes two if that was a few too low.
BOOST_AUTO_TEST_CASE(where_nearly_all_calls_fail_the_error_of_what_is_known_counts)
{
    breaker_options options;
    options.failure_ratio = 1;
    bench b(options);
    b.get_used_to_failures(9);
    b.now += 11s; // an empty window
    b.fail(100);  // chance brings so many about once in a million, if no more fail than it looks like
    BOOST_TEST(b.state() == phase::closed);
    b.fail(30);
    BOOST_TEST(b.state() == phase::open);
}

// A bad probe proves little where every second message is unavailable in the best of times.
BOOST_AUTO_TEST_CASE(it_takes_more_bad_probes_where_bad_news_is_usual)
{
    breaker_options options;
    options.failure_ratio = 1;
    bench b(options);
    b.get_used_to_unavailable(5);
    b.unavailable(21);
    BOOST_REQUIRE(b.state() == phase::open);
    b.doze();
    b.unavailable(3);
    BOOST_TEST(b.state() == phase::half_open);
    b.unavailable(3);
    BOOST_TEST(b.state() == phase::open);
    BOOST_TEST(b.open_for() == 10s);
    BOOST_TEST(b.it->reason().starts_with("the last "), b.it->reason());
    b.doze();
    b.unavailable(3);
    b.succeed();
    BOOST_TEST(b.state() == phase::slow_start);
}

BOOST_AUTO_TEST_CASE(several_probes_are_wanted_good_or_bad)
{
    breaker_options options;
    options.probes = 3;
    bench b(options);
    b.half_open();
    BOOST_TEST(b.allowance() == 3u);
    b.unavailable(2);
    b.succeed();
    b.unavailable(2);
    BOOST_TEST(b.state() == phase::half_open); // no three in a row
    b.unavailable();
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
                b.it->unavailable(ticket, static_cast<std::uint64_t>(spent), b.now);
            }
        }
        if (b.now == began + 63min) BOOST_TEST(b.allowance() >= 50u);
    }
    BOOST_TEST(spent >= 50 + 60);
    BOOST_TEST(spent <= 50 + 64);
    BOOST_TEST(b.state() == phase::closed);
}

BOOST_AUTO_TEST_SUITE_END()
