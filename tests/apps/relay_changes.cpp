#include "quern/relay/relay_changes.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern::app;

BOOST_AUTO_TEST_SUITE(relay_changes)

// A SIGHUP said "settings are read again" of a concurrency that stayed as it was.
BOOST_AUTO_TEST_CASE(what_a_running_relay_does_not_take_up_is_named)
{
    relay_texts const before{{"concurrency", "50"}, {"timeout", "30s"}, {"tls.ca", "a.pem"}, {"stats", "1m"}};
    auto after = before;
    BOOST_TEST(need_restart(before, after).empty());
    after["timeout"] = "10s";
    BOOST_TEST(need_restart(before, after).empty());
    after["concurrency"] = "5";
    after.erase("stats");
    after["health.url"] = "http://x";
    BOOST_TEST(need_restart(before, after) == (std::vector<std::string>{"concurrency", "health.url", "stats"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_is_found_before_the_next_start)
{
    BOOST_TEST(check_files({{"tls.ca", "README.md"}}).has_value());
    BOOST_TEST(check_files({{"tls.ca", "/nope.pem"}}).error().message == "relay.tls.ca /nope.pem: cannot be read");
}

BOOST_AUTO_TEST_SUITE_END()
