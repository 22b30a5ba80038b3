// Whose day comes next: of the scenario that reaches what is rare.

#include <quern/sim/guide.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <set>

using namespace quern;

namespace {

sim::coverage reached(std::initializer_list<std::size_t> places)
{
    sim::coverage out;
    for (auto const p : places)
        out.reach(p);
    return out;
}

/// How often each scenario is chosen of so many times.
std::map<std::size_t, int> choices(sim::guide& by, int times)
{
    std::map<std::size_t, int> out;
    for (int i = 0; i < times; ++i)
        ++out[by.next()];
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(guide)

BOOST_AUTO_TEST_CASE(each_scenario_has_a_day_first)
{
    sim::guide by(7, 1);
    std::set<std::size_t> begun;
    for (int i = 0; i < 7; ++i)
        begun.insert(by.next());
    BOOST_TEST(begun.size() == 7u);
    BOOST_TEST(by.next() < 7u); // nothing has been learnt yet
}

BOOST_AUTO_TEST_CASE(what_reaches_rare_places_comes_more_often_and_nothing_is_forgotten)
{
    sim::guide by(3, 1);
    choices(by, 3);
    by.learn(0, reached({1, 2})); // what all reach
    by.learn(1, reached({1, 2}));
    by.learn(2, reached({1, 2, 3, 4, 5, 6}));
    auto const said = choices(by, 1'000);
    BOOST_TEST(said.at(2) > 600);
    BOOST_TEST(said.at(0) > 30);
    BOOST_TEST(said.at(1) > 30);
}

// As often as it is reached, a place loses what it is worth.
BOOST_AUTO_TEST_CASE(what_was_rare_once_loses_its_worth)
{
    sim::guide by(2, 1);
    choices(by, 2);
    by.learn(0, reached({1, 3}));
    by.learn(1, reached({2, 4, 5, 6, 7, 8}));
    for (int i = 0; i < 50; ++i)
        by.learn(1, reached({2}));
    BOOST_TEST(choices(by, 1'000).at(0) > 700);
}

BOOST_AUTO_TEST_CASE(equal_news_give_equal_choices)
{
    sim::guide one(5, 7), other(5, 7);
    for (std::size_t i = 0; i < 50; ++i) {
        auto const its = one.next();
        BOOST_TEST(other.next() == its);
        auto const news = reached({its, i % 10 + 10});
        one.learn(its, news);
        other.learn(its, news);
    }
}

BOOST_AUTO_TEST_SUITE_END()
