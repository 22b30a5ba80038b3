#include "bad_times.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::test;

// Who probes, who waits here, and who goes back.

BOOST_FIXTURE_TEST_SUITE(outage_rule, bad_times)

BOOST_AUTO_TEST_CASE(one_message_waits_here_to_probe_with_and_runs_when_it_is_time)
{
    take_down("a");
    auto const probe = message("a"), other = message("a");
    BOOST_TEST(!it().stand_back(probe, now));
    BOOST_TEST(it().stand_back(other, now).has_value());
    BOOST_TEST(!it().next_kept(now));
    BOOST_TEST(it().wake_at(now) == now + 5s);
    now += 5s;
    BOOST_TEST(it().lets_go(now));
    BOOST_TEST(room() == 1u);
    BOOST_TEST(it().room(1, 0, now).taken == 1u); // it has the place
    BOOST_TEST(it().next_kept(now) == probe);
}

// The same message took every place there was for probes, and nothing else was received any more.
BOOST_AUTO_TEST_CASE(a_message_that_was_a_probe_in_vain_lets_others_go_first)
{
    it().set_max_receives(3);
    take_down("a");
    auto const last = message("a", 3);
    BOOST_TEST(!it().stand_back(last, now));
    now += 5s;
    BOOST_REQUIRE(it().next_kept(now) == last);
    BOOST_TEST(!found_down(last)); // on its last receive: it waits on
    now += 5s;
    BOOST_TEST(!it().next_kept(now));
    BOOST_TEST(it().room(1, 0, now).all - it().room(1, 0, now).taken == 1u);
    BOOST_TEST(admits("a")); // one that the intake brings
    BOOST_TEST(it().wake_at(now) == now + 30s);
    now += 30s; // nobody has come
    BOOST_TEST(it().next_kept(now) == last);
    run(last, ack());
    BOOST_TEST(events().back() == "a to slow start");
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

BOOST_AUTO_TEST_CASE(a_probe_in_vain_that_is_not_on_its_last_receive_goes_back)
{
    take_down("a");
    now += 5s;
    auto const back = found_down(message("a"));
    BOOST_REQUIRE(back.has_value());
    BOOST_TEST(back->delay >= 30s);
}

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
    now += 1s; // by then its place is free
    BOOST_TEST(!it().stand_back(message("a", 3), now));
    BOOST_TEST(it().explain(now).ends_with("; 10 messages wait here"), it().explain(now));
    BOOST_TEST(it().take_kept().size() == 10u);
}

BOOST_AUTO_TEST_CASE(probes_of_many_dependencies_leave_room_for_last_receives)
{
    it().set_max_receives(3);
    std::size_t kept = 0;
    for (auto const* const name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
        take_down(name);
        if (!it().stand_back(message(name), now)) ++kept;
    }
    BOOST_TEST(kept == 5u);
    BOOST_TEST(!it().stand_back(message("h", 3), now));
}

BOOST_AUTO_TEST_CASE(of_one_place_none_is_taken_by_waiting)
{
    options.max_in_flight = 1;
    it().set_max_receives(1);
    take_down("a");
    BOOST_TEST(it().stand_back(message("a"), now)->spilled);
}

BOOST_AUTO_TEST_CASE(what_waits_here_runs_when_it_is_up_again)
{
    it().set_max_receives(2);
    take_down("a");
    for (int i = 0; i < 4; ++i)
        BOOST_TEST(!it().stand_back(message("a", 2), now));
    now += 5s;
    run(it().next_kept(now), ack());
    now += 2s;
    int ran = 0;
    while (auto const h = it().next_kept(now)) {
        run(h, ack());
        ++ran;
    }
    BOOST_TEST(ran == 3);
    now += 1min;
    it().next_kept(now);
    BOOST_TEST(it().good_times());
    BOOST_TEST(events().back() == "a to closed");
}

BOOST_AUTO_TEST_CASE(news_about_something_else_are_none_about_the_messages_own)
{
    run("a", ack());
    for (int i = 0; i < 30; ++i)
        run("a", unavailable("b"));
    BOOST_TEST(admits("a"));
    BOOST_TEST(room() == 40u); // no message is known to belong to the other
    BOOST_TEST(events() == lines{"b to open"}, each);
    auto const probe = message("a");
    BOOST_TEST(!found_down(probe, unavailable("b"))); // waits for that one
    BOOST_TEST(found_down(message("a"), unavailable("b"))->delay >= 30s);
    now += 5s;
    BOOST_TEST(!it().next_kept(now)); // one that has not found it down yet would do better
    BOOST_TEST(it().wake_at(now) == now + 2s);
    now += 2s;
    BOOST_TEST(it().next_kept(now) == probe);
    run(probe, ack());
    BOOST_TEST(events() == (lines{"b to half open", "b to slow start"}), each);
}

