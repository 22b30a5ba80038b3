#include "telemetry/numbers_at.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <vector>

using namespace quern;
using namespace quern::telemetry;
using namespace quern::test;

BOOST_AUTO_TEST_CASE(every_duration_falls_into_the_bucket_whose_bound_it_does_not_pass)
{
    std::vector<std::uint64_t> all{0, 1, ~std::uint64_t()};
    for (auto const bound : bounds) {
        auto const ns = static_cast<std::uint64_t>(std::llround(bound * 1e9));
        for (auto const near : {ns - 1, ns, ns + 1})
            all.push_back(near);
    }
    for (int bit = 0; bit < 64; ++bit) {
        all.push_back(std::uint64_t(1) << bit);
        all.push_back((std::uint64_t(1) << bit) + 12'345);
    }
    for (auto const ns : all) {
        std::size_t right = 0;
        while (right < bounds.size() && ns > static_cast<std::uint64_t>(std::llround(bounds[right] * 1e9)))
            ++right;
        BOOST_TEST(numbers::bucket_of(ns) == right, ns << " ns");
    }
}

BOOST_AUTO_TEST_CASE(a_duration_below_zero_is_none)
{
    auto n = consumer_of("orders");
    n.record(id::wait, -5s);
    BOOST_TEST(n.read().distribution(id::wait, 0).buckets[0] == 1u);
    BOOST_TEST(n.read().distribution(id::wait, 0).sum == 0.0);
}

BOOST_AUTO_TEST_CASE(series_of_an_instrument_do_not_touch_each_other_nor_others)
{
    auto n = consumer_of("orders");
    n.record(id::process_duration, 20ms, 0);
    n.record(id::process_duration, 2s, 4);
    n.record(id::process_duration, 2s, 4);
    auto const r = n.read();
    for (std::size_t s = 1; s < 4; ++s)
        BOOST_TEST(r.distribution(id::process_duration, s).count() == 0u);
    BOOST_TEST(r.distribution(id::process_duration, 0).count() == 1u);
    BOOST_TEST(r.distribution(id::process_duration, 4).count() == 2u);
    BOOST_TEST(r.distribution(id::process_duration, 4).sum == 4.0);
    BOOST_TEST(r.distribution(id::dwell, 0).count() == 0u);
    BOOST_TEST(r.count(id::breaker_transitions, 3) == 0u);
}

BOOST_AUTO_TEST_CASE(a_gauge_says_nothing_until_it_is_set_and_when_it_is_taken_away)
{
    auto n = consumer_of("orders");
    BOOST_TEST(!n.read().gauge(id::limit, 2).has_value());
    n.set(id::limit, 2, 7);
    BOOST_TEST(n.read().gauge(id::limit, 2).value() == 7.0);
    BOOST_TEST(!n.read().gauge(id::limit, 1).has_value());
    n.take_away(id::limit, 2);
    BOOST_TEST(!n.read().gauge(id::limit, 2).has_value());
}

BOOST_AUTO_TEST_CASE(a_difference_counts_what_has_happened_in_between_and_has_gauges_as_they_are)
{
    auto n = consumer_of("orders");
    n.add(id::messages_received, 0, 10);
    n.record(id::wait, 20ms);
    n.set(id::limit, 0, 100);
    auto const before = only(n, noon);
    n.add(id::messages_received, 0, 5);
    n.record(id::wait, 2s);
    n.set(id::limit, 0, 50);
    auto const d = since(before, only(n, noon + 1min));
    auto const& r = d.sources.at(0);
    BOOST_TEST(r.count(id::messages_received, 0) == 5u);
    BOOST_TEST(r.distribution(id::wait, 0).count() == 1u);
    BOOST_TEST(r.distribution(id::wait, 0).sum == 2.0);
    BOOST_TEST(r.gauge(id::limit, 0).value() == 50.0);
    BOOST_TEST(d.since == noon);
    BOOST_TEST(d.at == noon + 1min);
}

BOOST_AUTO_TEST_CASE(a_source_that_is_new_counts_from_zero_and_others_are_told_apart_by_their_labels)
{
    auto first = consumer_of("orders"), second = consumer_of("mails");
    first.add(id::messages_received, 0, 10);
    auto const before = only(first);
    second.add(id::messages_received, 0, 3);
    snapshot now{noon, noon, {second.read(), first.read()}};
    auto const d = since(before, now);
    BOOST_TEST(d.sources.at(0).count(id::messages_received, 0) == 3u);
    BOOST_TEST(d.sources.at(1).count(id::messages_received, 0) == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_no_utf_8_is_marked_and_what_is_stays)
{
    struct {
        std::string given, wanted;
    } const table[] = {
        {"orders", "orders"}, {"größe €😀", "größe €😀"}, {"\xff", "\xEF\xBF\xBD"}, {"a\xc3", "a\xEF\xBF\xBD"},
        {"\xc0\xaf", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 // a slash that is too long
        {"\xed\xa0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, // half of a pair of UTF-16
        {"\xf4\x90\x80\x80"
         "b",
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
            "b"}, // beyond Unicode
    };
    for (auto const& row : table)
        BOOST_TEST(valid_utf8(row.given) == row.wanted);
}
