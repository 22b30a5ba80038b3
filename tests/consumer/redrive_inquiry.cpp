#include <quern/consumer/detail/dispatch/redrive_inquiry.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

tick const t0 = tick() + 1h;

} // namespace

BOOST_AUTO_TEST_SUITE(redrive_inquiry_rule)

BOOST_AUTO_TEST_CASE(it_asks_at_once_and_no_second_time_before_that_has_failed)
{
    redrive_inquiry rule(true, t0);
    BOOST_TEST((rule.wake_at() == t0));
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
        BOOST_TEST((*rule.wake_at() >= now + longest / 2));
        BOOST_TEST((*rule.wake_at() <= now + longest));
        BOOST_TEST(!rule.due(*rule.wake_at() - 1ms));
        now = *rule.wake_at();
    }
}

BOOST_AUTO_TEST_CASE(a_failure_is_told_once_and_not_while_receives_fail_as_well)
{
    std::mt19937_64 random(1);
    redrive_inquiry rule(true, t0);
    BOOST_TEST(!rule.failed(false, t0, random));
    BOOST_TEST(!rule.told());
    BOOST_TEST(rule.failed(true, t0, random));
    BOOST_TEST(rule.told());
    BOOST_TEST(!rule.failed(true, t0, random));
}

BOOST_AUTO_TEST_CASE(without_a_breaker_nobody_needs_it)
{
    redrive_inquiry rule(false, t0);
    BOOST_TEST(!rule.due(t0 + 24h));
    BOOST_TEST(!rule.wake_at().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
