#include <quern/consumer/detail/conclude/service_clock.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

using quern::test::t0;
wall_time const noon = wall_time(1'700'000'000s);

} // namespace

BOOST_AUTO_TEST_SUITE(service_clock_rule)

BOOST_AUTO_TEST_CASE(a_reading_that_goes_on_is_believed)
{
    service_clock clock;
    BOOST_TEST((clock.at(noon, t0) == noon));
    BOOST_TEST((clock.at(noon + 61s, t0 + 60s) == noon + 61s)); // slewed, or measured better
    BOOST_TEST((clock.at(noon + 122s, t0 + 120s) == noon + 122s));
}

// A message two seconds old was deleted for its age of two hours, in the moment in which the calendar was stepped.
BOOST_AUTO_TEST_CASE(a_step_makes_no_message_older)
{
    service_clock clock;
    clock.at(noon, t0);
    BOOST_TEST((clock.at(noon + 2h, t0 + 1s) == noon + 1s));
    BOOST_TEST((clock.at(noon + 2h + 1min, t0 + 1min) == noon + 1min));
    BOOST_TEST((clock.at(noon + 2min, t0 + 2min) == noon + 2min)); // measured again
    BOOST_TEST((clock.at(noon + 3h, t0 + 3min) == noon + 3min));   // another step: doubted from its own beginning
    BOOST_TEST((clock.at(noon + 3h + 4min, t0 + 7min) == noon + 7min));
}

BOOST_AUTO_TEST_CASE(a_step_back_is_followed_for_it_makes_messages_younger)
{
    service_clock clock;
    clock.at(noon, t0);
    BOOST_TEST((clock.at(noon - 2h, t0 + 1s) == noon - 2h));
    BOOST_TEST((clock.at(noon + 2s, t0 + 2s) == noon + 2s));
}

BOOST_AUTO_TEST_CASE(a_reading_that_stays_is_believed_in_the_end_for_a_machine_may_have_slept)
{
    service_clock clock;
    clock.at(noon, t0);
    clock.at(noon + 8h, t0 + 1s);
    BOOST_TEST((clock.at(noon + 8h + 4min, t0 + 4min) == noon + 4min));
    auto const later = service_clock::doubt + 1s;
    BOOST_TEST((clock.at(noon + 8h + later, t0 + later) == noon + 8h + later));
    BOOST_TEST((clock.at(noon + 8h + later + 1s, t0 + later + 1s) == noon + 8h + later + 1s));
}

BOOST_AUTO_TEST_SUITE_END()
