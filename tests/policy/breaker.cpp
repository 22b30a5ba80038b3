#include <quern/policy/breaker.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>

using namespace quern;
using namespace std::chrono_literals;
using policy::breaker;
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
    }

    void fail(int times, std::chrono::milliseconds within = 2s)
    {
        for (int i = 0; i < times; ++i, now += tick::duration(within) / times)
            it.failed(true, now);
    }
    void succeed() { it.succeeded(now, now); }
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
        day.it.failed(false, day.now);
    BOOST_TEST(!day.suspects());
    day.it.failed(true, day.now);
    BOOST_TEST(day.suspects());
}

// Eleven in half a second were forgotten when the second was over.
BOOST_AUTO_TEST_CASE(a_run_that_was_long_enough_is_looked_at_again_when_the_second_is_over)
{
    usual_day day;
    day.fail(11, 500ms);
    BOOST_TEST(!day.suspects());
    day.now += 1s;
    day.it.failed(false, day.now);
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

BOOST_AUTO_TEST_CASE(it_takes_twice_as_many_as_a_success_has_ended_within_the_hour)
{
    usual_day day;
    day.fail(50);
    BOOST_TEST(day.suspects());
    day.succeed();
    BOOST_TEST(!day.suspects());
    day.fail(99);
    BOOST_TEST(!day.suspects());
    day.fail(1);
    BOOST_TEST(day.suspects());
    day.succeed(); // now it is a hundred
    day.fail(199);
    BOOST_TEST(!day.suspects());
    day.succeed();
    day.now += 61min;
    day.fail(10, 10s);
    BOOST_TEST(day.suspects());
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
        it.failed(true, now);
        now += 2ms;
    }
    BOOST_TEST(*it.limit(now) < 10);
    BOOST_TEST(*it.limit(now) > 1);
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
    day.it.succeeded(before, day.now);
    BOOST_TEST(day.suspects());
    day.it.succeeded(day.now, day.now);
    BOOST_TEST(!day.suspects());
}

// What a slow handler had begun before the outage taught that such a run is usual: the outage was never suspected.
BOOST_AUTO_TEST_CASE(a_handler_that_began_before_a_run_does_not_tell_how_long_one_can_be)
{
    for (auto const began_before : {true, false}) {
        usual_day day;
        auto const before = day.now - 1s;
        day.fail(100, 800ms);
        day.it.succeeded(began_before ? before : day.now, day.now);
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
