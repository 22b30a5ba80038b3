#include "bad_times.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::test;

// Messages on their last receive, which wait here: in an outage, in doubt, while it recovers.

BOOST_FIXTURE_TEST_SUITE(outage_rule, bad_times)

BOOST_AUTO_TEST_CASE(last_receives_wait_here_up_to_a_quarter_of_all_places_and_the_rest_is_spilled)
{
    it().set_max_receives(3);
    take_down("a");
    take_down("b");
    std::vector<held_ptr> kept;
    for (int i = 0; i < 10; ++i) {
        kept.push_back(message(i % 2 == 0 ? "a" : "b", 3));
        BOOST_TEST(!it().stand_back(kept.back(), now), i);
    }
    auto const spilled = it().stand_back(message("a", 3), now);
    BOOST_REQUIRE(spilled.has_value());
    BOOST_TEST(spilled->spilled);
    BOOST_TEST(!it().stand_back(message("a", 2), now)->spilled);
    kept[0]->life.on(message_life::event::lease_lost);
    now += 100ms; // by then its place is free
    BOOST_TEST(!it().stand_back(message("a", 3), now));
    BOOST_TEST(it().explain(now).ends_with("; 10 messages wait here"), it().explain(now));
    BOOST_TEST(it().take_kept().size() == 10u);
}

// Handlers that began before an outage succeed in it: the breaker takes more bad news to open, and until then
// messages on their last receive went to the dead-letter queue.
BOOST_AUTO_TEST_CASE(in_doubt_a_message_on_its_last_receive_is_tried_here_once_more)
{
    it().set_max_receives(3);
    for (int i = 0; i < 16; ++i) // half of all messages are always unavailable
        run("a", i % 2 == 0 ? ack() : unavailable());
    BOOST_TEST(found_down(message("a", 3)).has_value()); // no doubt: the usual thing
    for (int i = 0; i < 3; ++i)
        run("a", unavailable());
    BOOST_TEST(found_down(message("a", 2)).has_value()); // comes again
    auto const last = message("a", 3);
    BOOST_TEST(!found_down(last));
    BOOST_TEST(it().explain(now) == "");
    BOOST_TEST(!it().next_kept(now));
    BOOST_TEST((it().wake_at(now) >= now + 30s));
    now += 1min;
    BOOST_TEST(it().next_kept(now) == last);
    run("a", ack());
    for (int i = 0; i < 5; ++i)
        run("a", unavailable());
    auto const back = found_down(last); // in doubt again, but once is enough
    BOOST_REQUIRE(back.has_value());
    BOOST_TEST(!back->spilled);
    BOOST_TEST(admits("a"));
}

BOOST_AUTO_TEST_CASE(in_doubt_half_of_the_places_for_waiting_are_taken_and_the_rest_goes)
{
    it().set_max_receives(3);
    for (int i = 0; i < 64; ++i)
        run("a", i % 2 == 0 ? ack() : unavailable());
    int kept = 0, gone = 0;
    for (int i = 0; i < 10; ++i)
        ++(found_down(message("a", 3)) ? gone : kept);
    BOOST_TEST(kept == 5); // of ten, of forty
    BOOST_TEST(gone == 5);
    BOOST_TEST(it().take_kept().size() == 5u); // a drain gives them back
}

BOOST_AUTO_TEST_CASE(a_doubt_that_becomes_an_outage_keeps_who_waits)
{
    it().set_max_receives(3);
    run("a", unavailable());
    auto const last = message("a", 3);
    BOOST_TEST(!found_down(last));
    run("a", unavailable());
    BOOST_TEST(events() == lines{"a to open"}, each);
    now += 5s;
    BOOST_TEST(!it().next_kept(now));
    BOOST_TEST(it().room(1, 0, now).all == 1u); // another one probes
    now += 55s;
    BOOST_TEST(it().next_kept(now) == last);
}

// They were spilled seconds before full speed.
BOOST_AUTO_TEST_CASE(while_it_recovers_more_may_wait_on_their_last_receive)
{
    it().set_max_receives(3);
    take_down("a");
    now += 5s;
    run("a", ack()); // slow start
    BOOST_TEST(events().back() == "a to slow start");
    std::size_t here = 0;
    for (int i = 0; i < 40; ++i)
        here += !it().stand_back(message("a", 3), now);
    BOOST_TEST(here == 20u); // of 40 places
}

