#include <quern/consumer/detail/sharing.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>
#include <random>

using namespace quern::detail;

namespace {

std::size_t sum(limits_of_all const& of)
{
    return std::accumulate(of.begin(), of.end(), std::size_t(0));
}

/// The most that may be in flight with these limits from now on.
std::size_t bound(std::vector<sharer> const& who, limits_of_all const& limits)
{
    std::size_t out = 0;
    for (std::size_t i = 0; i < who.size(); ++i)
        out += std::max(limits[i], who[i].in_flight + who[i].coming);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(sharing_rule)

BOOST_AUTO_TEST_CASE(the_limits_that_there_should_be)
{
    struct {
        char const* about;
        std::size_t all;
        std::vector<sharer> who; // weight, own limit, limit, in flight, coming
        limits_of_all wanted;
    } const cases[] = {
        {"all idle", 100, {{1, 100, 50}, {1, 100, 50}}, {50, 50}},
        {"by weight", 100, {{3, 100, 100}, {1, 100, 100}}, {75, 25}},
        {"one alone", 100, {{1, 80, 80, 80}}, {80}},
        {"a busy one borrows from an idle one", 100, {{1, 100, 50, 50}, {1, 100, 50, 0, 10}}, {90, 10}},
        {"and gives back when that is busy", 100, {{1, 100, 90, 90}, {1, 100, 10, 10}}, {50, 50}},
        {"by weight as well", 100, {{1, 100, 90, 90}, {4, 100, 10, 10}}, {21, 79}},
        {"two busy ones share what the third leaves", 100, {{2, 100, 34, 34}, {1, 100, 33, 33}, {1, 100, 33, 0}},
            {63, 31, 6}},
        {"none gets more than its own limit", 100, {{1, 30, 30, 30}, {1, 100, 50, 50}}, {30, 70}},
        {"nothing moves while nobody is full", 100, {{1, 100, 90, 70}, {1, 100, 10, 3}}, {90, 10}},
        {"until the fair shares would do", 100, {{1, 100, 90, 40}, {1, 100, 10, 3}}, {50, 50}},
        {"of many idle ones each keeps little", 100,
            {{1, 100, 10, 10}, {1, 100, 10, 0, 10}, {1, 100, 10}, {1, 100, 10}, {1, 100, 10}, {1, 100, 10},
                {1, 100, 10}, {1, 100, 10}, {1, 100, 10}, {1, 100, 10}},
            {82, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
        {"places are few", 5, {{1, 100, 2, 2}, {1, 100, 2, 0, 2}, {1, 100, 1, 0, 1}}, {3, 1, 1}},
        {"one each", 2, {{1'000, 100, 1, 1}, {1, 100, 1, 0}}, {1, 1}},
        {"one that drains leaves its places", 100, {{1, 100, 50, 20, 0, true}, {1, 100, 50, 50}}, {20, 80}},
        {"a shared limit that was lowered", 20, {{1, 100, 50, 5}, {1, 100, 50, 5}}, {10, 10}},
    };
    for (auto const& c : cases) {
        BOOST_TEST_CONTEXT(c.about)
        {
            BOOST_TEST(wanted_limits(c.all, c.who) == c.wanted, boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(what_rises_waits_for_what_sinks)
{
    std::vector<sharer> who{{1, 100, 90, 90}, {1, 100, 10, 10}};
    limits_of_all const wanted{50, 50};
    BOOST_TEST(next_limits(100, who, wanted) == (limits_of_all{50, 10}), boost::test_tools::per_element());
    who[0].limit = 50;
    who[0].in_flight = 70;
    BOOST_TEST(next_limits(100, who, wanted) == (limits_of_all{50, 30}), boost::test_tools::per_element());
    who[0].coming = 10; // what is on its way counts
    BOOST_TEST(next_limits(100, who, wanted) == (limits_of_all{50, 20}), boost::test_tools::per_element());
    who[0].in_flight = 20;
    BOOST_TEST(next_limits(100, who, wanted) == wanted, boost::test_tools::per_element());
}

// Queues that come, go and finish at random, looked at now and then.
BOOST_AUTO_TEST_CASE(never_are_more_in_flight_together_and_nobody_starves)
{
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        auto const draw = [&](std::size_t most) { return random() % (most + 1); };
        std::vector<sharer> who(2 + draw(4));
        auto const all = who.size() + draw(200);
        for (auto& s : who) {
            s.weight = 1 + draw(5);
            s.most = 1 + draw(200);
        }
        auto const fair = fair_shares(all, who);
        for (std::size_t i = 0; i < who.size(); ++i)
            who[i].limit = fair[i];
        std::vector<bool> busy(who.size());
        for (int step = 0; step < 100; ++step) {
            for (std::size_t i = 0; i < who.size(); ++i) {
                auto& s = who[i];
                if (draw(9) == 0) busy[i] = !busy[i];
                s.in_flight -= draw(s.in_flight);
                if (busy[i]) s.in_flight = std::max(s.in_flight, s.limit);
            }
            auto const wanted = wanted_limits(all, who);
            BOOST_REQUIRE(sum(wanted) <= all);
            for (std::size_t i = 0; i < who.size(); ++i) {
                who[i].limit = std::min(who[i].limit, wanted[i]);
                BOOST_REQUIRE(wanted[i] != 0u);
                if (busy[i]) BOOST_REQUIRE(wanted[i] + 1 >= std::min(fair[i], who[i].most)); // rounded
            }
            auto const next = next_limits(all, who, wanted);
            BOOST_REQUIRE(bound(who, next) <= all);
            for (std::size_t i = 0; i < who.size(); ++i)
                who[i].limit = next[i];
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
