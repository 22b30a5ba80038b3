// What days have reached: the places, and that nobody notices who looks.

#include <quern/consumer/detail/message/message_life.hpp>
#include <quern/sim/coverage.hpp>
#include <quern/sim/detail/places.hpp>
#include <quern/sim/world.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>
#include <string>

using namespace quern;
using group = sim::coverage::group;
using life = detail::message_life;

namespace {

std::size_t place_named(std::string_view name)
{
    auto const& all = sim::coverage::places();
    return static_cast<std::size_t>(std::ranges::find(all, name, &sim::coverage::place::name) - all.begin());
}

sim::coverage reached_by(std::string_view scenario, std::uint64_t seeds)
{
    sim::coverage out;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        sim::run_options options;
        options.reached = &out;
        BOOST_TEST(sim::run(sim::draw(scenario, seed), options).passed());
    }
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(coverage)

BOOST_AUTO_TEST_CASE(each_place_has_a_name_of_its_own)
{
    std::set<std::string> names;
    std::size_t sum = 0;
    for (auto const& one : sim::coverage::places())
        BOOST_TEST(names.insert(one.name).second, one.name);
    for (std::size_t g = 0; g < sim::coverage::groups; ++g)
        sum += sim::coverage::count(static_cast<group>(g));
    BOOST_TEST(sum == sim::coverage::places().size());
}

BOOST_AUTO_TEST_CASE(each_row_of_a_life_is_a_place_and_no_other_pair_is)
{
    std::set<std::size_t> seen;
    for (std::size_t s = 0; s < life::states; ++s)
        for (std::size_t e = 0; e < life::events; ++e)
            if (auto const at = sim::detail::place_of(static_cast<life::state>(s), static_cast<life::event>(e)))
                seen.insert(*at);
    BOOST_TEST(seen.size() == life::table().size());
    BOOST_TEST(sim::coverage::count(group::steps) == life::table().size());
    BOOST_TEST(sim::coverage::places()[*seen.rbegin()].of == group::steps);
}

// Harm to a delete concerns what is being deleted, a kill all that is held.
BOOST_AUTO_TEST_CASE(a_pair_is_a_fault_and_a_state_that_it_concerns)
{
    using namespace sim::detail;
    using S = life::state;
    auto const deletes = fault_of(errand::remove, broker::transport_fault::half_open);
    auto const kills = fault_of(sim::incident::kind::kill);
    struct {
        fault what;
        S at;
        bool is_pair;
    } const cases[] = {{deletes, S::deleting, true}, {deletes, S::discarding, true}, {deletes, S::running, false},
        {deletes, S::giving_back, false}, {kills, S::running, true}, {kills, S::kept_back, true},
        {kills, S::gone, false}, {fault_of(errand::other, broker::transport_fault::slow), S::waiting, false},
        {entry_refused(errand::hand_off, false), S::handing_off, true},
        {entry_refused(errand::receive, false), S::waiting, false}, {damaged_message(), S::waiting, false}};
    for (auto const& c : cases)
        BOOST_TEST(
            place_of(c.what, c.at).has_value() == c.is_pair, static_cast<int>(c.what) << " x " << name_of(c.at));
    auto const at = place_of(deletes, S::deleting);
    BOOST_TEST(sim::coverage::places()[*at].name == "delete half open x deleting");
}

BOOST_AUTO_TEST_CASE(what_several_have_reached_is_added_up)
{
    auto const begins = place_named("waiting: begin"), ends = place_named("running: end"), kill = place_named("kill");
    sim::coverage one, other;
    one.reach(begins);
    other.reach(begins);
    other.reach(ends);
    other.reach(kill);
    BOOST_TEST(one.add(other) == 2u);
    BOOST_TEST(one.add(other) == 0u);
    BOOST_TEST(one.times(begins) == 3u);
    BOOST_TEST(one.reached() == 3u);
    BOOST_TEST(one.reached(group::steps) == 2u);
    BOOST_TEST(one.reached(group::pairs) == 0u);
    auto const text = one.to_text();
    BOOST_TEST(text.find("steps of a life     2 of " + std::to_string(life::table().size())) == 0u);
    BOOST_TEST(text.find("  kill x running\n") != text.npos); // not reached
    BOOST_TEST(text.find("  waiting: begin\n") == text.npos);
}

BOOST_AUTO_TEST_CASE(days_reach_what_they_have_in_store)
{
    auto const kills = reached_by("kills", 5), calm = reached_by("calm", 1);
    for (auto const* name : {"waiting: begin", "running: end", "deleting: delete_done", "kill", "kill x running",
             "a handler succeeds", "a try has succeeded"})
        BOOST_TEST(kills.times(place_named(name)) != 0u, name);
    BOOST_TEST(calm.times(place_named("waiting: begin")) != 0u);
    BOOST_TEST(calm.reached(group::pairs) == 0u);
    BOOST_TEST(reached_by("dependency", 3).reached(group::breakers) >= 2u);
}

BOOST_AUTO_TEST_CASE(a_day_is_the_same_when_somebody_looks)
{
    for (auto const& its : sim::scenarios()) {
        sim::coverage reached;
        sim::run_options options;
        options.trace = true;
        auto const day = sim::draw(its.name, 116000778);
        auto const alone = sim::run(day, options);
        options.reached = &reached;
        auto const seen = sim::run(day, options);
        BOOST_TEST((alone.trace == seen.trace), its.name);
        BOOST_TEST(alone.requests == seen.requests, its.name);
        BOOST_TEST(reached.reached() > 5u, its.name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
