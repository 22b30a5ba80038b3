#include <quern/relay/status_set.hpp>

#include <boost/test/unit_test.hpp>

using quern::relay::status_set;

BOOST_AUTO_TEST_SUITE(relay_status_set)

BOOST_AUTO_TEST_CASE(classes_single_ones_and_ranges_make_a_set)
{
    status_set const set("2xx, 408,502-504");
    for (int const in : {200, 204, 299, 408, 502, 503, 504})
        BOOST_TEST(set.contains(in), in);
    for (int const out : {0, -1, 199, 300, 407, 409, 501, 505, 600, 100'000})
        BOOST_TEST(!set.contains(out), out);
    BOOST_TEST(!status_set("5xx").contains(499));
}

BOOST_AUTO_TEST_CASE(nothing_is_an_empty_set)
{
    BOOST_TEST(status_set("").is_empty());
    BOOST_TEST(status_set("  ").is_empty());
    BOOST_TEST(!status_set().contains(200));
}

BOOST_AUTO_TEST_CASE(what_is_no_status_is_named)
{
    for (auto const* text : {"2x", "0xx", "6xx", "20", "2000", "099", "600", "504-502", "200-", "-200", "200,,201",
             "abc", "200-2xx", "+12", "200 201"}) {
        auto const out = status_set::parse(text);
        BOOST_TEST(!out.has_value(), text);
        if (!out) BOOST_TEST(out.error().message.find("is no status") != std::string::npos);
    }
}

BOOST_AUTO_TEST_SUITE_END()
