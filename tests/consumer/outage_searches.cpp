#include "bad_times.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::test;

// For how long another message is sought to probe with.

BOOST_FIXTURE_TEST_SUITE(outage_rule, bad_times)

// In the two seconds for fresh ones it looked through all of a backlog that had found it down, at a receive each.
BOOST_AUTO_TEST_CASE(a_search_for_fresh_ones_ends_when_ten_came_that_are_not)
{
    std::vector<held_ptr> seen;
    for (int i = 0; i < 12; ++i)
        seen.push_back(run("a", unavailable())); // the first three open it, the others began before
    for (auto const& h : seen)
        it().started(*h, now), it().ended(*h, outage::news_of(unavailable()), now);
    now += 5s;
    BOOST_TEST(it().room(0, 0, now).all - it().room(0, 0, now).taken == 1u);
    int kept = 0;
    for (int i = 0; i < 10; ++i) {
        BOOST_TEST(it().room(0, 0, now).taken == 0u, i);
        BOOST_TEST(!it().admits(*seen[static_cast<std::size_t>(i)], now));
        if (!it().stand_back(seen[static_cast<std::size_t>(i)], now)) ++kept;
    }
    BOOST_TEST(kept == 1);
    BOOST_TEST(it().room(0, 0, now).taken == 1u); // enough
    BOOST_TEST((it().wake_at(now) == now + 2s));
    now += 2s;
    BOOST_TEST(it().next_kept(now) == seen.front());
}

BOOST_AUTO_TEST_CASE(in_an_outage_beyond_doubt_some_probe_that_wait_here_and_others_are_sought_more_rarely)
{
    take_down("a");
    auto const fresh_probe = [&] {
        now += 5s;
        auto const h = message("a");
        BOOST_TEST(it().admits(*h, now));
        return h;
    };
    for (int i = 0; i < 11; ++i)
        BOOST_TEST(found_down(fresh_probe()).has_value());
    BOOST_TEST(!found_down(fresh_probe())); // the twelfth stays
    std::string sought;
    std::vector<held_ptr> probes;
    for (int turn = 1; turn <= 17; ++turn) {
        now += 5s;
        auto const next = it().next_kept(now);
        sought += next ? 'n' : 'y';
        probes.push_back(next ? next : message("a"));
        BOOST_TEST(found_down(probes.back()).has_value() == (turn == 16)); // a fourth does not stay
    }
    BOOST_TEST(sought == "nnnynnnynnnnnnnyn");
    BOOST_TEST(probes[8] != probes[9]);
    BOOST_TEST(probes[8] != probes[10]);
    BOOST_TEST(probes[9] != probes[10]);
    BOOST_TEST(probes[8] == probes[11]); // in turn
    now += 5s;
    run(it().next_kept(now), ack());
    BOOST_TEST(events().back() == "a to slow start");
}

// One message was all of them, and where half of the others would have found it up that was found out late.
BOOST_AUTO_TEST_CASE(where_it_takes_several_probes_they_are_different_messages_however_many_were_in_vain)
{
    for (int i = 0; i < 40; ++i) // one in five, in ordinary times
        run("a", i % 5 == 0 ? unavailable() : ack());
    it().take_events();
    while (events().empty())
        run("a", unavailable());
    for (int probes = 0; probes < 40; ++probes) {
        now += 5s;
        BOOST_TEST(!it().next_kept(now));
        auto const h = message("a");
        BOOST_TEST(it().admits(*h, now));
        BOOST_TEST(found_down(h).has_value()); // it does not stay
    }
}

// Another consumer received nearly all that was sent. Two messages that are always unavailable kept this one from
// working for an hour.
BOOST_AUTO_TEST_CASE(after_a_search_to_which_nobody_came_the_next_lasts_longer)
{
    it().set_max_receives(3);
    take_down("a");
    auto last = message("a", 3);
    BOOST_TEST(!it().stand_back(last, now));
    now += 5s;
    BOOST_REQUIRE(it().next_kept(now) == last);
    BOOST_TEST(!found_down(last));
    auto const search = [&] { // in minutes
        now += 5s;
        for (int turn = 1; it().next_kept(now) == last; ++turn) {
            BOOST_REQUIRE(turn < 4);
            BOOST_TEST(!found_down(last));
            now += 5s;
        }
        auto const length = *it().wake_at(now) - now;
        now += length;
        BOOST_TEST(it().next_kept(now) == last);
        return std::chrono::duration<double, std::ratio<60>>(length).count();
    };
    for (auto const length : {0.5, 0.5, 1.0, 2.0, 2.0}) {
        BOOST_TEST(search() == length);
        BOOST_TEST(!found_down(last));
    }
    BOOST_TEST(search() == 2.0);
    run(last, ack()); // that outage is over
    now += 1min;
    BOOST_TEST(!it().halts(now));
    take_down("a");
    last = message("a", 3);
    BOOST_TEST(!it().stand_back(last, now));
    now += 5s;
    BOOST_REQUIRE(it().next_kept(now) == last);
    BOOST_TEST(!found_down(last));
    BOOST_TEST(search() == 0.5);
}

BOOST_AUTO_TEST_SUITE_END()
