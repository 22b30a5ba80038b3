#include <quern/consumer/detail/gate/breaker_gate.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;
using way = gate::answer::way;
using sign = gate::news::sign;

namespace {

struct gated {
    tick now = tick() + 24h;
    breaker_gate it{policy::breaker_options(), 3, 1, now};
    std::uint64_t next = 1;

    gated() { it.set_places(4); }

    gate::subject message(std::string_view key = {}, int left = gate::unlimited)
    {
        gate::subject s;
        s.number = s.id = next++;
        s.key = key;
        s.receives_left = left;
        s.began_at = now;
        return s;
    }

    gate::answer run(gate::subject s, sign said, std::optional<std::string> about = {})
    {
        s.began_at = now;
        it.started(s, now);
        return it.ended(s, {said, std::move(about)}, now);
    }

    void take_down(std::string_view key = {}, int how_many = 12)
    {
        for (int i = 0; i < how_many; ++i, now += 200ms)
            run(message(key), sign::down);
        drop_all();
    }

    /// All that waits here is forgotten.
    void drop_all()
    {
        for (auto const was = now; it.due(true, was + 24h);)
            ;
    }

    std::vector<std::string> changes()
    {
        static constexpr char const* names[] = {"closed", "open", "half open"};
        std::vector<std::string> out;
        for (auto const& c : it.take_changes())
            out.push_back(c.key + " to " + names[static_cast<int>(c.to)]);
        return out;
    }
};

using lines = std::vector<std::string>;

} // namespace

BOOST_FIXTURE_TEST_SUITE(breaker_gate_rule, gated)

BOOST_AUTO_TEST_CASE(in_usual_times_everything_passes)
{
    for (auto const said : {sign::good, sign::none, sign::failed, sign::down}) {
        auto const m = message();
        BOOST_TEST((it.ask(m, now).to == way::on));
        BOOST_TEST((run(m, said).to == way::on));
    }
    BOOST_TEST(it.room(now) > 1'000'000u);
    BOOST_TEST(!it.rate(now).has_value());
    BOOST_TEST(!it.wake_at(now).has_value());
    BOOST_TEST(it.explain(now) == "");
}

BOOST_AUTO_TEST_CASE(a_suspected_outage_slows_all_and_a_success_ends_it)
{
    take_down();
    BOOST_TEST(it.rate(now).has_value());
    BOOST_TEST((changes() == lines{" to half open"}));
    BOOST_TEST(it.explain(now).starts_with("breaker half open"));
    auto const fresh = message();
    auto const where = it.ask(fresh, now);
    BOOST_TEST((where.to == way::on));
    BOOST_TEST(where.hurries);
    BOOST_TEST((run(fresh, sign::good).to == way::on));
    BOOST_TEST((changes() == lines{" to closed"}));
}

// Eight of one tenant's messages, in turn, took the places of 60,000 that waited.
BOOST_AUTO_TEST_CASE(what_has_failed_leaves_its_turn_to_fresh_ones_and_waits_here)
{
    take_down();
    auto const m = message();
    BOOST_TEST((run(m, sign::down).to == way::wait_here));
    BOOST_TEST(!it.due(true, now).has_value());
    auto const again = it.due(true, now + 60s); // nothing fresh has come
    BOOST_REQUIRE(again.has_value());
    BOOST_TEST(again->number == m.number);
    BOOST_TEST((again->what.to == way::on));
    BOOST_TEST((it.ask(m, now).to == way::wait_here)); // received again
}

// With max_in_flight 1 none may wait: a queue all of whose messages had failed in an outage went on putting
// them off for ever, and the breaker never closed.
BOOST_AUTO_TEST_CASE(what_has_failed_is_tried_where_none_may_wait)
{
    it.set_places(0);
    take_down();
    auto const m = message();
    BOOST_TEST((run(m, sign::down).to == way::go_back));
    now += 10min;
    BOOST_TEST((it.ask(m, now).to == way::on));
    run(m, sign::good);
    BOOST_TEST((changes() == lines{" to half open", " to closed"}));
}

