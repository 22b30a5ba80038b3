#include <quern/consumer/detail/intake/intake.hpp>

#include "support/t0.hpp"
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;
using quern::test::t0;

namespace {

/// Every receive that the rule starts at this moment.
std::vector<int> polls(intake& rule, std::size_t held, tick now)
{
    std::vector<int> asks;
    while (auto const ask = rule.next_poll(held, now))
        asks.push_back(ask);
    return asks;
}

} // namespace

BOOST_AUTO_TEST_SUITE(intake_rule)

BOOST_AUTO_TEST_CASE(begins_with_one_receive_of_ten)
{
    intake rule(1'000, 16, 1);
    BOOST_TEST(polls(rule, 0, t0) == std::vector{10}, boost::test_tools::per_element());
    BOOST_TEST(rule.polls() == 1u);
}

BOOST_AUTO_TEST_CASE(full_answers_double_the_receives_up_to_the_limit_and_an_empty_one_returns_to_one)
{
    intake rule(1'000, 6, 1);
    BOOST_TEST(polls(rule, 0, t0).size() == 1u);
    rule.answered(10, 10, t0 - 20s, t0);
    BOOST_TEST(polls(rule, 0, t0).size() == 2u);
    rule.answered(10, 5, t0 - 20s, t0); // half is enough: SQS asks only some of its servers
    BOOST_TEST(polls(rule, 0, t0).size() == 3u);
    BOOST_TEST(rule.polls() == 4u);
    rule.answered(10, 10, t0 - 20s, t0);
    BOOST_TEST(polls(rule, 0, t0).size() == 3u);
    BOOST_TEST(rule.polls() == 6u);
    for (int i = 0; i < 6; ++i)
        rule.answered(10, 0, t0 - 20s, t0);
    BOOST_TEST(polls(rule, 0, t0).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_few_messages_neither_grow_nor_shrink)
{
    intake rule(1'000, 8, 1);
    polls(rule, 0, t0);
    rule.answered(10, 10, t0 - 20s, t0);
    BOOST_TEST(polls(rule, 0, t0).size() == 2u);
    rule.answered(10, 2, t0 - 20s, t0);
    BOOST_TEST(polls(rule, 0, t0).size() == 1u);
    BOOST_TEST(rule.polls() == 2u);
}

// With sixteen receives open each arrival cost a request of its own, at a tenth of the load of which one would do.
BOOST_AUTO_TEST_CASE(single_messages_make_the_receives_fewer_down_to_one)
{
    intake rule(1'000, 4, 1);
    for (int i = 0; i < 3; ++i) {
        polls(rule, 0, t0);
        rule.answered(10, 10, t0 - 20s, t0);
    }
    polls(rule, 0, t0);
    BOOST_TEST(rule.polls() == 4u);
    auto now = t0;
    for (std::size_t left : {3u, 2u, 1u, 1u}) {
        now += 1s;
        rule.answered(10, 1, t0, now);
        while (rule.polls() > left)
            rule.answered(10, 2, t0, now);
        polls(rule, 0, now + 5ms);
        BOOST_TEST(rule.polls() == left);
    }
}

// Then SQS asks only some of its servers, and one message says nothing about how many there are.
BOOST_AUTO_TEST_CASE(single_messages_of_receives_that_do_not_wait_say_nothing)
{
    intake rule(1'000, 4, 1, false);
    polls(rule, 0, t0);
    rule.answered(10, 10, t0 - 20s, t0);
    polls(rule, 0, t0);
    rule.answered(10, 1, t0 - 20s, t0);
    polls(rule, 0, t0);
    BOOST_TEST(rule.polls() == 2u);
}

// Else a queue where a thousand messages a second arrive costs a thousand receives a second.
BOOST_AUTO_TEST_CASE(where_messages_arrive_fast_the_next_receive_waits_for_several)
{
    intake rule(1'000, 4, 1);
    auto const arrived = [](tick at) { return static_cast<int>((at - t0) / 1ms); }; // one each millisecond
    auto now = t0;
    auto longest = 0ns;
    int received = 0, receives = 0;
    auto const answer = [&] { // of one that waits for a message where there is none
        now = std::max(now, t0 + (received + 1) * 1ms);
        auto const got = std::min(arrived(now) - received, 10);
        received += got;
        ++receives;
        rule.answered(10, got, now, now);
    };
    while (received < 1'000) {
        auto const began = now;
        while (polls(rule, 0, now).empty())
            now = rule.wake_at().value();
        longest = std::max<std::chrono::nanoseconds>(longest, now - began);
        while (rule.polls() != 0) // two where it tries whether there are more
            answer();
    }
    BOOST_TEST(receives < 300);
    BOOST_TEST(longest > 0ms);
    BOOST_TEST(longest <= 5ms);
}

BOOST_AUTO_TEST_CASE(where_they_arrive_slowly_nothing_waits)
{
    intake rule(1'000, 4, 1);
    auto now = t0;
    std::deque<tick> open;
    std::size_t receives = 0;
    for (int i = 0; i < 100; ++i) {
        receives += polls(rule, 0, now).size();
        open.resize(rule.polls(), now);
        BOOST_REQUIRE(!open.empty());
        now += 20ms;
        rule.answered(10, 1, open.front(), now);
        open.pop_front();
    }
    BOOST_TEST(receives <= 103u); // two were tried at once now and then
}

BOOST_AUTO_TEST_CASE(a_backlog_is_not_waited_for_and_answers_that_come_together_put_nothing_off)
{
    intake rule(1'000, 4, 1);
    auto now = t0;
    for (int i = 0; i < 50; ++i) {
        BOOST_TEST(!polls(rule, 0, now).empty());
        now += 1ms;
        while (rule.polls() != 0)
            rule.answered(10, 10, now - 1ms, now);
    }
    BOOST_TEST(polls(rule, 0, now).size() == 4u);
    rule.answered(10, 2, now, now + 1us);
    BOOST_TEST(polls(rule, 0, now + 1us).empty());
    auto const ends = rule.wake_at().value();
    rule.answered(10, 2, now, now + 2us);
    BOOST_TEST(polls(rule, 0, now + 2us).empty());
    BOOST_TEST(rule.wake_at() <= ends);
    BOOST_TEST(!polls(rule, 0, ends).empty());
}

// Few handlers: one receive fits. Waiting for what had been taken for all that arrives, they stood still.
BOOST_AUTO_TEST_CASE(a_backlog_is_not_waited_for_where_one_receive_fits_at_a_time)
{
    intake rule(100, 16, 1, true, 1s);
    auto now = t0;
    std::size_t received = 0;
    for (auto const end = now + 60s; now < end; now += 1ms) {
        auto const began = now;
        auto const asked = rule.next_poll(5, now, 10);
        if (asked == 0) continue;
        now += 20ms;
        auto const got = 4 + static_cast<int>(received % 3);
        rule.answered(asked, got, began, now);
        received += static_cast<std::size_t>(got);
    }
    BOOST_TEST(received > 60u * 50 * 4 / 2);
}

// Messages at random moments fill an answer now and then: each time the receives doubled, to bring one message each.
BOOST_AUTO_TEST_CASE(a_full_answer_among_others_is_caught_up_with_and_no_backlog)
{
    intake rule(1'000, 16, 1);
    auto now = t0;
    auto began = now;
    auto const answer = [&](int got) {
        now += 1ms;
        rule.answered(10, got, began, now);
    };
    auto const ask = [&] {
        while (polls(rule, 0, now).empty())
            now = rule.wake_at().value();
        began = now;
        while (rule.polls() > 1) // tries whether there is a backlog
            rule.answered(10, 1, began, now += 1ms);
    };
    for (int i = 0; i < 20; ++i) {
        ask();
        answer(4);
    }
    BOOST_TEST(polls(rule, 0, now).empty()); // paced
    for (int i = 0; i < 20; ++i) {
        ask();
        BOOST_TEST(rule.polls() == 1u);
        answer(i % 4 == 0 ? 10 : 6);
        if (i % 4 != 0) continue;
        auto const full_at = now;
        ask();
        BOOST_TEST(now - full_at < 3ms); // at once, or after a try
        answer(2);
    }
    BOOST_TEST(rule.target() == 1u);
    ask();
    answer(10);
    ask();
    answer(10);
    BOOST_TEST(rule.target() == 2u);
    BOOST_TEST(polls(rule, 0, now).size() == 2u); // and they wait for nothing
}

BOOST_AUTO_TEST_CASE(never_asks_for_more_than_is_free_counting_what_is_asked_for_already)
{
    for (std::size_t held = 0; held <= 25; ++held) {
        intake fresh(25, 16, 1);
        auto const first = fresh.next_poll(0, t0);
        BOOST_TEST(first == 6); // of an idle queue a quarter
        fresh.answered(first, first, t0 - 20s, t0);
        std::size_t asked = 0;
        for (auto const ask : polls(fresh, held, t0 + 1s))
            asked += static_cast<std::size_t>(ask);
        BOOST_TEST(held + asked <= 25u);
    }
}

BOOST_AUTO_TEST_CASE(a_few_free_places_wait_for_more_but_not_for_long)
{
    intake rule(1'000, 16, 1);
    BOOST_TEST(polls(rule, 997, t0).empty());
    BOOST_REQUIRE(rule.wake_at().has_value());
    auto const patience_ends = *rule.wake_at();
    BOOST_TEST(patience_ends > t0);
    BOOST_TEST(patience_ends <= t0 + 100ms);
    BOOST_TEST(polls(rule, 990, t0 + 1ms) == std::vector{10}, boost::test_tools::per_element());
    rule.answered(10, 0, t0 - 20s, t0);
    BOOST_TEST(polls(rule, 997, t0 + 2ms).empty());
    BOOST_TEST(polls(rule, 997, *rule.wake_at()) == std::vector{3}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(other_limits_bound_a_receive_as_well)
{
    intake rule(1'000, 16, 1);
    BOOST_TEST(rule.next_poll(0, t0, 0) == 0);
    BOOST_TEST(!rule.wake_at().has_value()); // whoever sets the limit knows when
    BOOST_TEST(rule.next_poll(0, t0, 3) == 3);
    BOOST_TEST(rule.coming() == 3u);
    rule.answered(3, 3, t0, t0);
    BOOST_TEST(rule.coming() == 0u);
    BOOST_TEST(rule.next_poll(3, t0, 3) == 0); // a few more may come free
    BOOST_TEST(rule.next_poll(3, *rule.wake_at(), 3) == 3);
}

BOOST_AUTO_TEST_CASE(a_consumer_of_one_does_not_wait)
{
    intake rule(1, 16, 1);
    BOOST_TEST(polls(rule, 0, t0) == std::vector{1}, boost::test_tools::per_element());
    rule.answered(1, 1, t0 - 20s, t0);
    BOOST_TEST(polls(rule, 1, t0).empty());
    BOOST_TEST(!rule.wake_at().has_value()); // a freed place wakes, no clock
    BOOST_TEST(polls(rule, 0, t0) == std::vector{1}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(errors_are_paced_ever_slower_up_to_ten_seconds_and_success_forgets_them)
{
    intake rule(1'000, 16, 7);
    auto now = t0;
    auto longest = 0ms;
    for (int i = 0; i < 12; ++i) {
        BOOST_TEST(polls(rule, 0, now).size() == 1u);
        rule.failed(10, now);
        BOOST_TEST(polls(rule, 0, now).empty());
        auto const pause = std::chrono::duration_cast<std::chrono::milliseconds>(*rule.wake_at() - now);
        auto const full = std::min<std::int64_t>(100LL << i, 10'000);
        BOOST_TEST(pause.count() >= full / 2);
        BOOST_TEST(pause.count() <= full);
        longest = std::max(longest, pause);
        now += pause;
    }
    BOOST_TEST(longest.count() >= 5'000);
    BOOST_TEST(polls(rule, 0, now).size() == 1u);
    rule.answered(10, 0, t0 - 20s, t0);
    BOOST_TEST(polls(rule, 0, now).size() == 1u);
    rule.failed(10, now);
    polls(rule, 0, now);
    BOOST_TEST(*rule.wake_at() - now <= 100ms);
}

BOOST_AUTO_TEST_CASE(stopped_it_starts_nothing_more)
{
    intake rule(1'000, 16, 1);
    polls(rule, 0, t0);
    rule.stop();
    rule.answered(10, 10, t0 - 20s, t0);
    BOOST_TEST(polls(rule, 0, t0 + 1h).empty());
    BOOST_TEST(rule.polls() == 0u);
}

BOOST_AUTO_TEST_CASE(receives_that_fail_together_count_as_one_failure)
{
    intake rule(1'000, 16, 1);
    for (int i = 0; i < 4; ++i) {
        polls(rule, 0, t0);
        rule.answered(10, 10, t0, t0);
    }
    polls(rule, 0, t0);
    auto const open = rule.polls();
    BOOST_TEST(open >= 15u);
    for (std::size_t i = 0; i < open; ++i)
        rule.failed(10, t0);
    polls(rule, 0, t0);
    BOOST_REQUIRE(rule.wake_at().has_value());
    BOOST_TEST(*rule.wake_at() <= t0 + 100ms);
}

// One in a hundred that fails cost a third of all.
BOOST_AUTO_TEST_CASE(one_of_many_receives_that_fails_stops_half_of_them_for_a_few_milliseconds)
{
    intake rule(1'000, 16, 1);
    for (int i = 0; i < 5; ++i) {
        polls(rule, 0, t0);
        rule.answered(10, 10, t0, t0);
    }
    polls(rule, 0, t0);
    BOOST_TEST(rule.polls() == 16u);
    rule.failed(10, t0);
    BOOST_TEST(rule.target() == 8u);
    for (int i = 0; i < 8; ++i)
        rule.answered(10, 10, t0, t0 + 1ms);
    BOOST_TEST(!polls(rule, 0, t0 + 7ms).empty());
    BOOST_TEST(rule.target() == 16u);
}

BOOST_AUTO_TEST_CASE(an_empty_answer_comes_at_most_once_a_second)
{
    intake rule(1'000, 16, 1);
    polls(rule, 0, t0);
    rule.answered(10, 0, t0, t0 + 5ms);
    BOOST_TEST(polls(rule, 0, t0 + 5ms).empty());
    BOOST_TEST(*rule.wake_at() == t0 + 1s);
    BOOST_TEST(polls(rule, 0, t0 + 1s).size() == 1u);
    rule.answered(10, 0, t0 + 1s, t0 + 21s);
    BOOST_TEST(polls(rule, 0, t0 + 21s).size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
