#include "simulation/idempotency_day.hpp"

using quern::test::idempotency_day;
using flaw = idempotency_day::flaw;

namespace {

constexpr unsigned days = 40;

int days_called_out(flaw planted)
{
    int out = 0;
    for (unsigned seed = 1; seed <= days; ++seed)
        if (!idempotency_day(seed, planted).run().empty()) ++out;
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(days_with_handlers_that_must_not_repeat)

BOOST_AUTO_TEST_CASE(the_effect_of_each_key_is_there_once)
{
    int lost = 0, duplicates = 0, late = 0;
    for (unsigned seed = 1; seed <= days; ++seed) {
        idempotency_day day(seed);
        BOOST_TEST(day.run() == "", "seed " << seed);
        lost += day.lost();
        duplicates += day.duplicates();
        late += day.late();
    }
    BOOST_TEST(lost > 0);
    BOOST_TEST(duplicates > 0);
    BOOST_TEST(late > 0);
    BOOST_TEST_MESSAGE(lost << " leases lost, " << duplicates << " duplicates, " << late << " late finishers");
}

BOOST_AUTO_TEST_CASE(a_completion_without_a_condition_is_called_out)
{
    BOOST_TEST(days_called_out(flaw::completes_unconditionally) > 0);
}

BOOST_AUTO_TEST_CASE(an_end_of_claims_by_ones_own_clock_is_called_out)
{
    BOOST_TEST(days_called_out(flaw::wrong_clock) > 0);
}

BOOST_AUTO_TEST_CASE(a_token_for_a_whole_process_is_called_out)
{
    BOOST_TEST(days_called_out(flaw::token_per_process) > 0);
}

BOOST_AUTO_TEST_SUITE_END()
