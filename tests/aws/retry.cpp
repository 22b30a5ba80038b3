#include <quern/aws/retry.hpp>

#include <boost/test/unit_test.hpp>

// AWS's own scenarios run in the suite `retry` of quern-conformance; here is what they leave out.

namespace aws = quern::aws;
using namespace std::chrono_literals;
using quern::errc;
using verdict = aws::retry_advice::verdict;

namespace {

quern::failure const transient(errc::service_error, "", true);
quern::failure const throttled(errc::throttled, "", true);
quern::failure const final_error(errc::service_error, "");

} // namespace

BOOST_AUTO_TEST_SUITE(retry)

BOOST_AUTO_TEST_CASE(jitter_is_a_part_of_the_backoff)
{
    aws::retry_quota quota(500);
    for (auto const& [jitter, wait] : {std::pair(0.0, 0ms), std::pair(0.5, 25ms), std::pair(1.0, 50ms)}) {
        aws::retries call({}, quota, false);
        BOOST_TEST(call.failed(transient, {}, jitter).wait == wait);
    }
}

BOOST_AUTO_TEST_CASE(the_cap_comes_before_the_jitter)
{
    aws::retry_options options;
    options.max_attempts = 100;
    aws::retry_quota quota(10'000);
    aws::retries call(options, quota, false);
    for (int i = 0; i < 50; ++i)
        call.failed(throttled, {}, 0.5);
    BOOST_TEST(call.failed(throttled, {}, 0.5).wait == 10s);
}

BOOST_AUTO_TEST_CASE(a_hint_moves_the_wait_within_five_seconds_above_the_backoff)
{
    aws::retry_quota quota(500);
    for (auto const& [hint, wait] :
        {std::pair(1ms, 50ms), std::pair(700ms, 700ms), std::pair(3'600'000ms, 5'050ms)}) {
        aws::retries call({}, quota, false);
        BOOST_TEST(call.failed(transient, hint, 1).wait == wait);
    }
}

BOOST_AUTO_TEST_CASE(a_hint_is_a_number_of_milliseconds)
{
    BOOST_TEST(aws::parse_retry_after("1500") == 1'500ms);
    BOOST_TEST(aws::parse_retry_after("0") == 0ms);
    for (auto const* const text : {"", "-1", "1.5", "10s", " 10", "99999999999999999999"}) {
        BOOST_TEST(!aws::parse_retry_after(text), text);
    }
}

BOOST_AUTO_TEST_CASE(the_error_decides_before_the_attempts_and_the_attempts_before_the_quota)
{
    aws::retry_quota empty(500, 0);
    aws::retry_options once;
    once.max_attempts = 1;
    BOOST_TEST(aws::retries(once, empty, true).failed(final_error, {}, 1).is == verdict::final_error);
    auto const last = aws::retries(once, empty, true).failed(transient, {}, 1);
    BOOST_TEST(last.is == verdict::out_of_attempts);
    BOOST_TEST(last.wait == 0ms);
    BOOST_TEST(aws::retries({}, empty, false).failed(transient, {}, 1).is == verdict::out_of_quota);
}

BOOST_AUTO_TEST_CASE(only_a_long_poll_waits_before_it_gives_up_for_want_of_quota)
{
    aws::retry_quota empty(500, 4);
    auto const poll = aws::retries({}, empty, true).failed(throttled, {}, 1);
    BOOST_TEST(poll.is == verdict::out_of_quota);
    BOOST_TEST(poll.wait == 1s);
    BOOST_TEST(aws::retries({}, empty, false).failed(throttled, {}, 1).wait == 0ms);
    BOOST_TEST(empty.left() == 4);
}

BOOST_AUTO_TEST_CASE(a_call_that_needed_no_retry_earns_one_token_up_to_the_capacity)
{
    aws::retry_quota quota(500, 498);
    for (int i = 0; i < 5; ++i)
        aws::retries({}, quota, false).succeeded();
    BOOST_TEST(quota.left() == 500);
}

BOOST_AUTO_TEST_CASE(a_retry_gives_back_the_cost_of_the_last_attempt_only)
{
    aws::retry_quota quota(500);
    aws::retries call({}, quota, false);
    call.failed(transient, {}, 1);
    call.failed(throttled, {}, 1);
    BOOST_TEST(quota.left() == 500 - 14 - 5);
    call.succeeded();
    BOOST_TEST(quota.left() == 500 - 14);
}

BOOST_AUTO_TEST_CASE(options_that_cannot_work_are_named)
{
    BOOST_TEST(!aws::retry_options().validate());
    aws::retry_options wrong;
    wrong.max_attempts = 0;
    BOOST_TEST(wrong.validate()->message == "retry max_attempts must be at least 1");
    wrong = {};
    wrong.max_backoff = -1ms;
    BOOST_TEST(wrong.validate()->message == "retry max_backoff must not be negative");
    wrong.max_backoff = std::chrono::milliseconds::max();
    BOOST_REQUIRE(wrong.validate());
    BOOST_TEST(wrong.validate()->message == "retry max_backoff must not exceed a day");
}

// Zero times a power that had become infinite was no number, and its conversion undefined.
BOOST_AUTO_TEST_CASE(without_a_base_even_the_last_of_many_attempts_waits_for_nothing)
{
    aws::retry_options options;
    options.max_attempts = 2'000;
    options.transient_base = 0ms;
    aws::retry_quota quota(100'000);
    aws::retries call(options, quota, false);
    for (int i = 0; i < 1'998; ++i)
        call.failed(transient, {}, 1);
    auto const last = call.failed(transient, {}, 1);
    BOOST_TEST(last.is == verdict::again);
    BOOST_TEST(last.wait == 0ns);
}

BOOST_AUTO_TEST_SUITE_END()
