#include <quern/consumer/detail/gate/pace.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

using quern::test::t0;

} // namespace

BOOST_AUTO_TEST_SUITE(pace_rule)

BOOST_AUTO_TEST_CASE(without_a_rate_nobody_waits)
{
    pace rule({}, t0);
    BOOST_TEST(rule.has_turn(t0));
    rule.started(t0);
    BOOST_TEST(rule.room(1'000, t0) == std::numeric_limits<std::size_t>::max());
    BOOST_TEST(!rule.wake_at(false).has_value());
}

BOOST_AUTO_TEST_CASE(so_many_begin_at_once_and_the_next_when_its_time_has_come)
{
    pace rule(policy::rate{.count = 5, .burst = 2}, t0);
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST(rule.has_turn(t0));
        rule.started(t0);
    }
    BOOST_TEST(!rule.has_turn(t0));
    BOOST_TEST(rule.wake_at(true) == t0 + 200ms);
    BOOST_TEST(!rule.wake_at(false));
    BOOST_TEST(!rule.has_turn(t0 + 199ms));
    BOOST_TEST(rule.has_turn(t0 + 200ms));
    rule.started(t0 + 200ms);
    BOOST_TEST(!rule.has_turn(t0 + 200ms));
}

// Receiving takes time: what can begin within the next second is asked for already.
BOOST_AUTO_TEST_CASE(no_more_is_received_than_can_begin_within_a_second)
{
    pace rule(policy::rate{.count = 20, .burst = 5}, t0);
    BOOST_TEST(rule.room(0, t0) == 25u);
    BOOST_TEST(rule.room(15, t0) == 10u);
    BOOST_TEST(rule.room(16, t0) == 0u);          // a receive of nine costs as much as one of ten
    BOOST_TEST(!rule.wake_at(false).has_value()); // until one of those that come has begun
    for (int i = 0; i < 5; ++i)
        rule.started(t0);
    BOOST_TEST(rule.room(10, t0) == 10u);
    BOOST_TEST(rule.room(20, t0) == 0u);
    BOOST_TEST(rule.wake_at(true) == t0 + 50ms); // of the first that waits
}

BOOST_AUTO_TEST_CASE(a_slow_rate_receives_one_when_one_may_begin)
{
    pace rule(policy::rate{.count = 1, .per = 1min, .burst = 1}, t0);
    BOOST_TEST(rule.room(0, t0) == 1u);
    rule.started(t0);
    BOOST_TEST(rule.room(0, t0) == 0u);
    BOOST_TEST(rule.wake_at(false) == t0 + 59s);
    BOOST_TEST(rule.room(0, t0 + 59s) == 1u);
    BOOST_TEST(!rule.wake_at(false).has_value());
    BOOST_TEST(rule.room(1, t0 + 1h) == 0u); // and one is coming
    rule.started(t0 + 1h);
    BOOST_TEST(rule.room(0, t0 + 1h) == 0u);
    BOOST_TEST(rule.wake_at(false).has_value());
    rule.no_room();
    BOOST_TEST(!rule.wake_at(false).has_value());
}

// A time to wake that is past would be a loop without a pause.
BOOST_AUTO_TEST_CASE(it_never_wakes_for_nothing)
{
    for (auto const& r : {policy::rate{.count = 3}, {.count = 1, .burst = 1}, {.count = 1, .per = 1h, .burst = 3},
             {.count = 5'000, .burst = 1}, {.count = 7, .per = 13s, .burst = 20}}) {
        pace rule(r, t0);
        auto now = t0;
        for (std::size_t coming = 0; coming < 60; ++coming) {
            if (rule.has_turn(now)) rule.started(now);
            if (rule.room(coming, now) != 0) continue;
            auto const at = rule.wake_at(false);
            if (!at) continue; // until one that comes has begun
            BOOST_REQUIRE(*at > now);
            BOOST_REQUIRE(rule.room(coming, *at) != 0u);
            now = *at;
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
