#include <quern/policy/breaker.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>

using namespace quern;
using namespace std::chrono_literals;
using policy::breaker;
using failing = breaker::failing;
using phase = breaker::phase;

namespace {

/// A breaker that has seen so many starts a second for a minute.
struct usual_day {
    policy::breaker_options options;
    tick now = tick() + 24h;
    breaker it{options, now};

    explicit usual_day(int a_second = 20, policy::breaker_options o = {}) : options(o), it(o, now)
    {
        for (int i = 0; i < 60 * a_second; ++i, now += tick::duration(1s) / a_second)
            it.started(now);
        succeed();
    }

    void fail(int times, std::chrono::milliseconds within = 2s)
    {
        for (int i = 0; i < times; ++i, now += tick::duration(within) / times)
            it.failed(failing::fresh, now);
    }
    void succeed() { it.succeeded(now, false, now); }

    /// Messages that failed in the last run are tried again, while others succeed.
    void try_again(int fail, int succeed_now)
    {
        for (; fail > 0; --fail, now += 10ms)
            it.failed(failing::again, now), succeed();
        for (; succeed_now > 0; --succeed_now, now += 10ms)
            it.succeeded(now, true, now);
    }
    /// The fewest fresh failures that are suspicious now.
    int patience() const
    {
        auto copy = *this;
        int n = 0;
        for (; !copy.suspects(); ++n, copy.now += 1s)
            copy.it.failed(failing::fresh, copy.now);
        return n;
    }
    bool suspects() const { return it.state() == phase::half_open; }
};

} // namespace

BOOST_AUTO_TEST_SUITE(breaker_rule)

BOOST_AUTO_TEST_CASE(ten_fresh_messages_in_a_row_over_a_second_are_suspicious)
{
    struct {
        int failures;
        std::chrono::milliseconds within;
        bool suspects;
    } const table[] = {{9, 9s, false}, {10, 10s, true}, {10, 900ms, false}, {50, 250ms, false}, {200, 2s, true}};
    for (auto const& row : table) {
        usual_day day;
        day.fail(row.failures, row.within);
        BOOST_TEST(day.suspects() == row.suspects, row.failures << " within " << row.within.count() << " ms");
    }
}

