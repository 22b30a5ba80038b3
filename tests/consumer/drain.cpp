#include <quern/consumer/detail/drain.hpp>
#include <quern/consumer/drain_report.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(drain_rule)

BOOST_AUTO_TEST_CASE(ends_as_soon_as_nothing_is_left)
{
    tick const t0{};
    drain rule(t0, 10s);
    BOOST_TEST(rule.next({1, 0}, t0) == drain::step::wait);
    BOOST_TEST(rule.next({0, 1}, t0) == drain::step::wait);
    BOOST_TEST(rule.next({0, 0}, t0) == drain::step::end);
}

BOOST_AUTO_TEST_CASE(cancels_once_at_nine_tenths_and_ends_at_the_limit_whatever_is_left)
{
    tick const t0{};
    drain rule(t0, 10s);
    BOOST_TEST(rule.wake_at(t0) == t0 + 9s);
    BOOST_TEST(rule.next({0, 3}, t0 + 9s - 1ms) == drain::step::wait);
    BOOST_TEST(rule.next({0, 3}, t0 + 9s) == drain::step::cancel);
    BOOST_TEST(rule.next({0, 3}, t0 + 9s + 1ms) == drain::step::wait);
    BOOST_TEST(rule.wake_at(t0 + 9s) == t0 + 10s);
    BOOST_TEST(rule.next({0, 3}, t0 + 10s) == drain::step::end);
}

// Of 20,000 that were cancelled in the last tenth, 10,880 could not be given back in time.
BOOST_AUTO_TEST_CASE(where_giving_back_takes_long_it_cancels_earlier_but_not_in_the_first_half)
{
    tick const t0{};
    drain rule(t0, 10s);
    BOOST_TEST(rule.next({0, 900, 0, 2s}, t0) == drain::step::wait);
    BOOST_TEST(rule.wake_at(t0) == t0 + 6s);
    BOOST_TEST(rule.next({0, 300, 0, 100ms}, t0 + 5s) == drain::step::wait); // most have ended by themselves
    BOOST_TEST(rule.wake_at(t0 + 5s) == t0 + 9s);
    BOOST_TEST(rule.next({0, 9'000, 0, 20s}, t0 + 5s - 1ms) == drain::step::wait);
    BOOST_TEST(rule.wake_at(t0 + 5s - 1ms) == t0 + 5s);
    BOOST_TEST(rule.next({0, 9'000, 0, 20s}, t0 + 5s) == drain::step::cancel);
    BOOST_TEST(!rule.keeps_back(t0 + 5s));
    BOOST_TEST(rule.next({0, 9'000, 0, 20s}, t0 + 10s) == drain::step::end);
}

// The process was stopped meanwhile, or its drain had no time at all: handlers must not run on as if nothing had been
// said.
BOOST_AUTO_TEST_CASE(late_as_it_may_be_it_cancels_before_it_ends)
{
    tick const t0{};
    drain late(t0, 10s);
    BOOST_TEST(late.next({0, 3}, t0 + 8s) == drain::step::wait);
    BOOST_TEST(late.next({0, 3}, t0 + 30s) == drain::step::cancel);
    BOOST_TEST(late.next({0, 3}, t0 + 30s) == drain::step::end);
    drain at_once(t0, 0s);
    BOOST_TEST(at_once.next({0, 3}, t0) == drain::step::cancel);
    BOOST_TEST(at_once.next({0, 3}, t0) == drain::step::end);
}

BOOST_AUTO_TEST_CASE(a_second_request_brings_the_cancelling_forward)
{
    tick const t0{};
    drain rule(t0, 10s);
    rule.hurry(t0 + 2s);
    BOOST_TEST(rule.next({0, 3}, t0 + 2s) == drain::step::cancel);
    rule.hurry(t0 + 3s);
    BOOST_TEST(rule.next({0, 3}, t0 + 3s) == drain::step::wait);
    // Receives that are open still hold back what is to be released; that has an end of its own.
    BOOST_TEST(rule.keeps_back(t0 + 3s));
    BOOST_TEST(rule.wake_at(t0 + 3s) == t0 + 9s);
    BOOST_TEST(!rule.keeps_back(t0 + 9s));
    BOOST_TEST(rule.wake_at(t0 + 9s) == t0 + 10s);
}

BOOST_AUTO_TEST_CASE(handlers_that_wait_for_the_drain_are_cancelled_once_nothing_else_is_left)
{
    tick const t0{};
    drain rule(t0, 10s);
    BOOST_TEST(rule.next({1, 2, 2}, t0) == drain::step::wait); // a receive is open
    BOOST_TEST(rule.next({0, 3, 2}, t0) == drain::step::wait); // another handler is at work
    BOOST_TEST(rule.next({0, 2, 2}, t0 + 1s) == drain::step::cancel);
    BOOST_TEST(rule.next({0, 2, 2}, t0 + 1s) == drain::step::wait);
    BOOST_TEST(rule.next({0, 0, 0}, t0 + 1s) == drain::step::end);
}

BOOST_AUTO_TEST_CASE(the_report_is_one_line_of_json)
{
    drain_report r;
    r.took = 812ms;
    r.finished = 12;
    r.released = 3;
    BOOST_TEST(to_json(r) ==
        R"({"took_ms":812,"finished":12,"cancelled":0,"released":3,"stranded":0,"running":0,"at_risk":0,"lost":0,"polls":0})");
    BOOST_TEST(r.clean());
    r.at_risk = 1;
    BOOST_TEST(!r.clean());
}

BOOST_AUTO_TEST_SUITE_END()
