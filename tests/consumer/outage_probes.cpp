#include "bad_times.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::test;

// Who probes, and who goes back.

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

// Those that had begun to wait for a thread before took every probe's place.
BOOST_AUTO_TEST_CASE(who_was_let_in_before_the_opening_is_no_probe)
{
    auto const early = message("a"), elsewhere = message("b");
    it().started(*early, now);
    it().started(*elsewhere, now);
    BOOST_TEST(!it().revokes(*early, now));
    take_down("a");
    BOOST_TEST(it().worsened());
    BOOST_TEST(it().revokes(*early, now));
    now += 5s;
    auto const probe = message("a");
    BOOST_TEST(it().admits(*probe, now));
    it().started(*probe, now);
    BOOST_TEST(!it().forbids(*early, now));
    BOOST_TEST(it().revokes(*early, now));
    BOOST_TEST(!it().revokes(*probe, now));
    BOOST_TEST(!it().revokes(*elsewhere, now));
}

BOOST_AUTO_TEST_CASE(a_breaker_that_opens_for_no_time_revokes_as_well)
{
    options.breaker->open_for = policy::backoff::fixed({0s});
    auto const early = message("a");
    it().started(*early, now);
    take_down("a");
    BOOST_TEST(it().worsened());
    BOOST_TEST(it().revokes(*early, now));
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

BOOST_AUTO_TEST_CASE(a_probe_in_vain_that_is_not_on_its_last_receive_goes_back)
{
    take_down("a");
    now += 5s;
    auto const back = found_down(message("a"));
    BOOST_REQUIRE(back.has_value());
    BOOST_TEST(back->delay >= 30s);
}

// One that hung in its driver kept 520 messages and three idle threads waiting, for ever.
BOOST_AUTO_TEST_CASE(a_probe_that_does_not_end_has_failed_at_the_time_limit_of_handlers)
{
    options.handler_timeout = 10s;
    take_down("a");
    now += 5s;
    auto const hangs = message("a");
    BOOST_REQUIRE(it().admits(*hangs, now));
    it().started(*hangs, now);
    BOOST_TEST(!admits("a"));
    BOOST_TEST(it().wake_at(now) == now + 10s);
    now += 10s;
    BOOST_TEST(!admits("a")); // open again
    BOOST_TEST(it().explain(now).find("a probe did not end") != std::string::npos);
    now += 5s;
    BOOST_TEST(admits("a"));
    it().ended(*hangs, outage::news_of(ack()), now); // at last: old news
    run("a", ack());
    BOOST_TEST(events().back() == "a to slow start");
}

BOOST_AUTO_TEST_CASE(without_a_time_limit_each_probe_that_does_not_end_is_waited_for_twice_as_long)
{
    take_down("a");
    for (auto const waits : {1min, 2min, 4min, 8min}) {
        now += 5s;
        auto const hangs = message("a");
        BOOST_REQUIRE(it().admits(*hangs, now));
        it().started(*hangs, now);
        BOOST_TEST(it().wake_at(now) == now + waits);
        now += waits - 1s;
        BOOST_TEST(it().explain(now).find("half open") != std::string::npos);
        now += 1s;
        BOOST_TEST(!admits("a"));
    }
    now += 5s;
    run("a", unavailable()); // has ended
    now += 5s;
    auto const hangs = message("a");
    BOOST_REQUIRE(it().admits(*hangs, now));
    it().started(*hangs, now);
    BOOST_TEST(it().wake_at(now) == now + 1min);
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
    now += 30s;
    it().next_kept(now);
    BOOST_TEST(it().explain(now) != ""); // somebody works on it
    it().ended(*needs, {}, now);
    now += 20min;
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