// Eight of the same messages in turn kept it half open for ever.
BOOST_AUTO_TEST_CASE(a_message_that_fails_again_is_no_news)
{
    usual_day day;
    day.fail(9, 9s);
    for (int i = 0; i < 1'000; ++i, day.now += 1s)
        day.it.failed(failing::again, day.now);
    BOOST_TEST(!day.suspects());
    day.it.failed(failing::fresh, day.now);
    BOOST_TEST(day.suspects());
}

// Eleven in half a second were forgotten when the second was over.
BOOST_AUTO_TEST_CASE(a_run_that_was_long_enough_is_looked_at_again_when_the_second_is_over)
{
    usual_day day;
    day.fail(11, 500ms);
    BOOST_TEST(!day.suspects());
    day.now += 1s;
    day.it.failed(failing::again, day.now);
    BOOST_TEST(day.suspects());
}

BOOST_AUTO_TEST_CASE(fresh_messages_are_tried_every_fifteen_seconds_at_the_latest)
{
    breaker it(policy::breaker_options(), tick() + 24h);
    auto now = tick() + 24h + 2h; // a message an hour or so
    for (int i = 0; i < 10; ++i, now += 200ms)
        it.failed(failing::fresh, now);
    BOOST_TEST((it.state() == phase::half_open));
    BOOST_TEST(it.limit(now).value() >= 1 / 15.0);
    it.started(now);
    BOOST_TEST(!it.admits(now + 1s));
    BOOST_TEST(it.admits(now + 15s));
}

BOOST_AUTO_TEST_CASE(one_may_begin_at_once_when_somebody_has_mended_something)
{
    usual_day day(1);
    day.fail(10);
    day.it.started(day.now);
    BOOST_TEST(!day.it.admits(day.now));
    day.it.probe(day.now);
    BOOST_TEST(day.it.admits(day.now));
    day.it.started(day.now);
    BOOST_TEST(!day.it.admits(day.now));
    BOOST_TEST(day.suspects());
}

BOOST_AUTO_TEST_CASE(a_success_ends_the_run)
{
    usual_day day;
    for (int i = 0; i < 100; ++i) {
        day.fail(9, 9s);
        day.succeed();
    }
    BOOST_TEST(!day.suspects());
}

BOOST_AUTO_TEST_CASE(it_takes_twice_as_many_as_a_run_of_a_part_within_the_hour)
{
    usual_day day;
    day.fail(50);
    BOOST_TEST(day.suspects());
    day.succeed();
    day.try_again(10, 0);
    BOOST_TEST(day.patience() == 100);
    day.fail(100);
    day.succeed();
    day.try_again(10, 0);
    BOOST_TEST(day.patience() == 200);
    day.now += 61min;
    BOOST_TEST(day.patience() == 10);
}

// Two outages of all within an hour: the second was not noticed before twice as many had failed as in all of the
// first, and thousands of messages died of it.
BOOST_AUTO_TEST_CASE(an_outage_that_is_over_leaves_the_next_one_as_suspicious)
{
    usual_day day;
    for (auto const length : {2'000, 50, 10, 300}) {
        day.fail(length);
        BOOST_TEST(day.suspects());
        day.succeed();
        day.try_again(1, 12); // one of them has a trouble of its own
        BOOST_TEST(day.patience() == 10);
    }
}

BOOST_AUTO_TEST_CASE(a_lead_of_four_tries_tells_what_a_run_was)
{
    struct {
        int fail, succeed;
        int patience;
    } const table[] = {{3, 0, 10}, {4, 0, 60}, {3, 20, 10}, {0, 3, 10}, {0, 20, 10}};
    for (auto const& row : table) {
        usual_day day;
        day.fail(30);
        day.succeed();
        day.try_again(row.fail, row.succeed);
        BOOST_TEST(day.patience() == row.patience, row.fail << " fail again, " << row.succeed << " succeed");
    }
}

// They fail because the next outage has begun, and nothing succeeds beside them.
BOOST_AUTO_TEST_CASE(what_fails_again_as_an_outage_begins_tells_nothing_of_the_last_one)
{
    usual_day day;
    for (int i = 0; i < 5; ++i) {
        day.fail(300);
        day.succeed();
        day.try_again(0, 3);
        for (int again = 0; again < 100; ++again, day.now += 10ms)
            day.it.failed(failing::again, day.now);
        BOOST_TEST(day.patience() == 10);
    }
}

BOOST_AUTO_TEST_CASE(a_run_that_nobody_tries_again_is_forgotten_and_a_longer_one_takes_its_place)
{
    usual_day day;
    day.fail(200);
    day.succeed();
    day.fail(20);
    day.succeed();
    day.try_again(10, 0);
    BOOST_TEST(day.patience() == 400);

    usual_day other;
    other.fail(200);
    other.succeed();
    other.now += 16min;
    other.fail(20);
    other.succeed();
    other.try_again(10, 0);
    BOOST_TEST(other.patience() == 40);
}

// The usual work of the last minute was the trickle of the outage before: a tenth of a tenth went on.
BOOST_AUTO_TEST_CASE(a_relapse_while_it_recovers_keeps_the_share_that_was)
{
    usual_day day(100);
    day.fail(20);
    auto const first = day.it.limit(day.now).value();
    for (int i = 0; i < 600; ++i, day.now += 110ms)
        day.it.started(day.now);
    day.succeed();
    day.now += 2s;
    day.fail(20);
    BOOST_TEST(day.suspects());
    BOOST_TEST(day.it.limit(day.now).value() >= first);
}

BOOST_AUTO_TEST_CASE(half_open_a_share_goes_on_and_one_a_second_at_least)
{
    struct {
        double share;
        int usual;
        double limit;
    } const table[] = {{0.1, 100, 10}, {0.1, 20, 2}, {0.1, 2, 1}, {0.5, 2, 1}, {0, 100, 1.0 / 15}, {1, 10, 10}};
    for (auto const& row : table) {
        usual_day day(row.usual, {.share = row.share});
        day.fail(20);
        auto const limit = day.it.limit(day.now);
        BOOST_REQUIRE(limit.has_value());
        BOOST_TEST(*limit == row.limit, boost::test_tools::tolerance(0.05));
    }
}

BOOST_AUTO_TEST_CASE(where_it_has_seen_little_the_usual_is_not_taken_from_a_moment)
{
    tick now = tick() + 24h;
    breaker it({}, now);
    for (int i = 0; i < 1'000; ++i) { // a backlog
        it.started(now);
        it.failed(failing::fresh, now);
        now += 2ms;
    }
    BOOST_TEST(*it.limit(now) == 1);
}

// A process that began in the middle of an outage, before a backlog, began thousands in its first second, and took
// these for the usual.
BOOST_AUTO_TEST_CASE(before_anything_has_succeeded_a_hundred_failures_need_no_second)
{
    breaker it({}, tick());
    for (int i = 0; i < 99; ++i)
        it.failed(failing::fresh, tick());
    BOOST_TEST((it.state() == phase::closed));
    it.failed(failing::fresh, tick());
    BOOST_TEST((it.state() == phase::half_open));
}

BOOST_AUTO_TEST_CASE(an_outage_is_known_to_be_over_when_most_of_its_messages_succeed)
{
    usual_day day;
    day.fail(50);
    day.succeed();
    for (int i = 0; i < 3; ++i)
        BOOST_TEST((day.it.succeeded(day.now, true, day.now) == breaker::meaning::well));
    BOOST_TEST((day.it.succeeded(day.now, true, day.now) == breaker::meaning::over));
    BOOST_TEST((day.it.succeeded(day.now, true, day.now) == breaker::meaning::well));
}

BOOST_AUTO_TEST_CASE(starts_are_let_in_one_by_one)
{
    usual_day day(20, {.share = 0.1});
    day.fail(20);
    int begun = 0;
    for (auto const until = day.now + 10s; day.now < until; day.now += 10ms) {
        if (!day.it.admits(day.now)) continue;
        day.it.started(day.now);
        ++begun;
    }
    BOOST_TEST(begun >= 20);
    BOOST_TEST(begun <= 22);
}

BOOST_AUTO_TEST_CASE(a_handler_that_began_before_closes_nothing)
{
    usual_day day;
    auto const before = day.now;
    day.fail(20);
    BOOST_TEST((day.it.succeeded(before, false, day.now) == breaker::meaning::nothing));
    BOOST_TEST(day.suspects());
    BOOST_TEST((day.it.succeeded(day.now, false, day.now) == breaker::meaning::well));
    BOOST_TEST(!day.suspects());
}

// What a slow handler had begun before the outage taught that such a run is usual: the outage was never suspected.
BOOST_AUTO_TEST_CASE(a_handler_that_began_before_a_run_does_not_tell_how_long_one_can_be)
{
    for (auto const began_before : {true, false}) {
        usual_day day;
        auto const before = day.now - 1s;
        day.fail(100, 800ms);
        day.it.succeeded(began_before ? before : day.now, false, day.now);
        day.try_again(10, 0);
        day.fail(60);
        BOOST_TEST(day.suspects() == began_before);
    }
}

BOOST_AUTO_TEST_CASE(closed_again_twice_as_many_begin_each_second)
{
    usual_day day(20, {.share = 0.1});
    day.fail(20);
    day.succeed();
    BOOST_TEST(*day.it.limit(day.now) == 2, boost::test_tools::tolerance(0.05));
    BOOST_TEST(*day.it.limit(day.now + 3s) == 16, boost::test_tools::tolerance(0.05));
    BOOST_TEST(!day.it.limit(day.now + 16s).has_value());
    BOOST_TEST(!day.it.limit(day.now).has_value()); // that was it
}

BOOST_AUTO_TEST_CASE(it_says_what_it_suspects_and_why)
{
    usual_day day(20, {.share = 0.1});
    BOOST_TEST(day.it.explain(day.now) == "closed");
    day.fail(20);
    auto said = day.it.explain(day.now + 5s);
    BOOST_TEST(said.starts_with("half open for "), said);
    BOOST_TEST(said.ends_with(" a second until one succeeds: 20 in a row failed"), said);
    day.succeed();
    said = day.it.explain(day.now + 1s);
    BOOST_TEST(said.starts_with("closed again for 1 s, "), said);
}

BOOST_AUTO_TEST_CASE(a_share_is_from_0_to_1)
{
    BOOST_TEST(!policy::breaker_options{.share = 0}.validate());
    BOOST_TEST(!policy::breaker_options{.share = 1}.validate());
    for (auto const wrong : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
        BOOST_TEST(policy::breaker_options{.share = wrong}.validate()->message.starts_with("breaker.share"));
}

BOOST_AUTO_TEST_SUITE_END()