// Old messages that always find it down came first out of the queue, each time it was half open: the many behind them
// that would have found it up never ran.
BOOST_AUTO_TEST_CASE(who_has_found_it_down_lets_the_fresh_ones_probe_first)
{
    auto const old = message("a");
    run(old, unavailable());
    for (int i = 0; i < 2; ++i)
        run("a", unavailable());
    now += 5s;
    BOOST_TEST(!it().admits(*old, now));
    BOOST_TEST(admits("a"));
    now += 2s; // nobody has come
    BOOST_TEST(it().admits(*old, now));
}

BOOST_AUTO_TEST_CASE(something_that_only_handlers_have_named_is_forgotten_when_they_no_longer_do)
{
    for (int i = 0; i < 3; ++i)
        run("a", unavailable("b"));
    now += 5s;
    BOOST_TEST(!it().next_kept(now));
    BOOST_TEST(it().explain(now).starts_with("breaker of b half open"), it().explain(now));
    events();
    now += 20min;
    BOOST_TEST(!it().next_kept(now));
    BOOST_TEST(it().explain(now) == "");
    BOOST_TEST(found_down(message("a"), unavailable("b"))->delay <= 1s);
}

// It was half open for ever, sought probes among the messages of others, and took a place in the table.
BOOST_AUTO_TEST_CASE(one_that_a_message_here_needs_is_kept_and_forgotten_afterwards)
{
    take_down("a");
    now += 10s;
    auto needs = message("a");
    BOOST_TEST(it().admits(*needs, now)); // half open since then
    events();                             // they refer to it
    it().started(*needs, now);
    now += 20min;
    it().next_kept(now);
    BOOST_TEST(it().explain(now) != ""); // somebody works on it
    it().ended(*needs, {}, now);
    it().next_kept(now);
    BOOST_TEST(it().explain(now) != ""); // a message is here
    needs = nullptr;
    it().next_kept(now);
    BOOST_TEST(it().explain(now) == "");
}

BOOST_AUTO_TEST_CASE(nobody_who_needs_it_is_left_and_its_ages_count_for_all)
{
    take_down("a");
    for (auto const& e : it().take_events())
        e.of->ages.begin(wall_time(0s));
    now += 10s;
    BOOST_TEST(it().halts(now)); // half open since then, and the only one
    it().take_events();
    now += 20min;
    BOOST_TEST(!it().halts(now));
    BOOST_TEST(it().explain(now) == "");
    for (auto const& e : it().take_events()) {
        BOOST_TEST((e.to == phase::closed));
        e.of->ages.end(wall_time(60s));
        it().keep_ages(*e.of);
    }
    BOOST_TEST(age_book::stood_back(wall_time(0s), wall_time(1h), {&it().ages_of_gone()}) == 1min);
}

BOOST_AUTO_TEST_CASE(one_that_has_closed_and_is_known_keeps_its_ages_for_itself)
{
    take_down("a");
    it().take_events();
    auto const h = message("a");
    h->depends_on->ages.add(wall_time(0s), wall_time(60s));
    it().keep_ages(*h->depends_on);
    BOOST_TEST(it().ages_of_gone().size() == 0u);
}

// A probe of its own key that named another one was filed as a probe of that.
BOOST_AUTO_TEST_CASE(who_names_another_one_was_no_probe_of_that)
{
    for (int i = 0; i < 3; ++i)
        run("x", unavailable("b"));
    take_down("a");
    now += 5s;
    auto const probe = message("a");
    BOOST_TEST(it().admits(*probe, now));
    BOOST_TEST(!found_down(probe, unavailable("b"))); // the first that waits for b, to probe with
    now += 5s;
    BOOST_TEST(!it().next_kept(now)); // half open: others first
    now += 2s;
    BOOST_TEST(it().next_kept(now) == probe); // not half a minute later
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
    while (admits("a"))
        run("a", unavailable());
    now += 80s; // they no longer rest
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

BOOST_AUTO_TEST_CASE(where_several_may_probe_one_that_waits_is_woken_beside_one_that_is_at_work)
{
    options.breaker->probes = 2;
    take_down("a");
    auto const seen = run("a", unavailable());
    BOOST_TEST(!it().stand_back(seen, now));
    now += 5s;
    auto const at_work = message("a");
    BOOST_TEST(it().admits(*at_work, now));
    it().started(*at_work, now);
    BOOST_TEST(!it().next_kept(now));
    BOOST_TEST((it().wake_at(now) == now + 2s));
    now += 2s;
    BOOST_TEST(it().next_kept(now) == seen);
}

BOOST_AUTO_TEST_SUITE_END()
