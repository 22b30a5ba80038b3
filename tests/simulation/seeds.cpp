#include <quern/sim/world.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace quern;

namespace {

/// A few seeds of each scenario; `quern sim` runs as many as one likes.
constexpr std::uint64_t seeds = 6;

/// Days on which a promise was broken once, among many thousands.
constexpr struct {
    char const* scenario;
    std::uint64_t seed;
} broken_once[] = {{"asks", 601235}, {"batches", 800025}, {"credentials", 111001441}, {"dependency", 600648},
    {"duplicates", 99000715}, {"fifo-damaged", 111001325}, {"fifo-tenants", 108000014}, {"fifo-weather", 113001270},
    {"flapping-dependency", 113000070}, {"poisoned", 99000736}, {"poisoned", 101101045}, {"poisoned", 101101079},
    {"shared", 602038}, {"shared", 1119323}, {"stubborn", 600677}, {"stubborn", 901656}};

} // namespace

BOOST_AUTO_TEST_SUITE(simulation)

BOOST_AUTO_TEST_CASE(no_seed_breaks_a_promise)
{
    for (auto const& name : sim::scenarios()) {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            auto const result = sim::run(sim::draw(name.name, seed));
            for (auto const& violation : result.violations)
                BOOST_ERROR(name.name << ", seed " << seed << ": " << violation);
        }
    }
}

BOOST_AUTO_TEST_CASE(no_day_that_failed_once_fails_again)
{
    for (auto const& day : broken_once) {
        auto const result = sim::run(sim::draw(day.scenario, day.seed));
        for (auto const& violation : result.violations)
            BOOST_ERROR(day.scenario << ", seed " << day.seed << ": " << violation);
    }
}

BOOST_AUTO_TEST_CASE(equal_seeds_give_equal_days)
{
    sim::run_options options;
    options.trace = true;
    for (auto const* name : {"everything", "functions"}) { // the latter on threads
        auto const once = sim::run(sim::draw(name, 7), options), again = sim::run(sim::draw(name, 7), options);
        BOOST_TEST(once.trace.size() > 100u);
        BOOST_TEST(once.trace == again.trace, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_SUITE_END()