// After an outage an operator who had mended what was down had to wait for up to a minute.
BOOST_AUTO_TEST_CASE(what_waits_here_is_tried_at_once_when_somebody_asks_for_that)
{
    take_down("shop");
    auto const m = message("shop"), other = message("shop");
    run(m, sign::down);
    BOOST_TEST((run(other, sign::down).to == way::wait_here));
    BOOST_TEST(!it.due(true, now).has_value());
    it.probe(now);
    BOOST_TEST(it.due(true, now).value().number == m.number);
    run(m, sign::down);
    BOOST_TEST(!it.due(true, now).has_value()); // one at once, and the others in their turns
    BOOST_TEST(it.explain(now).starts_with("breaker of shop half open"));
}

// Each that came took the place of the one that was due first, so none was ever due, and nothing was tried for hours.
BOOST_AUTO_TEST_CASE(what_waits_here_has_its_turn_however_many_come)
{
    std::vector<gate::subject> ill;
    for (int i = 0; i < 400; ++i, now += 200ms) {
        ill.push_back(message());
        run(ill.back(), sign::down);
    }
    drop_all();
    int begun = 0;
    for (auto& m : ill) {
        now += 300ms;
        m.number = next++; // received again
        BOOST_TEST((it.ask(m, now).to != way::on));
        while (auto const one = it.due(true, now))
            begun += one->what.to == way::on;
    }
    BOOST_TEST(begun >= 4);
}

BOOST_AUTO_TEST_CASE(the_one_with_the_most_receives_left_gives_way)
{
    take_down();
    std::vector<gate::subject> const here{message({}, 3), message({}, 1), message({}, 0), message({}, 2)};
    for (auto const& m : here)
        BOOST_TEST((run(m, sign::down).to == way::wait_here));
    BOOST_TEST((run(message({}, 4), sign::down).to == way::go_back));
    BOOST_TEST((run(message({}, 0), sign::down).to == way::wait_here));
    auto const gone = it.due(false, now);
    BOOST_REQUIRE(gone.has_value());
    BOOST_TEST(gone->number == here[0].number);
    BOOST_TEST((gone->what.to == way::go_back));
    BOOST_TEST((gone->what.delay >= 9min)); // as its receives are numbered
    BOOST_TEST((gone->what.delay <= 10min));
    BOOST_TEST(!gone->what.spilled);
}

BOOST_AUTO_TEST_CASE(a_last_receive_for_which_there_is_no_place_is_spilled)
{
    take_down();
    for (int i = 0; i < 4; ++i)
        BOOST_TEST((run(message({}, 0), sign::down).to == way::wait_here));
    auto const where = run(message({}, 0), sign::failed);
    BOOST_TEST((where.to == way::go_back));
    BOOST_TEST(where.spilled);
}

BOOST_AUTO_TEST_CASE(in_usual_times_a_last_receive_asks_whether_the_last_three_were_down)
{
    auto const first = message({}, 0);
    BOOST_TEST((run(first, sign::down).to == way::wait_here)); // once, for it may be the first of an outage
    BOOST_TEST(it.due(true, now + 60s)->number == first.number);
    BOOST_TEST((run(first, sign::down).to == way::on)); // the redrive policy has it
    run(message(), sign::good);
    run(message(), sign::down);
    run(message(), sign::down);
    auto const m = message({}, 0);
    BOOST_TEST((run(m, sign::down).to == way::wait_here));
    BOOST_TEST(!it.due(true, now + 29s).has_value());
    BOOST_TEST(it.due(true, now + 60s)->number == m.number);
    BOOST_TEST((run(message({}, 0), sign::failed).to == way::on)); // perhaps its own fault
}

