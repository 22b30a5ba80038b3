#include "support/run.hpp"

#include <quern/aws/credentials/credentials.hpp>
#include <quern/core/detail/text/date.hpp>

#include <boost/test/unit_test.hpp>

#include <map>

namespace aws = quern::aws;

namespace {

quern::result<aws::credentials> from_variables(std::map<std::string, std::string> variables)
{
    return aws::credentials_from([&](char const* name) { return variables[name]; });
}

} // namespace

BOOST_AUTO_TEST_SUITE(credentials)

BOOST_AUTO_TEST_CASE(come_from_the_three_variables)
{
    auto const found =
        from_variables({{"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "s"}, {"AWS_SESSION_TOKEN", "t"}});
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(*found == (aws::credentials{"AKID", "s", "t"}));
}

BOOST_AUTO_TEST_CASE(need_no_session_token)
{
    auto const found = from_variables({{"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "s"}});
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->session_token == "");
}

BOOST_AUTO_TEST_CASE(an_empty_key_is_none)
{
    auto const found = from_variables({{"AWS_ACCESS_KEY_ID", ""}, {"AWS_SECRET_ACCESS_KEY", "s"}});
    BOOST_REQUIRE(!found.has_value());
    BOOST_TEST(found.error().code == quern::errc::no_credentials);
    BOOST_TEST(found.error().message.starts_with("AWS_ACCESS_KEY_ID is not set"));
}

BOOST_AUTO_TEST_CASE(a_key_without_its_secret_is_an_error_that_names_what_is_missing)
{
    auto const found = from_variables({{"AWS_ACCESS_KEY_ID", "AKID"}});
    BOOST_REQUIRE(!found.has_value());
    BOOST_TEST(found.error().code == quern::errc::no_credentials);
    BOOST_TEST(found.error().message.find("AWS_SECRET_ACCESS_KEY is not") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_line_break_in_a_value_is_named_and_the_value_is_not_shown)
{
    auto const found = from_variables({{"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "hidden\n"}});
    BOOST_REQUIRE(!found.has_value());
    BOOST_TEST(found.error().message.starts_with("AWS_SECRET_ACCESS_KEY contains a line break"));
    BOOST_TEST(found.error().message.find("hidden") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(blank_variables_count_as_none)
{
    auto const found = from_variables({{"AWS_ACCESS_KEY_ID", " "}, {"AWS_SECRET_ACCESS_KEY", " "}});
    BOOST_REQUIRE(!found.has_value());
    BOOST_TEST(found.error().message.starts_with("AWS_ACCESS_KEY_ID is not set"));
    auto const long_term =
        from_variables({{"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "s"}, {"AWS_SESSION_TOKEN", " "}});
    BOOST_TEST(long_term->session_token == "");
}

BOOST_AUTO_TEST_CASE(may_say_whose_they_are_and_when_they_end)
{
    std::map<std::string, std::string> variables{{"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "s"},
        {"AWS_ACCOUNT_ID", "123456789012"}, {"AWS_CREDENTIAL_EXPIRATION", "2026-01-02T03:04:05Z"}};
    auto const found = from_variables(variables);
    BOOST_TEST(found->account_id == "123456789012");
    BOOST_TEST(found->expires_at == quern::detail::text::parse_rfc3339("2026-01-02T03:04:05Z"));
    variables["AWS_CREDENTIAL_EXPIRATION"] = "tomorrow";
    BOOST_TEST(from_variables(variables).error().message.starts_with("AWS_CREDENTIAL_EXPIRATION is not a time"));
}

BOOST_AUTO_TEST_CASE(what_makes_them_unusable_is_said_without_showing_them)
{
    BOOST_TEST(!aws::flaw_of({"AKID", "hidden", "hidden"}));
    BOOST_TEST(*aws::flaw_of({"", "hidden", ""}) == "the access key is missing");
    BOOST_TEST(*aws::flaw_of({"AKID", "", "hidden"}) == "the secret access key is missing");
    for (aws::credentials const& bad : {aws::credentials{"A\n", "hidden", ""}, aws::credentials{"A", "hidden\r", ""},
             aws::credentials{"A", "hidden", "\x7f"}}) {
        BOOST_REQUIRE(aws::flaw_of(bad));
        BOOST_TEST(aws::flaw_of(bad)->find("hidden") == std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(static_ones_are_handed_out_without_a_copy)
{
    auto const provider = aws::static_credentials({"AKID", "s", ""});
    BOOST_TEST(provider->at_hand().get() == quern::test::run(provider->get())->get());
    auto const first = quern::test::run(provider->get());
    auto const second = quern::test::run(provider->get());
    BOOST_REQUIRE(first.has_value());
    BOOST_TEST(first->get() == second->get());
    BOOST_TEST(provider->renew(*first) == aws::renewal::never);
}

BOOST_AUTO_TEST_SUITE_END()
