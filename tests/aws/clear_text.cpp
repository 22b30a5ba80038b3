#include <quern/aws/config/clear_text.hpp>

#include <boost/test/unit_test.hpp>

namespace {

bool is_warned_of(char const* url, char const* access_key_id)
{
    return quern::aws::clear_text_warning(quern::net::parse_endpoint(url).value(), access_key_id).has_value();
}

constexpr auto real = "ASIAIOSFODNN7ABCDEFG";

} // namespace

BOOST_AUTO_TEST_SUITE(clear_text)

BOOST_AUTO_TEST_CASE(real_keys_on_an_open_way_are_warned_of)
{
    for (auto const* const open :
        {"http://sqs.eu-west-1.amazonaws.com", "http://10.0.0.1:4566", "http://localstack:4566"}) {
        for (auto const* const key : {real, "AKIAIOSFODNN7ABCDEFG", ""})
            BOOST_TEST(is_warned_of(open, key), open);
    }
    BOOST_TEST(
        quern::aws::clear_text_warning(quern::net::parse_endpoint("http://localstack:4566/secret").value(), real)
            ->starts_with("http://localstack:4566 is not encrypted"));
}

BOOST_AUTO_TEST_CASE(an_encrypted_way_this_machine_and_keys_of_nobody_are_not)
{
    for (auto const* const closed :
        {"https://sqs.eu-west-1.amazonaws.com", "http://localhost:9324", "http://127.0.0.1", "http://[::1]:9324"})
        BOOST_TEST(!is_warned_of(closed, real), closed);
    for (auto const* const nobodys :
        {"test", "foobar", "LSIAQAAAAAAVNCBMPNSG", "AKIAIOSFODNN7EXAMPLE", "AKIA", "000000000000"})
        BOOST_TEST(!is_warned_of("http://localstack:4566", nobodys), nobodys);
}

BOOST_AUTO_TEST_SUITE_END()
