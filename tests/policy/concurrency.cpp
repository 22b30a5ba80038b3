#include <quern/policy/concurrency.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <string>

using namespace quern::policy;
using namespace std::chrono_literals;
using quern::tick;
using quern::test::t0;
using ns = std::chrono::nanoseconds;

namespace {

/// A saturated consumer whose calls take what `duration` says for so many at once, each as long as the other.
struct downstream {
    std::function<ns(std::size_t)> duration;
    concurrency_rule& rule;
    tick now = t0;

    void run(ns length, call_end how = call_end::ok, bool more_waits = true)
    {
        for (auto const until = now + length; now < until;) {
            auto const n = rule.limit();
            auto const took = duration(n);
            rule.began(n, now);
            now += took / static_cast<std::int64_t>(n); // one ends, the next begins
            rule.ended(how, took, n - 1, more_waits, now);
            rule.poll(now);
        }
    }
};

/// Calls that share `n` servers of 50 ms.
auto servers(std::size_t n)
{
    return [n](std::size_t at_once) {
        return ns(50ms) * static_cast<std::int64_t>(std::max(n, at_once)) / static_cast<std::int64_t>(n);
    };
}

} // namespace

BOOST_AUTO_TEST_SUITE(concurrency_policy)

BOOST_AUTO_TEST_CASE(it_begins_with_four_within_its_bounds)
{
    BOOST_TEST(concurrency_rule({}, t0).limit() == 4u);
    BOOST_TEST(concurrency_rule({.min = 7, .max = 9}, t0).limit() == 7u);
    BOOST_TEST(concurrency_rule({.min = 1, .max = 2}, t0).limit() == 2u);
    BOOST_TEST(concurrency_rule({}, t0).explain() == "4 at once: to begin with (0.0/s)");
}

