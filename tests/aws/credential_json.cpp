#include <quern/aws/credentials/detail/credential_json.hpp>
#include <quern/aws/credentials/sso.hpp>
#include <quern/aws/credentials/sts.hpp>
#include <quern/core/detail/text/date.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::aws::detail;
using namespace quern::detail;

namespace aws = quern::aws;
using std::string;

namespace {

string error_of(string const& text)
{
    auto const found = credentials_in_json(text, "it");
    return found ? "accepted" : found.error().message;
}

} // namespace

BOOST_AUTO_TEST_SUITE(credential_json)

BOOST_AUTO_TEST_CASE(an_object_gives_its_texts_and_whole_numbers_by_names_in_lower_case)
{
    auto const read = read_flat_json(R"({"Ab":"x","n":5,"f":1.5,"b":true,"z":null,"o":{"in":"y","n":[1]}})");
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(read->get("ab") == "x");
    BOOST_TEST(read->get("n") == "5");
    BOOST_TEST(read->values.size() == 2u);
    BOOST_TEST(read_flat_json(R"({"o":{"In":"y"}})", "o")->get("in") == "y");
    for (auto const* const bad : {"", "[]", "\"a\"", "{", "{\"a\":\"b\"", "{\"a\":\"b\"} x", "{a:1}", "invalid json"})
        BOOST_TEST(!read_flat_json(bad), bad);
    BOOST_TEST(!read_flat_json("{}", "o"));
    BOOST_TEST(!read_flat_json(R"({"o":1})", "o"));
}

BOOST_AUTO_TEST_CASE(credentials_are_read_as_all_the_sources_write_them)
{
    auto const instance = credentials_in_json(R"({"Code":"Success","AccessKeyId":"A","SecretAccessKey":"s",
        "Token":"t","Expiration":"2026-01-02T03:04:05Z"})",
        "it");
    BOOST_TEST((*instance == aws::credentials{"A", "s", "t", text::parse_rfc3339("2026-01-02T03:04:05Z"), ""}));
    auto const sso = credentials_in_json(
        R"({"roleCredentials":{"accessKeyId":"A","secretAccessKey":"s","sessionToken":"t","expiration":1651516560000}})",
        "it", "roleCredentials");
    BOOST_TEST(*sso == (aws::credentials{"A", "s", "t", text::parse_rfc3339("2022-05-02T18:36:00Z"), ""}));
    auto const process = credentials_in_json(
        R"({"Version":1,"AccessKeyId":"A","SecretAccessKey":"s","SessionToken":null,"AccountId":"1"})", "it");
    BOOST_TEST(*process == (aws::credentials{"A", "s", "", {}, "1"}));
}

// Who means never writes 9999, and was told that this is no time.
BOOST_AUTO_TEST_CASE(an_expiration_in_the_far_future_means_the_end_of_the_year_2200)
{
    for (auto const* const time : {"\"9999-12-31T23:59:59Z\"", "99999999999999", "9223372036854775807"}) {
        auto const found = credentials_in_json(
            string(R"({"AccessKeyId":"A","SecretAccessKey":"s","Expiration":)") + time + '}', "it");
        BOOST_REQUIRE(found.has_value());
        BOOST_TEST(found->expires_at == text::last_moment, time);
    }
}

// aws-cli's cache says UTC, strftime +0000, Python +00:00, SSO a number; tools hand on what they have read.
BOOST_AUTO_TEST_CASE(every_source_may_say_an_end_in_every_form)
{
    auto const end = quern::detail::text::parse_rfc3339("2022-05-02T18:36:00Z");
    for (string const text : {"2022-05-02T18:36:00Z", "2022-05-02t18:36:00z", "2022-05-02T18:36:00.123456789Z",
             "2022-05-02T18:36:00+00:00", "2022-05-02T18:36:00+0000", "2022-05-02T18:36:00-00",
             "2022-05-02T18:36:00UTC", "2022-05-02 20:36:00.5+02:00", "20220502T183600Z", "1651516560000",
             "1651516560"}) {
        auto const json = R"({"AccessKeyId":"A","SecretAccessKey":"s","accessToken":"a","Expiration":")" + text +
            R"(","expiresAt":")" + text + "\"}";
        BOOST_TEST(
            (aws::detail::credentials_in_json(json, "it")->expires_at == end), text); // container, instance, process
        BOOST_TEST((aws::parse_sso_token(json)->expires_at == *end), text);
        aws::sso_token token = *aws::parse_sso_token(json);
        token.refresh_token = token.client_id = token.client_secret = "x";
        token.registration_expires_at = text;
        BOOST_TEST((token.at(*end - std::chrono::seconds(1)) == aws::sso_token::state::renewable), text);
        auto const sts = aws::credentials_in_sts_answer(
            "<AssumeRoleWithWebIdentityResponse>"
            "<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>s"
            "</SecretAccessKey><Expiration>" +
            text +
            "</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
            "</AssumeRoleWithWebIdentityResponse>");
        BOOST_TEST((sts->expires_at == end), text);
        auto const variables = [&](char const* name) -> string {
            return name == string("AWS_CREDENTIAL_EXPIRATION") ? text
                : name == string("AWS_ACCESS_KEY_ID")          ? "A"
                                                               : "s";
        };
        BOOST_TEST((aws::credentials_from(variables)->expires_at == end), text);
    }
}

// A terminal takes 9b, or c2 9b, for the begin of a command.
BOOST_AUTO_TEST_CASE(what_the_other_side_says_reaches_no_terminal_as_a_command)
{
    BOOST_TEST(error_of(R"({"Code":"Evil\u001b[2J","Message":"\u009b2J"})") == "it: Evil [2J  2J");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_without_showing_a_secret)
{
    BOOST_TEST(error_of("hidden") == "it: the answer is not a JSON object with credentials");
    BOOST_TEST(error_of(R"({"SecretAccessKey":"hidden"})") == "it: the access key is missing");
    BOOST_TEST(error_of(R"({"AccessKeyId":"A"})") == "it: the secret access key is missing");
    BOOST_TEST(error_of(R"({"AccessKeyId":"A","SecretAccessKey":"hidden\n"})") ==
        "it: a line break or another control character is in one of the values");
    BOOST_TEST(
        error_of(R"({"Code":"AssumeRoleUnauthorizedAccess","Message":"EC2\ncannot","SecretAccessKey":"hidden"})") ==
        "it: AssumeRoleUnauthorizedAccess EC2 cannot");
    for (auto const* const time : {"\"tomorrow\"", "-1"}) {
        BOOST_TEST(error_of(string(R"({"AccessKeyId":"A","SecretAccessKey":"hidden","Expiration":)") + time + '}')
                       .starts_with("it: the expiration is not a time"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
