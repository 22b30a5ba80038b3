// What the witness says of limits, on days that are written down by hand.

#include <quern/sim/detail/limit_book.hpp>
#include <quern/sim/world.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <optional>
#include <set>

using namespace quern;
using namespace quern::sim;
using namespace quern::sim::detail;
using namespace std::chrono_literals;

namespace {

using quern::test::t0;

} // namespace

BOOST_AUTO_TEST_SUITE(limits)

BOOST_AUTO_TEST_CASE(what_is_there_when_a_limit_sinks_may_stay_and_nothing_comes_to_it)
{
    limit_book book({.max_in_flight = 20});
    BOOST_TEST(book.asks(10, 0, false, t0) == "");
    BOOST_TEST(book.asks(10, 0, false, t0) == "");
    book.answered(10);
    BOOST_TEST(book.holds(10) == "");
    book.turn({.max_in_flight = 5}, t0 + 1s);
    BOOST_TEST(book.holds(10) == "");
    BOOST_TEST(book.asks(1, 10, false, t0 + 2s) ==
        "asks for messages that it has no place for, with those it holds and those asked for: 21, more than 5");
    book.answered(1);
    book.answered(10); // what was asked for before has come
    BOOST_TEST(book.holds(20) == "");
    BOOST_TEST(book.starts(20, t0 + 3s) == "");
    BOOST_TEST(book.holds(7) == "");
    BOOST_TEST(book.starts(8, t0 + 3s) == "runs more than 7 handlers");
    BOOST_TEST(book.holds(8) == "holds 8 messages, more than 7");
    BOOST_TEST(book.holds(2) == "");
    BOOST_TEST(book.asks(3, 2, false, t0 + 4s) == "");
    BOOST_TEST(book.asks(3, 2, true, t0 + 4s) == ""); // of a lost answer
}

BOOST_AUTO_TEST_CASE(at_the_moment_of_the_turn_the_old_limits_are_as_good)
{
    for (auto const& [from, to] : {std::pair<std::size_t, std::size_t>(10, 2), {2, 10}}) {
        limit_book book({.max_in_flight = 100, .max_polls = from, .handler_concurrency = from});
        book.turn({.max_in_flight = 100, .max_polls = to, .handler_concurrency = to}, t0);
        for (std::size_t i = 0; i < 10; ++i)
            BOOST_TEST(book.asks(1, 0, false, t0) == "");
        BOOST_TEST(book.starts(10, t0) == "");
        BOOST_TEST(book.starts(11, t0) == "starts a handler beside others: 11, more than 10");
        BOOST_TEST(book.asks(1, 0, false, t0 + 1ms) == "has receives open: 11, more than " + std::to_string(to));
        BOOST_TEST(book.starts(to + 1, t0 + 1ms).starts_with("starts a handler beside others"));
    }
}

BOOST_AUTO_TEST_CASE(a_rate_is_counted_from_its_beginning)
{
    limit_book book({.max_in_flight = 100, .rate = policy::rate{.count = 10, .burst = 5}});
    for (int i = 0; i < 6; ++i)
        BOOST_TEST(book.starts(1, t0) == "");
    BOOST_TEST(book.starts(1, t0) == "starts 7 handlers, faster than 10 a second, 5 at once");
    BOOST_TEST(book.starts(1, t0 + 1s) == "");
    book.turn({.max_in_flight = 100}, t0 + 1s);
    for (int i = 0; i < 100; ++i)
        BOOST_TEST(book.starts(1, t0 + 2s) == "");
}

BOOST_AUTO_TEST_CASE(absent_is_no_limit)
{
    limit_book book({.max_in_flight = 2'000'000, .max_bytes_in_flight = {}});
    BOOST_TEST(book.holds(1'000'000) == "");
    BOOST_TEST(book.starts(1'000'000, t0) == "");
    BOOST_TEST(book.asks(10, 1'000'000, false, t0) == "");
    BOOST_TEST(!book.bytes(t0));
    book.turn({.max_bytes_in_flight = 5'000'000}, t0);
    BOOST_TEST(!book.bytes(t0));
    BOOST_TEST(book.bytes(t0 + 1s) == 5'000'000u);
}

// Else the days would hold nobody to anything.
BOOST_AUTO_TEST_CASE(a_day_of_turns_turns_each_limit_and_ends_with_room_for_all)
{
    std::set<std::size_t> in_flight, polls;
    std::set<std::optional<std::size_t>> handlers, bytes;
    int rates = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        auto const day = draw("turned", seed);
        auto const turns = [](incident const& i) { return i.what == incident::kind::turn; };
        BOOST_TEST(std::ranges::count_if(day.incidents, turns) >= 2 * day.processes);
        for (auto const& i : day.incidents) {
            if (!turns(i)) continue;
            in_flight.insert(i.limits.max_in_flight);
            polls.insert(i.limits.max_polls);
            handlers.insert(i.limits.handler_concurrency);
            bytes.insert(i.limits.max_bytes_in_flight);
            if (i.limits.rate) ++rates;
        }
    }
    BOOST_TEST(in_flight.size() > 10u);
    BOOST_TEST(polls.size() > 10u);
    BOOST_TEST(handlers.size() > 10u);
    BOOST_TEST(bytes.size() > 2u);
    BOOST_TEST(rates > 10);
}

BOOST_AUTO_TEST_SUITE_END()
