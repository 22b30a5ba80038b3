#include <quern/core/detail/text/large_integers.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using quern::detail::text::with_large_integers_as_texts;

BOOST_AUTO_TEST_SUITE(large_integers)

BOOST_AUTO_TEST_CASE(only_integers_beyond_64_bits_become_texts)
{
    struct row {
        std::string from, to;
    };
    std::vector<row> const table{
        {R"({"wei":1000000000000000000000})", R"({"wei":"1000000000000000000000"})"},
        {"[18446744073709551615,18446744073709551616]", R"([18446744073709551615,"18446744073709551616"])"},
        {"[-9223372036854775808, -9223372036854775809 ]", R"([-9223372036854775808, "-9223372036854775809" ])"},
        {"1000000000000000000000e2", "1000000000000000000000e2"},
        {"1000000000000000000000.5", "1000000000000000000000.5"},
        {R"({"1000000000000000000000":"1000000000000000000000"})",
            R"({"1000000000000000000000":"1000000000000000000000"})"},
        {R"(["\\", "\"1000000000000000000000", true])", R"(["\\", "\"1000000000000000000000", true])"},
        {"01000000000000000000000", "01000000000000000000000"}, // no JSON
        {"--1000000000000000000000", "--1000000000000000000000"},
        {"\"1000000000000000000000", "\"1000000000000000000000"},
        {"\"\\", "\"\\"},
        {"", ""},
    };
    for (auto const& r : table)
        BOOST_TEST(with_large_integers_as_texts(r.from) == r.to);
    BOOST_TEST(
        with_large_integers_as_texts("1000000000000000000000", "\\u0001") == R"("\u00011000000000000000000000")");
}

BOOST_AUTO_TEST_SUITE_END()
