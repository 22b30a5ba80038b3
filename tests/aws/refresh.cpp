#include <quern/aws/credentials/detail/refresh.hpp>
#include <quern/core/detail/text/date.hpp>

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;
using quern::wall_time;
using quern::aws::detail::refresh_rule;
using advice = refresh_rule::advice;

namespace {

wall_time const start = *quern::detail::text::parse_timestamp("20260102T030405Z");

refresh_rule::moment at(std::chrono::nanoseconds since)
{
    return {quern::tick(since), start + std::chrono::duration_cast<wall_time::duration>(since)};
}

refresh_rule loaded(std::chrono::seconds lifetime, double jitter = 1)
{
    refresh_rule rule;
    BOOST_REQUIRE(rule.loaded(at(0s), start + lifetime, jitter));
    return rule;
}

} // namespace

BOOST_AUTO_TEST_SUITE(refresh)

BOOST_AUTO_TEST_CASE(at_first_there_are_none)
{
    BOOST_TEST(refresh_rule().at(at(0s)) == advice::wait);
}

BOOST_AUTO_TEST_CASE(those_without_an_end_are_never_renewed)
{
    refresh_rule rule;
    BOOST_TEST(rule.loaded(at(0s), {}, 1));
    BOOST_TEST(rule.at(at(24h * 365)) == advice::use);
}

BOOST_AUTO_TEST_CASE(long_lived_ones_are_renewed_a_quarter_of_an_hour_ahead_or_later_by_jitter)
{
    auto const early = loaded(6h, 1);
    BOOST_TEST(early.at(at(6h - 15min - 1s)) == advice::use);
    BOOST_TEST(early.at(at(6h - 15min)) == advice::renew);
    auto const late = loaded(6h, 0);
    BOOST_TEST(late.at(at(6h - 450s - 1s)) == advice::use);
    BOOST_TEST(late.at(at(6h - 450s)) == advice::renew);
}

BOOST_AUTO_TEST_CASE(short_lived_ones_are_renewed_in_the_last_quarter)
{
    auto const rule = loaded(15min);
    BOOST_TEST(rule.at(at(675s - 1s)) == advice::use);
    BOOST_TEST(rule.at(at(675s)) == advice::renew);
}

BOOST_AUTO_TEST_CASE(the_last_ten_seconds_are_not_used)
{
    auto const rule = loaded(1h);
    BOOST_TEST(rule.at(at(1h - 10s - 1ns)) == advice::renew);
    BOOST_TEST(rule.at(at(1h - 10s)) == advice::wait);
    refresh_rule fresh;
    BOOST_TEST(!fresh.loaded(at(0s), start + 10s, 1));
    BOOST_TEST(fresh.at(at(0s)) == advice::wait);
}

BOOST_AUTO_TEST_CASE(a_calendar_that_is_set_ahead_counts)
{
    auto const rule = loaded(1h);
    BOOST_TEST(rule.at({quern::tick(1s), start + 2h}) == advice::wait);
}

BOOST_AUTO_TEST_CASE(the_same_ones_again_are_asked_for_ever_less_far_apart_but_not_at_once)
{
    auto rule = loaded(1h);
    int asked = 0;
    for (auto t = 0s; t < 1h - 10s; t += 1s) {
        if (rule.at(at(t)) != advice::renew) continue;
        ++asked;
        BOOST_TEST(rule.loaded(at(t), start + 1h, 1));
        BOOST_TEST(rule.at(at(t)) == advice::use);
    }
    BOOST_TEST(asked == 4); // 15 min, 225 s, 57 s and 15 s before the end
}

BOOST_AUTO_TEST_CASE(after_a_failure_the_old_ones_are_used_and_the_pauses_grow)
{
    auto rule = loaded(6h);
    std::chrono::seconds t = 6h - 15min;
    for (auto const pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s}) {
        BOOST_TEST(rule.at(at(t)) == advice::renew);
        rule.failed(at(t), 0);
        BOOST_TEST(rule.at(at(t + pause - 1ns)) == advice::use);
        t += pause;
    }
    BOOST_TEST(rule.at(at(t)) == advice::renew);
    rule.failed(at(t), 1); // jitter takes half
    BOOST_TEST(rule.at(at(t + 30s)) == advice::renew);
}

BOOST_AUTO_TEST_CASE(a_failure_without_old_ones_fails_until_the_next_attempt_is_due)
{
    refresh_rule rule;
    rule.failed(at(0s), 0);
    BOOST_TEST(rule.at(at(1s - 1ns)) == advice::fail);
    BOOST_TEST(rule.at(at(1s)) == advice::wait);
    BOOST_TEST(rule.loaded(at(1s), {}, 0));
    rule.failed(at(2s), 0); // the pauses start again
    BOOST_TEST(rule.at(at(2s)) == advice::use);
}

BOOST_AUTO_TEST_CASE(refused_ones_are_not_used_again_and_a_second_refusal_so_soon_changes_nothing)
{
    auto rule = loaded(6h);
    BOOST_TEST(rule.refused(at(1s), 0));
    BOOST_TEST(rule.at(at(1s)) == advice::wait);
    BOOST_TEST(rule.refused(at(1s), 0)); // another call with the same ones: new ones are on their way
    BOOST_TEST(rule.loaded(at(2s), start + 6h, 1));
    BOOST_TEST(rule.at(at(2s)) == advice::use);
    BOOST_TEST(!rule.refused(at(11s - 1ns), 0));
    BOOST_TEST(rule.at(at(11s - 1ns)) == advice::use);
    BOOST_TEST(rule.refused(at(11s), 0));
    BOOST_TEST(rule.at(at(11s)) == advice::wait);
}

// A minute without another try was long where a role's new session took some seconds to be known everywhere.
BOOST_AUTO_TEST_CASE(refusals_count_again_after_seconds_at_first_then_ever_later)
{
    auto rule = loaded(6h);
    auto t = 0s;
    for (auto const pause : {10s, 20s, 40s, 60s, 60s}) {
        BOOST_TEST(rule.refused(at(t), 0));
        BOOST_TEST(rule.loaded(at(t), start + 6h, 1));
        BOOST_TEST(!rule.refused(at(t + pause - 1ns), 0));
        t += pause;
    }
    t += 60s; // a quiet time: it begins anew
    BOOST_TEST(rule.refused(at(t), 1));
    BOOST_TEST(rule.loaded(at(t), start + 6h, 1));
    BOOST_TEST(rule.refused(at(t + 5s), 1)); // jitter takes half
}

BOOST_AUTO_TEST_SUITE_END()