BOOST_AUTO_TEST_CASE(an_outage_of_one_key_gives_no_message_of_another_one_more_try)
{
    auto const bad = message("a", 0);
    BOOST_TEST((run(bad, sign::down).to == way::wait_here));
    BOOST_TEST(it.due(true, now + 60s)->number == bad.number);
    run(message("a"), sign::good);
    for (int i = 0; i < 3; ++i)
        run(message("b"), sign::down);
    run(message("b"), sign::good);
    BOOST_TEST((run(bad, sign::down).to == way::on)); // the redrive policy has it
}

BOOST_AUTO_TEST_CASE(a_key_that_is_ill_is_a_matter_of_its_own_messages)
{
    take_down("a");
    BOOST_TEST((changes() == lines{"a to half open"}));
    BOOST_TEST(!it.rate(now).has_value());
    BOOST_TEST((it.ask(message("b"), now).to == way::on));
    BOOST_TEST((it.ask(message(), now).to == way::on));
    now += 3s;
    auto const first = message("a"), second = message("a");
    BOOST_TEST((it.ask(first, now).to == way::on)); // one a second
    it.started(first, now);
    BOOST_TEST((it.ask(second, now).to == way::wait_here));
    BOOST_TEST(!it.due(true, now).has_value());
    BOOST_TEST(it.due(true, now + 1s)->number == second.number);
    BOOST_TEST((run(second, sign::good).to == way::on));
    BOOST_TEST((changes() == lines{"a to closed"}));
}

BOOST_AUTO_TEST_CASE(ten_keys_in_a_row_are_an_outage_of_all)
{
    breaker_gate many({}, 100, 1, now);
    for (int i = 0; i < 12; ++i, now += 200ms)
        many.ended(message("k" + std::to_string(i)), {sign::down, {}}, now);
    BOOST_TEST(many.rate(now).has_value());
}

// Where each message failed once, and its second try would have succeeded, none was tried again for as long as fresh
// ones came.
BOOST_AUTO_TEST_CASE(in_an_outage_one_turn_in_thirty_is_for_what_waits_here)
{
    BOOST_TEST(!it.prefers_fresh());
    take_down();
    int fresh = 0;
    for (int i = 0; i < 300; ++i) {
        fresh += it.prefers_fresh();
        it.started(message(), now);
    }
    BOOST_TEST(fresh == 290);
}

// With less than ten tenants an outage of all was none, and killed two thirds of their messages.
BOOST_AUTO_TEST_CASE(all_keys_that_are_known_ill_are_an_outage_of_all)
{
    run(message("a"), sign::good);
    run(message("b"), sign::good);
    now += 1h;
    run(message("c"), sign::good);
    take_down("b");
    BOOST_TEST(!it.rate(now).has_value()); // c is well
    take_down("c");
    BOOST_TEST(it.rate(now).has_value()); // and a was heard of too long ago
}

BOOST_AUTO_TEST_CASE(a_name_that_a_handler_tells_of_messages_without_a_key_is_news_of_all)
{
    for (int i = 0; i < 12; ++i, now += 200ms)
        run(message(), sign::down, "database");
    BOOST_TEST(it.rate(now).has_value());
}

// Poisoned messages on their last receive had all places, and what was received went back without a try: for hours
// after the outage nothing found out that it was over.
BOOST_AUTO_TEST_CASE(where_hardly_anything_is_received_what_has_failed_is_tried)
{
    auto const known = message();
    run(known, sign::down);
    take_down();
    BOOST_TEST((it.ask(known, now).to != way::on));
    now += 1h;
    for (int i = 0; i < 5; ++i)
        run(message({}, 0), sign::down);
    BOOST_TEST((it.ask(known, now).to == way::on));
    BOOST_TEST(it.room(now) == 0u);
}

