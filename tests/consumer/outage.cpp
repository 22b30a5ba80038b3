#include <quern/consumer/detail/dispatch/outage.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/test/unit_test.hpp>

#include <deque>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;
using phase = dependency::phase;

namespace {

/// The rule over as many dependencies as a test names, without jitter in how long a breaker stays open.
struct bad_times {
    sim::virtual_clock time;
    tick now = time.now() + 1h;
    consumer_options options;
    std::optional<outage> rule;
    std::deque<std::string> texts;

    bad_times()
    {
        options.max_in_flight = 40; // ten may wait here
        options.breaker->open_for = policy::backoff::fixed({5s});
        options.dependency = [](delivery const&) { return std::string(); };
    }

    outage& it()
    {
        if (!rule) rule.emplace(options, 1);
        return *rule;
    }

    held_ptr message(std::string_view depends_on, int receive = 1)
    {
        sqs::message m;
        m.id = texts.emplace_back("m" + std::to_string(texts.size()));
        m.system_attributes = {{"ApproximateReceiveCount", texts.emplace_back(std::to_string(receive))}};
        auto h = make_held(m, nullptr, time, now);
        it().belongs(*h, depends_on);
        return h;
    }

    /// Its handler begins and ends.
    held_ptr run(held_ptr h, outcome const& said)
    {
        it().started(*h, now);
        it().ended(*h, outage::news_of(said), now);
        return h;
    }
    held_ptr run(std::string_view depends_on, outcome const& said) { return run(message(depends_on), said); }

    void take_down(std::string_view what)
    {
        for (int i = 0; i < 3; ++i)
            run(what, unavailable());
    }
    bool admits(std::string_view what) { return it().admits(*message(what), now); }

    /// What becomes of one that found its dependency down.
    std::optional<outage::way_back> found_down(held_ptr const& h, outcome const& said = unavailable())
    {
        run(h, said);
        return it().found_down(h, outage::news_of(said), now);
    }
    std::size_t room() { return it().room(0, 0, now).all; }

    /// "payments to open", …
    std::vector<std::string> events()
    {
        static constexpr char const* names[] = {"closed", "open", "half open", "slow start"};
        std::vector<std::string> out;
        for (auto const& e : it().take_events())
            out.push_back(e.of->name + " to " + names[static_cast<int>(e.to)]);
        return out;
    }
};

using lines = std::vector<std::string>;
auto const each = boost::test_tools::per_element();

} // namespace

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
        {retry_after(1s), outage::sign::none}};
    for (auto const& row : table)
        BOOST_TEST((outage::news_of(row.said).what == row.means));
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
        BOOST_TEST((back->delay <= 1s * (1 << (receive - 1))));
        BOOST_TEST((back->delay >= 500ms * (1 << (receive - 1))));
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
        BOOST_TEST((back->delay >= row.least));
        BOOST_TEST((back->delay <= row.most));
        BOOST_TEST(back->stood_back);
    }
}

BOOST_AUTO_TEST_CASE(one_message_waits_here_to_probe_with_and_runs_when_it_is_time)
{
    take_down("a");
    auto const probe = message("a"), other = message("a");
    BOOST_TEST(!it().stand_back(probe, now));
    BOOST_TEST(it().stand_back(other, now).has_value());
    BOOST_TEST(!it().next_kept(now));
    BOOST_TEST((it().wake_at() == now + 5s));
    now += 5s;
    BOOST_TEST(it().lets_go(now));
    BOOST_TEST(room() == 1u);
    BOOST_TEST(it().room(1, 0, now).taken == 1u); // it has the place
    BOOST_TEST((it().next_kept(now) == probe));
}

// The same message took every place there was for probes, and nothing else was received any more.
BOOST_AUTO_TEST_CASE(a_message_that_was_a_probe_in_vain_lets_others_go_first)
{
    it().set_max_receives(3);
    take_down("a");
    auto const last = message("a", 3);
    BOOST_TEST(!it().stand_back(last, now));
    now += 5s;
    BOOST_REQUIRE((it().next_kept(now) == last));
    BOOST_TEST(!found_down(last)); // on its last receive: it waits on
    now += 5s;
    BOOST_TEST(!it().next_kept(now));
    BOOST_TEST(it().room(1, 0, now).all - it().room(1, 0, now).taken == 1u);
    BOOST_TEST(admits("a")); // one that the intake brings
    BOOST_TEST((it().wake_at() == now + 30s));
    now += 30s; // nobody has come
    BOOST_TEST((it().next_kept(now) == last));
    run(last, ack());
    BOOST_TEST(events().back() == "a to slow start");
}

BOOST_AUTO_TEST_CASE(a_probe_in_vain_that_is_not_on_its_last_receive_goes_back)
{
    take_down("a");
    now += 5s;
    auto const back = found_down(message("a"));
    BOOST_REQUIRE(back.has_value());
    BOOST_TEST((back->delay >= 30s));
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
    BOOST_TEST((found_down(message("a"), unavailable("b"))->delay >= 30s));
    now += 5s;
    BOOST_TEST((it().next_kept(now) == probe));
    run(probe, ack());
    BOOST_TEST(events() == (lines{"b to half open", "b to slow start"}), each);
}

BOOST_AUTO_TEST_CASE(something_that_only_handlers_have_named_is_forgotten_when_they_no_longer_do)
{
    for (int i = 0; i < 3; ++i)
        run("a", unavailable("b"));
    now += 5s;
    BOOST_TEST(!it().next_kept(now));
    BOOST_TEST(it().explain(now).starts_with("breaker of b half open"), it().explain(now));
    now += 15min;
    BOOST_TEST(!it().next_kept(now));
    BOOST_TEST(it().explain(now) == "");
    BOOST_TEST((found_down(message("a"), unavailable("b"))->delay <= 1s));
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
    it().force_open(true, now);
    BOOST_TEST(!admits("a"));
    BOOST_TEST(!admits("new"));
    BOOST_TEST(room() == 0u);
    now += 1h;
    BOOST_TEST(room() == 0u);
    it().force_open(false, now);
    BOOST_TEST(room() == 2u);
    run("a", ack());
    run("new", ack());
    now += 1min;
    BOOST_TEST(room() == 40u);

    it().pause("moving house");
    BOOST_TEST(!admits("a"));
    BOOST_TEST(room() == 0u);
    BOOST_TEST(it().explain(now) == "paused: moving house");
    BOOST_TEST((it().stand_back(message("a"), now)->delay >= 30s));
    it().resume();
    BOOST_TEST(admits("a"));
}

BOOST_AUTO_TEST_CASE(without_a_breaker_only_a_pause_is_left)
{
    options.breaker.reset();
    take_down("a");
    BOOST_TEST(admits("a"));
    auto const back = found_down(message("a"));
    BOOST_TEST((back->delay >= 30s));
    BOOST_TEST((back->delay <= 45s));
    it().force_open(true, now);
    BOOST_TEST(admits("a"));
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
