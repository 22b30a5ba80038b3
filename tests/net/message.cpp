#include <quern/net/message.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(headers)

BOOST_AUTO_TEST_CASE(a_header_is_found_whatever_its_case_and_the_first_of_two_counts)
{
    quern::net::headers h;
    h.add("x-amzn-RequestId", "one");
    h.add("Empty", "");
    h.add("X-AMZN-REQUESTID", "two");
    BOOST_TEST(h.find("X-Amzn-Requestid") == "one");
    BOOST_TEST(h.find("empty") == "");
    BOOST_TEST(h.find("x-amzn-request") == "");
    BOOST_TEST(h.size() == 3u);
    h.clear();
    BOOST_TEST(h.find("empty") == "");
    BOOST_TEST(h.size() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