BOOST_AUTO_TEST_CASE(as_many_as_there_are_servers_are_found)
{
    for (std::size_t const n : {1, 2, 5, 20, 80, 300}) {
        concurrency_rule rule({}, t0);
        downstream world{servers(n), rule};
        world.run(n < 5 ? 30s : 10s); // so slow that a window takes a second
        for (int i = 0; i < 20; ++i) {
            world.run(500ms);
            BOOST_TEST_CONTEXT(n << " servers: " << rule.explain())
            {
                BOOST_TEST((rule.limit() + 1) * 10 >= n * 8);
                BOOST_TEST(rule.limit() * 10 <= n * 13 + 15);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(capacity_that_falls_is_followed_and_comes_back)
{
    concurrency_rule rule({}, t0);
    downstream world{servers(20), rule};
    for (std::size_t const n : {20, 5, 20, 80, 20}) {
        world.duration = servers(n);
        world.run(10s);
        BOOST_TEST_CONTEXT(n << " servers: " << rule.explain())
        {
            BOOST_TEST((rule.limit() + 1) * 10 >= n * 8);
            BOOST_TEST(rule.limit() * 10 <= n * 13 + 15);
        }
    }
}

BOOST_AUTO_TEST_CASE(without_a_limit_downstream_it_climbs_to_its_own)
{
    concurrency_rule rule({.min = 1, .max = 1'000}, t0);
    downstream world{servers(1'000'000), rule};
    world.run(5s);
    for (int i = 0; i < 20; ++i) {
        world.run(300ms);
        BOOST_TEST(rule.limit() >= 880u, rule.explain());
        BOOST_TEST(rule.limit() <= 1'000u);
    }
}

BOOST_AUTO_TEST_CASE(messages_that_take_longer_are_no_reason_for_fewer)
{
    concurrency_rule rule({}, t0);
    downstream world{servers(20), rule};
    world.run(10s);
    world.duration = [](std::size_t n) { return 4 * servers(20)(n); };
    world.run(20s);
    BOOST_TEST(rule.limit() >= 16u, rule.explain());
    BOOST_TEST(rule.limit() <= 27u, rule.explain());
}

BOOST_AUTO_TEST_CASE(what_was_not_saturated_teaches_nothing)
{
    concurrency_rule rule({}, t0);
    downstream world{servers(20), rule};
    world.run(5s, call_end::ok, false); // work ran out
    BOOST_TEST(rule.limit() == 4u);

    auto now = t0 + 10s;
    for (int i = 0; i < 1'000; ++i) { // one at a time, of four
        rule.began(1, now);
        now += 50ms;
        rule.ended(call_end::ok, 50ms, 0, true, now);
    }
    BOOST_TEST(rule.limit() == 4u);
}

BOOST_AUTO_TEST_CASE(refusals_lower_it_once_a_window_and_a_few_do_not)
{
    for (auto const how : {call_end::unavailable, call_end::timed_out, call_end::throttled}) {
        concurrency_rule rule({}, t0);
        downstream world{servers(100), rule};
        world.run(5s);
        auto const before = rule.limit();
        BOOST_REQUIRE(before >= 80u);
        for (int i = 0; i < 23; ++i)
            rule.ended(how, 1ms, before - 1, true, world.now);
        BOOST_TEST((rule.why() == concurrency_rule::reason::refused));
        auto const lower = rule.limit();
        BOOST_TEST(lower >= before * 69 / 100);
        BOOST_TEST(lower <= before * 71 / 100 + 1);
        for (int i = 0; i < 1'000; ++i)
            rule.ended(how, 1ms, lower - 1, true, world.now + 100ms);
        BOOST_TEST(rule.limit() == lower);
        for (int i = 0; i < 23; ++i)
            rule.ended(how, 1ms, lower - 1, true, world.now + 1s);
        BOOST_TEST(rule.limit() < lower);
    }

    concurrency_rule rule({}, t0);
    downstream world{servers(20), rule};
    world.run(5s);
    for (int i = 0; i < 2'000; ++i) { // one of four: some tenants are down
        world.run(3ms, i % 4 == 0 ? call_end::throttled : call_end::ok);
        BOOST_REQUIRE((rule.why() != concurrency_rule::reason::refused));
    }
    BOOST_TEST(rule.limit() >= 12u, rule.explain());
}

BOOST_AUTO_TEST_CASE(an_outage_leaves_the_least_and_its_end_is_climbed)
{
    concurrency_rule rule({.min = 2}, t0);
    downstream world{servers(40), rule};
    world.run(5s);
    world.run(1min, call_end::unavailable);
    BOOST_TEST(rule.limit() == 2u);
    world.run(10s);
    BOOST_TEST(rule.limit() >= 32u, rule.explain());
}

BOOST_AUTO_TEST_CASE(failures_of_single_messages_change_nothing_alone)
{
    concurrency_rule rule({}, t0);
    downstream world{servers(20), rule};
    world.run(10s);
    world.run(2s, call_end::failed);
    auto const before = rule.limit();
    world.run(1min, call_end::failed); // no throughput to compare
    BOOST_TEST(rule.limit() == before);
}

// Of 100 calls six in ten failed: it took the others for all that downstream could do, and ended at one or two.
BOOST_AUTO_TEST_CASE(calls_that_fail_for_their_messages_sake_are_busy_too)
{
    concurrency_rule rule({.max = 100}, t0);
    auto now = t0;
    for (int i = 0; i < 60'000; ++i) {
        auto const n = rule.limit();
        rule.began(n, now);
        now += ns(200ms) / static_cast<std::int64_t>(n);
        rule.ended(i % 5 < 3 ? call_end::failed : call_end::ok, 200ms, n - 1, true, now);
        rule.poll(now);
    }
    BOOST_TEST(rule.limit() >= 80u, rule.explain());
}

BOOST_AUTO_TEST_CASE(a_clock_that_stands_or_goes_back_decides_nothing)
{
    concurrency_rule rule({}, t0);
    for (int i = 0; i < 100'000; ++i) {
        rule.began(4, t0);
        rule.ended(call_end::ok, 0ns, 3, true, t0);
        rule.poll(t0);
    }
    BOOST_TEST(rule.limit() == 4u);
    for (int i = 0; i < 1'000; ++i)
        rule.ended(call_end::ok, -5s, 3, true, t0 - 1h);
    BOOST_TEST(rule.limit() == 4u);
}

BOOST_AUTO_TEST_CASE(durations_of_nothing_and_of_years_stay_within_the_bounds)
{
    for (auto const took : {0ns, 1ns, ns(365 * 24h), ns::max(), ns::min()}) {
        concurrency_rule rule({.min = 3, .max = 50}, t0);
        auto now = t0;
        for (int i = 0; i < 20'000; ++i) {
            rule.began(rule.limit(), now);
            now += 1ms;
            auto const how = i % 7 == 0 ? call_end::timed_out : call_end::ok;
            rule.ended(how, took, i % 3 == 0 ? 0 : rule.limit() - 1, i % 50 != 0, now);
            BOOST_REQUIRE(rule.limit() >= 3u);
            BOOST_REQUIRE(rule.limit() <= 50u);
        }
    }
}

BOOST_AUTO_TEST_CASE(nothing_that_ended_is_waited_for_without_a_timer)
{
    concurrency_rule rule({}, t0);
    BOOST_TEST(!rule.wake_at().has_value());
    rule.began(4, t0);
    rule.poll(t0 + 1h);
    BOOST_TEST(!rule.wake_at().has_value());
    BOOST_TEST(rule.limit() == 4u);
    rule.ended(call_end::ok, 1h, 3, true, t0 + 1h);
    BOOST_TEST((!rule.wake_at() || *rule.wake_at() > t0 + 1h)); // no turn of the loop without a pause
}

BOOST_AUTO_TEST_CASE(bounds_that_are_one_hold_it)
{
    for (std::size_t const n : {1, 7}) {
        concurrency_rule rule({.min = n, .max = n}, t0);
        downstream world{servers(20), rule};
        for (int i = 0; i < 50; ++i) {
            world.run(1s, i % 10 == 9 ? call_end::unavailable : call_end::ok);
            BOOST_REQUIRE(rule.limit() == n);
        }
    }
}

BOOST_AUTO_TEST_CASE(bounds_that_cannot_work_are_refused_by_name)
{
    auto const refused = [](automatic_concurrency const& o) {
        auto const why = o.validate();
        return why ? why->message.substr(0, why->message.find(' ')) : "";
    };
    BOOST_TEST(refused({}) == "");
    BOOST_TEST(refused({.min = 5, .max = 5}) == "");
    BOOST_TEST(refused({.min = 0}) == "automatic_concurrency.min");
    BOOST_TEST(refused({.min = 6, .max = 5}) == "automatic_concurrency.max");
    BOOST_TEST(refused({.max = 1'000'001}) == "automatic_concurrency.max");
}

BOOST_AUTO_TEST_SUITE_END()
