#include "support/run.hpp"

#include <quern/aws/credentials.hpp>

#include <boost/test/unit_test.hpp>

#include <map>

namespace aws = quern::aws;

namespace {

quern::result<aws::credentials> with(std::map<std::string, std::string> variables)
{
    return aws::credentials_from([&](char const* name) { return variables[name]; });
}

} // namespace

BOOST_AUTO_TEST_SUITE(credentials)

BOOST_AUTO_TEST_CASE(come_from_the_three_variables)
{
    auto const found =
        with({{"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "s"}, {"AWS_SESSION_TOKEN", "t"}});
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST((*found == aws::credentials{"AKID", "s", "t"}));
}

BOOST_AUTO_TEST_CASE(need_no_session_token)
{
    auto const found = with({{"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "s"}});
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->session_token == "");
}

BOOST_AUTO_TEST_CASE(an_empty_key_is_none)
{
    auto const found = with({{"AWS_ACCESS_KEY_ID", ""}, {"AWS_SECRET_ACCESS_KEY", "s"}});
    BOOST_REQUIRE(!found.has_value());
    BOOST_TEST((found.error().code == quern::errc::no_credentials));
    BOOST_TEST(found.error().message.starts_with("AWS_ACCESS_KEY_ID is not set"));
}

BOOST_AUTO_TEST_CASE(a_key_without_its_secret_is_an_error_that_names_what_is_missing)
{
    auto const found = with({{"AWS_ACCESS_KEY_ID", "AKID"}});
    BOOST_REQUIRE(!found.has_value());
    BOOST_TEST((found.error().code == quern::errc::no_credentials));
    BOOST_TEST(found.error().message.find("AWS_SECRET_ACCESS_KEY is not") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_line_break_in_a_value_is_named_and_the_value_is_not_shown)
{
    auto const found = with({{"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "hidden\n"}});
    BOOST_REQUIRE(!found.has_value());
    BOOST_TEST(found.error().message.starts_with("AWS_SECRET_ACCESS_KEY contains a line break"));
    BOOST_TEST(found.error().message.find("hidden") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(static_ones_are_handed_out_without_a_copy)
{
    auto const provider = aws::static_credentials({"AKID", "s", ""});
    auto const first = quern::test::run(provider->get());
    auto const second = quern::test::run(provider->get());
    BOOST_REQUIRE(first.has_value());
    BOOST_TEST(first->get() == second->get());
    BOOST_TEST(!provider->renew(*first));
}

BOOST_AUTO_TEST_SUITE_END()
