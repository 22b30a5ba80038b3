#include "bad_times.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::test;

BOOST_FIXTURE_TEST_SUITE(outage_rule, bad_times)

BOOST_AUTO_TEST_CASE(one_dependency_that_is_down_is_no_matter_to_the_others)
{
    run("a", ack());
    run("b", ack());
    take_down("a");
    BOOST_TEST(!admits("a"));
    BOOST_TEST(admits("b"));
    BOOST_TEST(room() == 40u);
    take_down("b");
    BOOST_TEST(room() == 0u);
    BOOST_TEST(it().halts(now));
    BOOST_TEST(events() == (lines{"a to open", "b to open"}), each);
}

BOOST_AUTO_TEST_CASE(when_all_are_down_the_intake_has_room_for_the_probes_of_each)
{
    take_down("a");
    take_down("b");
    now += 5s;
    BOOST_TEST(room() == 2u);
    auto const probe = message("a");
    it().started(*probe, now);
    auto const left = it().room(1, 0, now);
    BOOST_TEST(left.all - left.taken == 1u);
    it().ended(*probe, outage::news_of(ack()), now);
    BOOST_TEST(
        events() == (lines{"a to open", "b to open", "a to half open", "b to half open", "a to slow start"}), each);
    now += 1min;
    BOOST_TEST(room() == 40u); // one is up
}

BOOST_AUTO_TEST_CASE(without_names_there_is_one_dependency)
{
    options.dependency = nullptr;
    take_down("");
    BOOST_TEST(room() == 0u);
    BOOST_TEST(it().explain(now) == "breaker open for 5 s more: 3 calls in a row found the dependency unavailable");
}

BOOST_AUTO_TEST_CASE(reasons_of_the_message_are_no_news)
{
    struct {
        outcome said;
        outage::sign means;
    } const table[] = {{ack(), outage::sign::good}, {retry(), outage::sign::bad}, {unavailable(), outage::sign::down},
        {unavailable("x"), outage::sign::down}, {reject("why"), outage::sign::none}, {release(), outage::sign::none},
        {retry_after(1s), outage::sign::none}, {retry().telling(outcome::news::none), outage::sign::none},
        {retry_after(1s).telling(outcome::news::bad), outage::sign::bad}};
    for (auto const& row : table)
        BOOST_TEST(outage::news_of(row.said).what == row.means);
    BOOST_TEST(outage::news_of(unavailable("x")).about.value() == "x");
    BOOST_TEST(!outage::news_of(unavailable()).about);
    BOOST_TEST(!outage::news_of(reject("why")).about);
}

// It was kept and run again at once, a hundred times a second.
BOOST_AUTO_TEST_CASE(while_the_breaker_is_closed_an_unavailable_message_is_put_off_like_one_that_failed)
{
    for (auto const receive : {1, 3, 5}) {
        it().set_max_receives(5);
        run("a", ack());
        auto const back = found_down(message("a", receive));
        BOOST_REQUIRE(back.has_value());
        BOOST_TEST(back->delay <= 1s * (1 << (receive - 1)));
        BOOST_TEST(back->delay >= 500ms * (1 << (receive - 1)));
        BOOST_TEST(!back->spilled);
        BOOST_TEST(!back->stood_back);
    }
    BOOST_TEST(!it().next_kept(now));
}

BOOST_AUTO_TEST_CASE(the_longer_it_lasts_the_longer_its_messages_are_put_off)
{
    take_down("a");
    BOOST_TEST(!it().stand_back(message("a"), now)); // to probe with
    auto const began = now;
    struct {
        std::chrono::seconds after, least, most;
    } const table[] = {{0s, 30s, 45s}, {29s, 30s, 45s}, {1min, 1min, 90s}, {8min, 8min, 12min}, {20h, 10min, 15min}};
    for (auto const& row : table) {
        now = began + row.after;
        auto const back = it().stand_back(message("a"), now);
        BOOST_REQUIRE(back.has_value());
        BOOST_TEST(back->delay >= row.least);
        BOOST_TEST(back->delay <= row.most);
        BOOST_TEST(back->stood_back);
    }
}

