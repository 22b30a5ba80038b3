// Each rule, when its limit is turned.

#include <quern/consumer/detail/byte_limit.hpp>
#include <quern/consumer/detail/gate/pace.hpp>
#include <quern/consumer/detail/intake/intake.hpp>
#include <quern/consumer/limits.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <limits>
#include <string>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

using quern::test::t0;

std::string refused(std::function<void(consumer_limits&)> const& change)
{
    consumer_limits to;
    change(to);
    auto const wrong = to.validate();
    return wrong ? wrong->message.substr(0, wrong->message.find(' ')) : "";
}

} // namespace

BOOST_AUTO_TEST_SUITE(turning_rules)

BOOST_AUTO_TEST_CASE(what_cannot_work_is_refused_by_its_name)
{
    auto const most = std::numeric_limits<std::size_t>::max();
    BOOST_TEST(refused([](auto&) {}) == "");
    BOOST_TEST(refused([](auto& l) { l.max_in_flight = 0; }) == "max_in_flight");
    BOOST_TEST(refused([&](auto& l) { l.max_in_flight = most; }) == "max_in_flight");
    BOOST_TEST(refused([](auto& l) { l.max_bytes_in_flight = 1'000'000; }) == "max_bytes_in_flight");
    BOOST_TEST(refused([](auto& l) { l.max_bytes_in_flight.reset(); }) == "");
    BOOST_TEST(refused([](auto& l) { l.rate = policy::rate{.count = -1}; }) == "rate.count");
    BOOST_TEST(refused([](auto& l) { l.rate = policy::rate{.count = 1, .per = 25h}; }) == "rate.per");
    BOOST_TEST(refused([](auto& l) { l.rate = policy::rate(); }) == "rate.count"); // absent is how none is said
    BOOST_TEST(refused([](auto& l) { l.max_bytes_in_flight = 0; }) == "max_bytes_in_flight");
    BOOST_TEST(refused([](auto& l) { l.handler_concurrency = 0; }) == "handler_concurrency");
    BOOST_TEST(refused([](auto& l) { l.max_polls = 0; }) == "max_polls");
    BOOST_TEST(refused([](auto& l) { l.max_polls = 1'001; }) == "max_polls");
    BOOST_TEST(refused([&](auto& l) { l.handler_concurrency = most; }) == "handler_concurrency");
    BOOST_TEST(refused([](auto& l) { l.handler_concurrency.reset(); }) == "");
}

BOOST_AUTO_TEST_CASE(a_rate_reads_as_one_would_say_it)
{
    BOOST_TEST(to_string(policy::rate{.count = 50}) == "50 a second");
    BOOST_TEST(to_string(policy::rate{.count = 5, .per = 2min, .burst = 1}) == "5 in 120 s, 1 at once");
    BOOST_TEST(to_string(policy::rate{.count = 1, .per = 1500ms}) == "1 in 1500 ms");
    BOOST_TEST(to_string(policy::rate{.count = 1, .per = 7ns}) == "1 in 7 ns");
}

BOOST_AUTO_TEST_CASE(below_what_is_held_or_under_way_no_receive_begins)
{
    intake rule(1'000, 16, 1);
    BOOST_TEST(rule.next_poll(0, t0) == 10);
    rule.answered(10, 10, t0 - 1s, t0);
    BOOST_TEST(rule.next_poll(10, t0) == 10); // two at once by now
    rule.set_limits(15, 16);
    BOOST_TEST(rule.next_poll(10, t0) == 0);
    rule.answered(10, 10, t0 - 1s, t0); // what was asked for has come
    BOOST_TEST(rule.next_poll(20, t0) == 0);
    BOOST_TEST(rule.next_poll(15, t0) == 0);
    BOOST_TEST(!rule.wake_at().has_value()); // time changes nothing about it
    BOOST_TEST(rule.next_poll(5, t0) == 10);
    rule.set_limits(100, 16);
    BOOST_TEST(rule.next_poll(5, t0) == 10);
}

BOOST_AUTO_TEST_CASE(fewer_polls_than_are_under_way_let_those_end_first)
{
    intake rule(1'000, 16, 1);
    for (int i = 0; i < 3; ++i) { // it doubles three times
        BOOST_TEST(rule.next_poll(0, t0) == 10);
        rule.answered(10, 10, t0 - 1s, t0);
    }
    for (int i = 0; i < 8; ++i)
        BOOST_TEST(rule.next_poll(0, t0) == 10);
    BOOST_TEST(rule.next_poll(0, t0) == 0);
    rule.set_limits(1'000, 2);
    BOOST_TEST(rule.target() == 2u);
    for (int left = 8; left > 2; --left) {
        BOOST_TEST(rule.next_poll(0, t0) == 0);
        rule.answered(10, 10, t0 - 1s, t0);
    }
    BOOST_TEST(rule.next_poll(0, t0) == 0);
    rule.answered(10, 10, t0 - 1s, t0);
    BOOST_TEST(rule.next_poll(0, t0) == 10);
    rule.set_limits(1'000, 4);
    rule.answered(10, 10, t0 - 1s, t0);
    BOOST_TEST(rule.target() == 4u);
}

BOOST_AUTO_TEST_CASE(bytes_that_fit_are_counted_by_the_limit_in_force)
{
    byte_limit rule(std::size_t(4) << 20);
    rule.seen(1 << 20);
    BOOST_TEST(rule.room(1 << 20, 0) == 3u);
    rule.set(1 << 20);
    BOOST_TEST(rule.room(2 << 20, 0) == 0u);
    BOOST_TEST(rule.room(0, 0) == 1u);
    rule.set(std::nullopt);
    BOOST_TEST(rule.room(1 << 30, 1'000) == std::numeric_limits<std::size_t>::max());
}

BOOST_AUTO_TEST_CASE(a_rate_that_comes_changes_or_goes_counts_from_that_moment)
{
    pace rule({}, t0);
    BOOST_TEST(rule.has_turn(t0));
    rule.set(policy::rate{.count = 1, .burst = 2}, t0);
    rule.started(t0);
    rule.started(t0);
    BOOST_TEST(!rule.has_turn(t0));
    BOOST_TEST(rule.wake_at(true) == t0 + 1s);
    BOOST_TEST(!rule.wake_at(false).has_value()); // no call may begin: then it wakes for nothing
    rule.set(policy::rate{.count = 10, .burst = 2}, t0);
    BOOST_TEST(rule.wake_at(true) == t0 + 100ms); // what was taken stays taken
    rule.set({}, t0);
    BOOST_TEST(rule.has_turn(t0));
    BOOST_TEST(!rule.wake_at(true).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
