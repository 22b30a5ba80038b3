#include <quern/policy/backoff.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::policy;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(backoff_policy)

BOOST_AUTO_TEST_CASE(without_jitter_the_delay_doubles_from_the_base_to_the_cap)
{
    backoff policy;
    policy.spread = backoff::jitter::none;
    policy.cap = 10s;
    std::mt19937_64 random(1);
    BOOST_TEST((policy.delay(1, random) == 1s));
    BOOST_TEST((policy.delay(2, random) == 2s));
    BOOST_TEST((policy.delay(4, random) == 8s));
    BOOST_TEST((policy.delay(5, random) == 10s));
    BOOST_TEST((policy.delay(1'000'000, random) == 10s)); // the power overflows to infinity, the delay does not
    BOOST_TEST((policy.delay(0, random) == 1s));          // a receive count that was not asked for
}

BOOST_AUTO_TEST_CASE(jitter_stays_in_its_range_and_reaches_both_ends)
{
    backoff policy;
    std::mt19937_64 random(1);
    for (auto const& [spread, least] :
        {std::pair(backoff::jitter::half, 500ms), std::pair(backoff::jitter::full, 0ms)}) {
        policy.spread = spread;
        auto low = 1h + 0ms, high = 0ms;
        for (int i = 0; i < 2'000; ++i) {
            auto const d = policy.delay(1, random);
            low = std::min(low, d);
            high = std::max(high, d);
        }
        BOOST_TEST((low >= least && low < least + 20ms));
        BOOST_TEST((high <= 1s && high > 980ms));
    }
}

BOOST_AUTO_TEST_SUITE_END()
