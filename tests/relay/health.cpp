#include <quern/relay/health.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using quern::relay::health_rule;

namespace {

/// "+" for a good check, "-" for a bad one; returns 'd' where it is down from then on, 'u' where it is up, '.'
/// elsewhere.
std::string run(health_rule rule, std::string const& checks)
{
    std::string out;
    for (char const c : checks) {
        auto const change = rule.checked(c == '+');
        out += !change ? '.' : *change ? 'd' : 'u';
    }
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(relay_health)

BOOST_AUTO_TEST_CASE(it_is_down_after_so_many_bad_checks_in_a_row)
{
    BOOST_TEST(run({3, 1}, "+++") == "...");
    BOOST_TEST(run({3, 1}, "--+--+--") == "........");
    BOOST_TEST(run({3, 1}, "----") == "..d.");
    BOOST_TEST(run({1, 1}, "-+-") == "dud");
}

BOOST_AUTO_TEST_CASE(it_is_up_after_so_many_good_ones)
{
    BOOST_TEST(run({2, 1}, "--+") == ".du");
    BOOST_TEST(run({2, 3}, "--++-+++") == ".d.....u");
}

BOOST_AUTO_TEST_SUITE_END()
