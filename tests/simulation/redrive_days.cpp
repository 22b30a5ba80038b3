// Days of dead-letter queues: every message ends where the policy says, whoever is killed at whatever moment.

#include "simulation/redrive/redrive_day.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;

namespace {

/// A few seeds of each scenario; `quern sim` runs as many as one likes.
constexpr std::uint64_t seeds = 40;

} // namespace

BOOST_AUTO_TEST_SUITE(redrive_days)

BOOST_AUTO_TEST_CASE(every_message_ends_where_the_policy_says)
{
    for (auto const& name : sim::redrive_scenarios()) {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            auto const result = sim::run(sim::draw_redrive(name.name, seed));
            for (auto const& violation : result.violations)
                BOOST_ERROR(name.name << ", seed " << seed << ": " << violation);
        }
    }
}

BOOST_AUTO_TEST_CASE(equal_seeds_give_equal_days)
{
    for (auto const& name : sim::redrive_scenarios()) {
        auto const once = sim::run(sim::draw_redrive(name.name, 7), true),
                   again = sim::run(sim::draw_redrive(name.name, 7), true);
        BOOST_TEST(once.trace.size() > 20u);
        BOOST_TEST(once.trace == again.trace, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(another_name_is_refused)
{
    BOOST_CHECK_THROW(sim::draw_redrive("calm", 1), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
