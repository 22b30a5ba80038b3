#include "surrounded.hpp"

#include <quern/aws/credentials/sso.hpp>

#include <boost/test/unit_test.hpp>

namespace aws = quern::aws;
using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;
using quern::test::surrounded;
using std::string;
using state = aws::sso_token::state;

namespace {

struct signed_in : surrounded {
    signed_in() { keep(time.wall() + 8h); }

    void keep(wall_time until)
    {
        aws::sso_token token;
        token.access_token = "old-token";
        token.expires_at = until;
        token.refresh_token = "refresh";
        token.client_id = "client";
        token.client_secret = "client\"secret";
        token.start_url = "https://x.awsapps.com/start";
        token.region = "eu-west-1";
        files.text[path] = to_json(token);
    }

    void add_credentials()
    {
        web.add(200, R"({"roleCredentials":{"accessKeyId":"A","secretAccessKey":"s","sessionToken":"t",
            "expiration":1767330245000}})");
    }

    result<aws::credentials> ask()
    {
        aws::regional_endpoint const portal{"https://portal.sso.eu-west-1.amazonaws.com", "eu-west-1", ""};
        aws::regional_endpoint const oidc{"https://oidc.eu-west-1.amazonaws.com", "eu-west-1", ""};
        return run(aws::sso_credentials(around, portal, oidc, profile));
    }

    aws::sso_profile profile{"dev", "https://x.awsapps.com/start", "eu-west-1", "123456789012", "Role"};
    string path = "/h/.aws/sso/cache/34c6fceca75e456f25e7e99531e2425c6c1de443.json";
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(sso, signed_in)

BOOST_AUTO_TEST_CASE(the_cache_is_named_after_the_session_or_else_the_start_url)
{
    auto const here = [this](char const* name) { return variable(name); };
    BOOST_TEST(aws::sso_cache_file(here, profile) == path);
    profile.session.clear();
    profile.start_url = "https://ssotest.awsapps.com/start";
    BOOST_TEST(
        aws::sso_cache_file(here, profile) == "/h/.aws/sso/cache/dace00cba5f8355ec9d274ceb2bcebdfbeed0e12.json");
}

BOOST_AUTO_TEST_CASE(a_good_token_buys_the_credentials_of_the_role)
{
    add_credentials();
    auto const found = ask();
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(
        (*found == aws::credentials{"A", "s", "t", text::parse_rfc3339("2026-01-02T05:04:05Z"), "123456789012"}));
    BOOST_TEST(web.asked.size() == 1u);
    BOOST_TEST(web.asked[0].url ==
        "https://portal.sso.eu-west-1.amazonaws.com/federation/credentials?account_id=123456789012&role_name=Role");
    BOOST_TEST(web.header(0, "x-amz-sso_bearer_token") == "old-token");
}

BOOST_AUTO_TEST_CASE(a_token_about_to_end_is_renewed_and_the_new_one_kept)
{
    keep(time.wall() + 10min);
    web.add(200, R"({"accessToken":"new-token","expiresIn":28800,"refreshToken":"next"})");
    add_credentials();
    BOOST_TEST(ask().has_value());
    BOOST_REQUIRE(web.asked.size() == 2u);
    BOOST_TEST(web.asked[0].url == "https://oidc.eu-west-1.amazonaws.com/token");
    BOOST_TEST(web.asked[0].body ==
        R"({"clientId":"client","clientSecret":"client\"secret","grantType":"refresh_token","refreshToken":"refresh"})");
    BOOST_TEST(web.header(1, "x-amz-sso_bearer_token") == "new-token");

    auto const kept = aws::parse_sso_token(files.text[path]);
    BOOST_REQUIRE(kept.has_value());
    BOOST_TEST(kept->access_token == "new-token");
    BOOST_TEST(kept->refresh_token == "next");
    BOOST_TEST(kept->client_secret == "client\"secret");
    BOOST_TEST(kept->start_url == "https://x.awsapps.com/start");
    BOOST_TEST(kept->expires_at == time.wall() + 8h);
}

BOOST_AUTO_TEST_CASE(a_renewal_that_fails_leaves_the_old_token_while_it_lasts)
{
    keep(time.wall() + 10min);
    web.add(400, R"({"error":"invalid_grant"})");
    add_credentials();
    BOOST_TEST(ask().has_value());
    BOOST_TEST(web.header(1, "x-amz-sso_bearer_token") == "old-token");

    keep(time.wall() - 1s);
    web.add(400, R"({"error":"invalid_grant"})");
    BOOST_TEST(ask().error().message ==
        "SSO: the session has expired and could not be renewed: run `aws sso login` with this profile");
}

BOOST_AUTO_TEST_CASE(who_has_not_signed_in_is_told_how_to)
{
    files.text.clear();
    BOOST_TEST(ask().error().message.ends_with(": run `aws sso login` with this profile"));
    BOOST_TEST(ask().error().message.find(path) != string::npos);
    files.text[path] = "{\"accessToken\":\"hidden\"}";
    BOOST_TEST(ask().error().message == "SSO: " + path + " holds no token: run `aws sso login` with this profile");
    BOOST_TEST(web.asked.empty());

    keep(time.wall() + 8h);
    web.add(401, R"({"message":"Session token not found or invalid"})");
    BOOST_TEST(ask().error().message.starts_with("SSO: the session is no longer accepted"));
}

BOOST_AUTO_TEST_CASE(a_profile_of_the_older_kind_has_no_renewal)
{
    profile.session.clear();
    path = aws::sso_cache_file([this](char const* name) { return variable(name); }, profile);
    keep(time.wall() + 1min);
    add_credentials();
    BOOST_TEST(ask().has_value());
    BOOST_TEST(web.asked.size() == 1u);
    keep(time.wall() - 1min);
    BOOST_TEST(ask().error().message.starts_with("SSO: the session has expired:"));
}

BOOST_AUTO_TEST_CASE(a_profile_for_a_token_alone_has_no_credentials)
{
    profile.role_name.clear();
    BOOST_TEST(ask().error().message.find("sso_role_name") != string::npos);
}

BOOST_AUTO_TEST_CASE(a_token_can_be_renewed_while_its_registration_lasts)
{
    auto const now = time.wall();
    auto token = *aws::parse_sso_token(files.text[path]);
    BOOST_TEST(token.at(now) == state::good);
    BOOST_TEST(token.at(now + 8h - 15min) == state::renewable);
    BOOST_TEST(token.at(now + 9h) == state::renewable);
    token.registration_expires_at = text::rfc3339(now + 1h);
    BOOST_TEST(token.at(now + 8h - 15min) == state::good);
    BOOST_TEST(token.at(now + 8h) == state::expired);
    token.registration_expires_at = "some day";
    BOOST_TEST(token.at(now + 8h) == state::expired);
}

BOOST_AUTO_TEST_SUITE_END()