// Where half of the messages found it up, heads of FIFO groups among them stood back for ten minutes.
BOOST_AUTO_TEST_CASE(an_outage_is_over_when_a_probe_went_well_and_the_next_puts_off_for_a_short_time)
{
    take_down("a");
    BOOST_TEST(!it().stand_back(message("a"), now)); // to probe with
    now += 10min;
    BOOST_TEST(it().stand_back(message("a"), now).value().delay >= 10min);
    run(it().next_kept(now), ack());
    take_down("a");
    take_down("a"); // three are no longer enough: the first time may have been chance
    BOOST_TEST(events().back() == "a to open");
    BOOST_TEST(!it().stand_back(message("a"), now));
    BOOST_TEST(it().stand_back(message("a"), now).value().delay <= 45s);
}

// The limit of before was the end of it: from sixteen at a time it went to four hundred at once.
BOOST_AUTO_TEST_CASE(slow_start_reaches_for_the_limit_that_was_turned_to)
{
    options.max_in_flight = 10;
    run("a", ack());
    it().set_max_in_flight(400);
    for (std::string const name : {"a", "b"}) { // one that was known then, and one that was not
        take_down(name);
        now += 5s;
        run(name, ack());
        now += 8s;
        BOOST_TEST(admits(name)); // 256 at a time
        BOOST_TEST(events() == (lines{name + " to open", name + " to half open", name + " to slow start"}), each);
        now += 1s;
        BOOST_TEST(admits(name));
        BOOST_TEST(events() == (lines{name + " to closed"}), each);
    }
}

BOOST_AUTO_TEST_CASE(only_so_many_are_told_apart)
{
    options.max_dependencies = 2;
    take_down("a"); // down, so it stays
    run("b", ack());
    run("c", ack()); // in the place of b
    run("d", ack()); // in that of c
    auto const holds_d = message("d");
    take_down("e");
    BOOST_TEST(!admits("f")); // the same as e
    BOOST_TEST(!admits("e"));
    BOOST_TEST(admits("d"));
    BOOST_TEST(it().explain(now).find(", of (others) open for 5 s more") != std::string::npos, it().explain(now));
    BOOST_TEST(room() == 40u);
}

BOOST_AUTO_TEST_CASE(a_flag_or_a_pause_is_for_all)
{
    run("a", ack());
    it().report(true, now);
    BOOST_TEST(!admits("a"));
    BOOST_TEST(!admits("new"));
    BOOST_TEST(room() == 0u);
    now += 1h;
    BOOST_TEST(room() == 0u);
    it().report(false, now);
    BOOST_TEST(room() == 2u);
    run("a", ack());
    run("new", ack());
    now += 1min;
    BOOST_TEST(room() == 40u);

    it().pause("moving house");
    BOOST_TEST(!admits("a"));
    BOOST_TEST(room() == 0u);
    BOOST_TEST(it().explain(now) == "paused: moving house");
    BOOST_TEST(it().stand_back(message("a"), now)->delay >= 30s);
    it().resume();
    BOOST_TEST(admits("a"));
}

BOOST_AUTO_TEST_CASE(without_a_breaker_only_a_pause_is_left)
{
    options.breaker.reset();
    take_down("a");
    BOOST_TEST(admits("a"));
    auto const back = found_down(message("a"));
    BOOST_TEST(back->delay >= 30s);
    BOOST_TEST(back->delay <= 45s);
    it().report(true, now);
    BOOST_TEST(admits("a"));
    BOOST_TEST(it().explain(now) == "");
    it().pause("");
    BOOST_TEST(!admits("a"));
    BOOST_TEST(it().stand_back(message("a"), now).has_value());
}

BOOST_AUTO_TEST_CASE(it_names_five_that_are_down_and_counts_the_rest)
{
    run("up", ack());
    for (auto const* const name : {"a", "b", "c", "d", "e", "f", "g\n"})
        take_down(name);
    auto const said = it().explain(now);
    BOOST_TEST(said.starts_with("breaker of a open for 5 s more: 3 calls in a row found the dependency unavailable, "
                                "of b open"),
        said);
    BOOST_TEST(
        said.ends_with("of e open for 5 s more: 3 calls in a row found the dependency unavailable, and 2 more"),
        said);
    auto const told = it().take_events();
    BOOST_TEST(
        to_string(told.back(), now) == "g?: open for 5 s more: 3 calls in a row found the dependency unavailable");
}

BOOST_AUTO_TEST_CASE(what_began_in_better_times_says_nothing)
{
    auto const early = message("a");
    it().started(*early, now);
    take_down("a");
    now += 5s;
    it().next_kept(now);
    it().ended(*early, outage::news_of(ack()), now);
    BOOST_TEST(events() == (lines{"a to open", "a to half open"}), each);
    BOOST_TEST(admits("a"));
}

BOOST_AUTO_TEST_SUITE_END()