// With keys all there is was received in an outage of all, a receive of each, where a tenth is without keys.
BOOST_AUTO_TEST_CASE(in_an_outage_of_all_what_is_received_for_an_ill_key_takes_a_turn)
{
    take_down("a");
    it.started(message("a"), now); // its turn is taken
    auto const before = it.ask(message("a"), now);
    BOOST_TEST((before.to != way::on));
    BOOST_TEST(!before.took_turn); // others are well
    take_down();
    it.started(message("a"), now);
    auto const m = message("a");
    BOOST_TEST(it.ask(m, now).took_turn);
    run(m, sign::down);
    BOOST_TEST(!it.ask(m, now).took_turn); // it has failed: it leaves its turn to others
}

// After an outage of all each key waited for a probe of its own, and began anew at a message in five seconds:
// thousands were received meanwhile, and went back for ten minutes.
BOOST_AUTO_TEST_CASE(after_an_outage_of_all_each_key_is_tried_at_once_and_has_no_pace_of_its_own)
{
    take_down("a");
    take_down("b");
    take_down();
    for (auto const key : {"a", "b"})
        it.started(message(key), now);
    BOOST_TEST((it.ask(message("b"), now).to != way::on));
    run(message("a"), sign::good);
    BOOST_TEST((it.ask(message("b"), now).to == way::on));
    run(message("b"), sign::good);
    for (int i = 0; i < 100; ++i) {
        auto const m = message("b");
        BOOST_TEST((it.ask(m, now).to == way::on));
        it.started(m, now);
    }
}

BOOST_AUTO_TEST_CASE(a_key_that_recovers_sends_nothing_away_for_long_and_no_last_receive)
{
    take_down("a");
    run(message("a"), sign::good);
    it.set_places(0);
    for (int i = 0; i < 10; ++i)
        it.started(message("a"), now); // more than it may
    for (auto const left : {gate::unlimited, 3, 1}) {
        auto const where = it.ask(message("a", left), now);
        BOOST_TEST((where.to == way::go_back));
        BOOST_TEST((where.delay <= 30s));
    }
    BOOST_TEST((it.ask(message("a", 0), now).to == way::on));
}

BOOST_AUTO_TEST_CASE(news_of_something_else_is_no_news_of_its_own_key)
{
    for (int i = 0; i < 12; ++i, now += 200ms)
        run(message("a"), sign::down, "b");
    BOOST_TEST((changes() == lines{"b to half open"}));
    auto const m = message("a");
    BOOST_TEST((it.ask(m, now).to == way::on));
}

BOOST_AUTO_TEST_CASE(the_key_that_was_used_longest_ago_is_forgotten)
{
    take_down("a");
    changes();
    for (auto const* key : {"b", "c", "d"})
        run(message(key), sign::good);
    BOOST_TEST((changes() == lines{"a to closed"}));
    BOOST_TEST((it.ask(message("a"), now).to == way::on));
}

BOOST_AUTO_TEST_CASE(while_it_is_stopped_nothing_begins_and_last_receives_wait_here)
{
    it.stop(true, now);
    BOOST_TEST(it.room(now) == 0u);
    auto const m = message({}, 0);
    BOOST_TEST((it.ask(m, now).to == way::wait_here));
    auto const other = it.ask(message({}, 5), now);
    BOOST_TEST((other.to == way::go_back));
    BOOST_TEST((other.delay >= 30s));
    BOOST_TEST((other.delay <= 45s));
    BOOST_TEST(!it.due(true, now + 24h).has_value());
    it.stop(false, now);
    BOOST_TEST(it.due(true, now)->number == m.number);
}

BOOST_AUTO_TEST_CASE(one_that_left_without_a_word_leaves_its_number_to_another)
{
    take_down();
    auto m = message();
    run(m, sign::down);
    now += 1s;
    m.id += 100; // its lease was lost, and another message stands where it stood
    run(m, sign::down);
    BOOST_TEST(it.due(true, now + 1min)->number == m.number);
    BOOST_TEST(!it.due(true, now + 24h).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
