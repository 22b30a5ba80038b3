#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/core/detail/text/characters.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::aws::detail;
using namespace quern::detail;

namespace aws = quern::aws;

BOOST_AUTO_TEST_SUITE(canonical)

BOOST_AUTO_TEST_CASE(a_path_is_encoded_again)
{
    BOOST_TEST(canonical_path("/a b/%20", true) == "/a%20b/%2520");
    BOOST_TEST(canonical_path("/AZaz09-._~", true) == "/AZaz09-._~");
}

BOOST_AUTO_TEST_CASE(a_normalized_path_has_no_dots_and_no_doubled_slashes)
{
    BOOST_TEST(canonical_path("", true) == "/");
    BOOST_TEST(canonical_path("//a/./b//../c/", true) == "/a/c/");
    BOOST_TEST(canonical_path("/../../a", true) == "/a");
    BOOST_TEST(canonical_path("/a/..", true) == "/");
}

BOOST_AUTO_TEST_CASE(a_raw_path_keeps_them)
{
    BOOST_TEST(canonical_path("", false) == "/");
    BOOST_TEST(canonical_path("//a/./..", false) == "//a/./..");
}

BOOST_AUTO_TEST_CASE(a_query_is_sorted_by_what_is_encoded)
{
    auto const canonical = [](std::string_view query) { return canonical_query(parse_query(query)); };
    BOOST_TEST(canonical("") == "");
    BOOST_TEST(canonical("b=2&a=2&a=1&&c") == "a=1&a=2&b=2&c=");
    BOOST_TEST(canonical("Param-3=x&Param=y&%E1%88%B4=z") == "%E1%88%B4=z&Param=y&Param-3=x");
    BOOST_TEST(canonical("a+b=c d%2fe=f") == "a%2Bb=c%20d%2Fe%3Df");
}

BOOST_AUTO_TEST_CASE(a_percent_sign_that_encodes_nothing_stands_for_itself)
{
    BOOST_TEST(text::percent_decoded("100%") == "100%");
    BOOST_TEST(text::percent_decoded("%4") == "%4");
    BOOST_TEST(text::percent_decoded("%zz%41") == "%zzA");
}

BOOST_AUTO_TEST_CASE(headers_are_folded_sorted_and_joined)
{
    auto const out = canonicalize({{"B", " 2\t\t3 "}, {"a", "x"}, {"b", "1"}, {"A-c", ""}});
    BOOST_TEST(out.lines == "a:x\na-c:\nb:2 3,1\n");
    BOOST_TEST(out.names == "a;a-c;b");
}

BOOST_AUTO_TEST_CASE(a_target_splits_at_its_first_question_mark)
{
    request_view const request{"GET", "/a?b?c", {{"Host", "x"}}, ""};
    BOOST_TEST(request.path() == "/a");
    BOOST_TEST(request.query() == "b?c");
    BOOST_TEST(request.header("host") == "x");
    BOOST_TEST(request.header("none") == "");
}

// RFC 9112, 5.2: a fold is white space, and so the lines are one value, not several.
BOOST_AUTO_TEST_CASE(a_folded_value_is_one_value)
{
    BOOST_TEST(canonicalize({{"My-Header1", "value1\r\n  value2\r\n\t value3"}, {"my-header1", "b"}}).lines ==
        "my-header1:value1 value2 value3,b\n");
}

BOOST_AUTO_TEST_SUITE_END()