// It had survived an outage here, and died of the next one that came before full speed was reached.
BOOST_AUTO_TEST_CASE(while_it_recovers_one_on_its_last_receive_that_finds_it_down_waits_on)
{
    options.breaker->slow_start_round = 20s; // forty are reached after two minutes
    it().set_max_receives(3);
    auto const last = message("a", 3);
    for (int outages = 0; outages < 5; ++outages) {
        while (admits("a"))
            run("a", unavailable()); // ever more of them: so quickly over, it might have been chance
        now += 1min;
        run("a", ack()); // slow start
        if (outages != 0) {
            BOOST_TEST(!it().next_kept(now)); // others first
            now += 1min;
            BOOST_TEST(it().next_kept(now) == last);
        }
        BOOST_TEST(!found_down(last), outages);
        BOOST_TEST(!it().next_kept(now)); // not at once
    }
    now += 2min;
    BOOST_TEST(it().next_kept(now) == last); // at full speed
    BOOST_TEST(found_down(last).has_value());
    BOOST_TEST(found_down(message("a", 2)).has_value());
}

// Half of the messages had found it down, and waited here. When it was half open again they were all that probed, two
// a minute, and when one of the others had been well they were the first to run, one after the other.
BOOST_AUTO_TEST_CASE(those_that_wait_because_they_found_it_down_let_others_go_first)
{
    options.breaker->slow_start_round = 20s;
    it().set_max_receives(3);
    take_down("a");
    now += 5s;
    run("a", ack()); // slow start
    std::vector<held_ptr> waiting;
    for (int i = 0; i < 4; ++i) {
        waiting.push_back(message("a", 3));
        BOOST_TEST(!found_down(waiting.back()), i);
    }
    now += 3min; // they no longer rest
    it().halts(now);
    BOOST_TEST(events().back() == "a to closed");
    while (admits("a"))
        run("a", unavailable());
    now += 5s;
    BOOST_TEST(!it().next_kept(now));
    BOOST_TEST(admits("a"));
    BOOST_TEST((it().wake_at(now) == now + 2s));
    run("a", ack());
    BOOST_TEST(!it().next_kept(now));
    std::size_t here = 0, at_once = 0;
    while (here < waiting.size()) {
        BOOST_REQUIRE((it().wake_at(now) > now));
        now = *it().wake_at(now);
        auto const before = here;
        while (it().next_kept(now))
            ++here;
        at_once = std::max(at_once, here - before);
    }
    BOOST_TEST(at_once == 1u);
}

// Up for twenty seconds at a time, it would have been tried only if nothing else had come.
BOOST_AUTO_TEST_CASE(one_that_waits_rests_for_others_no_longer_than_five_minutes)
{
    it().set_max_receives(3);
    take_down("a");
    auto const last = message("a", 3);
    BOOST_TEST(!found_down(last));
    auto const since = now;
    while (!it().next_kept(now)) {
        while (admits("a"))
            run("a", unavailable());
        now += 5s;
        run("a", ack()); // slow start
        BOOST_REQUIRE((!it().next_kept(now) && now < since + 1h));
        now += 20s;
    }
    BOOST_TEST((now >= since + 4min));
    BOOST_TEST((now <= since + 5min));
}

BOOST_AUTO_TEST_CASE(after_each_outage_a_doubt_spares_a_message_once_more)
{
    it().set_max_receives(3);
    auto const last = message("a", 3);
    auto const is_spared = [&] { // before it opens
        while (admits("a")) {
            run("a", unavailable());
            if (!found_down(last)) return admits("a");
        }
        return false;
    };
    for (int outages = 0; outages < 4; ++outages) {
        BOOST_TEST(is_spared(), outages);
        run("a", ack());
        now += 1min;
        BOOST_TEST(it().next_kept(now) == last);
        BOOST_TEST(!is_spared(), outages);
        now += 1min;
        run("a", ack());
        now += 1min;
        it().take_kept();
    }
}

// More of them waited than a doubt has places for, and those died of the second outage.
BOOST_AUTO_TEST_CASE(as_many_as_wait_while_it_is_down_wait_on_when_it_goes_down_again)
{
    it().set_max_receives(3);
    take_down("a");
    for (int i = 0; i < 10; ++i)
        BOOST_TEST(!it().stand_back(message("a", 3), now));
    now += 5s;
    run("a", ack()); // slow start
    auto const first = it().next_kept(now);
    BOOST_REQUIRE(first);
    BOOST_TEST(!found_down(first));
    for (int i = 0; i < 10; ++i)
        BOOST_TEST(!it().stand_back(message("a", 3), now));
    auto const back = found_down(message("a", 3)); // half of all places are taken
    BOOST_REQUIRE(back.has_value());
    BOOST_TEST(back->spilled);
}

BOOST_AUTO_TEST_SUITE_END()
