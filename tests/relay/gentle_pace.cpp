#include <quern/relay/detail/gentle_pace.hpp>

#include <boost/test/unit_test.hpp>

using quern::tick;
using quern::relay::detail::gentle_pace;
using namespace std::chrono_literals;

namespace {

tick const t0(1'000'000s);

/// Begins so many in the second before `now`.
void send(gentle_pace& pace, int count, tick now)
{
    for (int i = 0; i < count; ++i)
        pace.begin(now - 500ms);
}

} // namespace

BOOST_AUTO_TEST_SUITE(relay_gentle_pace)

BOOST_AUTO_TEST_CASE(nothing_waits_as_long_as_nobody_refuses)
{
    gentle_pace pace;
    for (int i = 0; i < 1'000; ++i)
        BOOST_TEST(pace.begin(t0) == t0);
    pace.succeeded();
    BOOST_TEST(!pace.rate());
}

BOOST_AUTO_TEST_CASE(a_refusal_halves_what_was_sent_in_a_second)
{
    gentle_pace pace;
    send(pace, 50, t0);
    pace.refused(t0);
    BOOST_TEST(pace.rate().value() == 25);
    BOOST_TEST(pace.begin(t0) == t0 + 40ms);
    BOOST_TEST(pace.begin(t0) == t0 + 40ms); // that was no reservation
    BOOST_TEST(pace.begin(t0 + 40ms) == t0 + 40ms);
    BOOST_TEST(pace.begin(t0 + 40ms) == t0 + 80ms);
    BOOST_TEST(pace.begin(t0 + 1s) == t0 + 1s);
}

BOOST_AUTO_TEST_CASE(who_wakes_late_does_not_slow_those_behind)
{
    gentle_pace pace;
    send(pace, 50, t0);
    pace.refused(t0);
    BOOST_TEST(pace.begin(t0 + 45ms) == t0 + 45ms);
    BOOST_TEST(pace.begin(t0 + 45ms) == t0 + 80ms);
}

// A hundred that had their times already went on waiting for minutes.
BOOST_AUTO_TEST_CASE(a_success_brings_the_next_turn_nearer)
{
    gentle_pace pace;
    for (int i = 0; i < 20; ++i)
        pace.refused(t0 + i * 1s);
    auto const now = t0 + 19s;
    BOOST_TEST(pace.begin(now) == now + 5s);
    for (int i = 0; i < 3; ++i)
        pace.succeeded();
    BOOST_TEST(pace.begin(now) == now + 2s);
}

BOOST_AUTO_TEST_CASE(what_was_under_way_then_is_no_news)
{
    gentle_pace pace;
    send(pace, 40, t0);
    pace.refused(t0);
    pace.refused(t0);
    pace.refused(t0 + 999ms);
    BOOST_TEST(pace.rate().value() == 20);
    pace.refused(t0 + 1s);
    BOOST_TEST(pace.rate().value() == 10);
}

BOOST_AUTO_TEST_CASE(it_never_stops_altogether)
{
    gentle_pace pace;
    for (int i = 0; i < 20; ++i)
        pace.refused(t0 + i * 1s);
    BOOST_TEST(pace.rate().value() == gentle_pace::least);
    auto const at = pace.begin(t0 + 1min);
    BOOST_TEST(at <= t0 + 1min + 5s);
}

BOOST_AUTO_TEST_CASE(successes_bring_a_tenth_more_a_second_and_then_no_limit)
{
    gentle_pace pace;
    send(pace, 20, t0);
    pace.refused(t0);
    for (int i = 0; i < 10; ++i) // a second of them
        pace.succeeded();
    BOOST_TEST(pace.rate().value() == 11, boost::test_tools::tolerance(0.001));
    int more = 0;
    while (pace.rate() && more < 1'000) {
        pace.succeeded();
        ++more;
    }
    BOOST_TEST(more > 280); // from 11 to 40, twice what was refused
    BOOST_TEST(more < 300);
    BOOST_TEST(pace.begin(t0) == t0);
}

BOOST_AUTO_TEST_CASE(a_refusal_after_a_quiet_time_counts_from_one)
{
    gentle_pace pace;
    send(pace, 50, t0);
    pace.refused(t0 + 1h);
    BOOST_TEST(pace.rate().value() == 0.5);
}

BOOST_AUTO_TEST_SUITE_END()
