#include <quern/admin/health.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::admin;
using namespace std::chrono_literals;

namespace {

using quern::test::t0;
constexpr health_limits limits{5s, 180s};

pulse loop(std::string name = "orders")
{
    pulse out;
    out.name = std::move(name);
    out.started = out.ready = true;
    out.moved_at = t0;
    return out;
}

/// A program that answered at t0, with these loops.
vital_signs signs(std::vector<pulse> loops)
{
    return {t0 - 1min, t0, true, false, std::move(loops)};
}

explanation saying(std::vector<explanation::obstacle> obstacles = {})
{
    explanation out;
    out.ready = true;
    out.polls = 1;
    out.obstacles = std::move(obstacles);
    return out;
}

struct times {
    int live, ready, started;
};

void judge(vital_signs const& all, tick now, times expected, char const* what)
{
    BOOST_TEST_CONTEXT(what)
    {
        BOOST_TEST(liveness(all, limits, now).status == expected.live);
        BOOST_TEST(readiness(all, limits, now).status == expected.ready);
        BOOST_TEST(startup(all).status == expected.started);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(health_rules)

BOOST_AUTO_TEST_CASE(a_program_is_judged_by_its_own_loop)
{
    judge(signs({loop()}), t0 + 1s, {200, 200, 200}, "at work");
    judge(signs({loop()}), t0 + 5s, {200, 200, 200}, "at the limit");
    judge(signs({loop()}), t0 + 5001ms, {503, 503, 200}, "stuck");

    vital_signs starting{t0, t0, false, false, {}};
    judge(starting, t0 + 1s, {200, 503, 503}, "starting");
    judge(starting, t0 + 6s, {503, 503, 503}, "stuck before it began");

    auto over = signs({loop()});
    over.over = true;
    judge(over, t0 + 1h, {200, 503, 200}, "ended");
}

BOOST_AUTO_TEST_CASE(what_is_explained_is_alive_however_long_it_takes)
{
    for (auto const* name : {"paused", "breaker", "flag", "max_in_flight", "max_bytes_in_flight", "rate",
             "handler_concurrency", "receives_fail", "empty_answers", "draining", "ended", "not_started"}) {
        pulse p;
        for (int i = 0; i != 1000; ++i)
            p = next_pulse(std::move(p), saying({{name, "because"}}), {}, t0 + i * 1s);
        auto all = signs({p});
        all.beat_at = t0 + 999s;
        BOOST_TEST(liveness(all, limits, t0 + 1000s).reason == "alive", name);
    }
}

BOOST_AUTO_TEST_CASE(a_receive_that_never_ends_is_dead_unless_another_thing_moves)
{
    consumer_counters counts;
    counts.polls = 7;
    auto p = next_pulse({}, saying(), counts, t0);
    auto const after = [&](tick::duration d) {
        p = next_pulse(p, saying(), counts, t0 + d);
        auto all = signs({p});
        all.beat_at = t0 + d;
        return liveness(all, limits, t0 + d).status;
    };
    BOOST_TEST(after(180s) == 200);
    BOOST_TEST(after(181s) == 503);
    ++counts.polls;
    BOOST_TEST(after(182s) == 200);
    BOOST_TEST(after(362s) == 200);
    ++counts.acked;
    BOOST_TEST(after(363s) == 200);
    ++counts.failed_polls; // refused, again and again: an outage
    BOOST_TEST(after(600s) == 200);
}

BOOST_AUTO_TEST_CASE(lag_is_no_reason)
{
    consumer_counters counts;
    pulse p;
    for (int i = 0; i != 10; ++i) {
        auto said = saying();
        said.in_flight = 999;
        said.oldest = {"old", 40h, "waiting"};
        ++counts.polls;
        p = next_pulse(p, said, counts, t0 + i * 100s);
    }
    auto all = signs({p});
    all.beat_at = t0 + 900s;
    judge(all, t0 + 900s, {200, 200, 200}, "lagging");
}

BOOST_AUTO_TEST_CASE(of_two_loops_the_worse_decides_and_is_named)
{
    auto failing = loop("bills");
    failing.ready = false;
    failing.why = "receives fail, 3 in a row";
    judge(signs({loop(), failing}), t0, {200, 503, 200}, "one fails");
    BOOST_TEST(readiness(signs({loop(), failing}), limits, t0).reason == "bills: receives fail, 3 in a row");

    auto waiting = loop("bills");
    waiting.started = waiting.ready = false;
    judge(signs({loop(), waiting}), t0, {200, 503, 503}, "one waits");

    auto still = loop("bills");
    still.moved_at = t0 - 181s;
    judge(signs({loop(), still}), t0, {503, 200, 200}, "one stands still");
    BOOST_TEST(
        liveness(signs({loop(), still}), limits, t0).reason.starts_with("bills: no receive has ended for 181.0 s"));
}

BOOST_AUTO_TEST_CASE(what_has_started_stays_started)
{
    auto p = next_pulse({}, saying({{"not_started", "not started"}}), {}, t0);
    BOOST_TEST(!p.started);
    p = next_pulse(p, saying(), {}, t0 + 1s);
    BOOST_TEST(p.started);
    p = next_pulse(p, saying({{"paused", "paused: lunch"}}), {}, t0 + 2s);
    BOOST_TEST(p.started);
    BOOST_TEST(p.ready);
    BOOST_TEST(p.why == "paused: lunch");
    p.name = "orders";
    BOOST_TEST(details(signs({p}), t0 + 3s) ==
        "the loop answered 3.0 s ago\norders: ready: paused: lunch; moved 1.0 s ago\n");
}

BOOST_AUTO_TEST_SUITE_END()
