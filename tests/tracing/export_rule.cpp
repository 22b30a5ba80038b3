#include <quern/tracing/span_exporter.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace quern;
using namespace quern::tracing;
using namespace std::chrono_literals;

namespace {

using quern::test::t0;

} // namespace

BOOST_AUTO_TEST_CASE(it_is_time_or_there_are_enough)
{
    span_export_rule rule(5s, t0);
    BOOST_TEST(rule.next() == t0 + 5s);
    struct {
        tick::duration at;
        bool is_full, begins;
    } const table[] = {
        {0s, false, false}, {0s, true, true}, {4'999ms, false, false}, {5s, false, true}, {5s, true, true}};
    for (auto const& row : table)
        BOOST_TEST(rule.may_begin(t0 + row.at, row.is_full) == row.begins);
    rule.taken(t0 + 6s);
    BOOST_TEST(rule.next() == t0 + 11s);
}

BOOST_AUTO_TEST_CASE(what_may_go_away_is_tried_four_times_more)
{
    span_export_rule rule(5s, t0);
    std::vector<int> pauses;
    for (int i = 0; i < 4; ++i) {
        BOOST_TEST(rule.failed(true, {}, t0));
        BOOST_TEST(!rule.may_begin(t0, true)); // enough or not
        pauses.push_back(static_cast<int>((rule.next() - t0) / 1s));
    }
    BOOST_TEST(pauses == (std::vector<int>{1, 2, 4, 8}), boost::test_tools::per_element());
    BOOST_TEST(!rule.failed(true, {}, t0));
    BOOST_TEST(rule.next() == t0 + 5s);
    BOOST_TEST(rule.may_begin(t0, true)); // the next spans begin anew
    BOOST_TEST(rule.failed(true, {}, t0));
}

BOOST_AUTO_TEST_CASE(what_cannot_help_is_not_tried_again)
{
    span_export_rule rule(5s, t0);
    BOOST_TEST(!rule.failed(false, 3s, t0));
    BOOST_TEST(rule.next() == t0 + 5s);
}

BOOST_AUTO_TEST_CASE(a_receiver_says_how_long_but_not_for_ever)
{
    struct {
        std::chrono::milliseconds asked, waits;
    } const table[] = {{0s, 1s}, {7s, 7s}, {60s, 60s}, {1h, 60s}};
    for (auto const& row : table) {
        span_export_rule rule(5s, t0);
        BOOST_TEST(rule.failed(true, row.asked, t0));
        BOOST_TEST(rule.next() == t0 + row.waits);
    }
}
