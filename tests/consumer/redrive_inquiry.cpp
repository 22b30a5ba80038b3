#include <quern/consumer/detail/gate/redrive_inquiry.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

using quern::test::t0;

} // namespace

BOOST_AUTO_TEST_SUITE(redrive_inquiry_rule)

BOOST_AUTO_TEST_CASE(it_asks_at_once_and_no_second_time_before_that_has_failed)
{
    redrive_inquiry rule(true, t0);
    BOOST_TEST(rule.wake_at() == t0);
    BOOST_TEST(rule.due(t0));
    BOOST_TEST(!rule.due(t0 + 24h));
    BOOST_TEST(!rule.wake_at().has_value());
}

BOOST_AUTO_TEST_CASE(what_fails_is_asked_again_after_a_second_doubled_to_a_minute)
{
    std::mt19937_64 random(1);
    redrive_inquiry rule(true, t0);
    auto now = t0;
    for (auto const longest : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s}) {
        BOOST_TEST(rule.due(now));
        rule.failed(true, now, random);
        BOOST_TEST(*rule.wake_at() >= now + longest / 2);
        BOOST_TEST(*rule.wake_at() <= now + longest);
        BOOST_TEST(!rule.due(*rule.wake_at() - 1ms));
        now = *rule.wake_at();
    }
}

BOOST_AUTO_TEST_CASE(a_failure_is_told_once_and_not_while_receives_fail_as_well)
{
    std::mt19937_64 random(1);
    redrive_inquiry rule(true, t0);
    BOOST_TEST(!rule.failed(false, t0, random));
    BOOST_TEST(rule.failed(true, t0, random));
    BOOST_TEST(!rule.failed(true, t0, random));
    BOOST_TEST(rule.succeeded(t0)); // to be told as well
    BOOST_TEST(!rule.succeeded(t0));
}

// It was read once: lowered later, an outage filled the dead-letter queue.
BOOST_AUTO_TEST_CASE(an_answer_is_good_for_ten_minutes)
{
    redrive_inquiry rule(true, t0);
    BOOST_TEST(rule.due(t0));
    rule.succeeded(t0 + 1s);
    BOOST_TEST(rule.wake_at() == t0 + 1s + 10min);
    BOOST_TEST(!rule.due(t0 + 10min));
    BOOST_TEST(rule.due(t0 + 11min));
}

BOOST_AUTO_TEST_CASE(when_a_breaker_opens_it_asks_again_and_not_more_often_than_every_ten_seconds)
{
    redrive_inquiry rule(true, t0);
    rule.opened(); // it is due anyway
    BOOST_TEST(rule.due(t0));
    rule.succeeded(t0);
    rule.opened();
    BOOST_TEST(rule.wake_at() == t0 + 10s);
    BOOST_TEST(rule.due(t0 + 10s));
    rule.opened(); // while it is being asked for: the answer may be older
    rule.succeeded(t0 + 11s);
    BOOST_TEST(rule.wake_at() == t0 + 21s);
    BOOST_TEST(rule.due(t0 + 21s));
    rule.succeeded(t0 + 22s);
    rule.opened();
    rule.opened();
    BOOST_TEST(rule.wake_at() == t0 + 31s);
}

BOOST_AUTO_TEST_CASE(in_doubt_it_is_asked_for_every_ten_seconds_at_most)
{
    redrive_inquiry rule(true, t0);
    BOOST_TEST(rule.due(t0));
    rule.in_doubt(); // while it is being asked for
    rule.succeeded(t0);
    BOOST_TEST(rule.wake_at() == t0 + 10min);
    rule.in_doubt();
    BOOST_TEST(rule.wake_at() == t0 + 10s);
}

BOOST_AUTO_TEST_CASE(without_a_breaker_nobody_needs_it)
{
    redrive_inquiry rule(false, t0);
    rule.opened();
    BOOST_TEST(!rule.due(t0 + 24h));
    BOOST_TEST(!rule.wake_at().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
