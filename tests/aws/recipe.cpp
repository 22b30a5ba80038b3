#include <quern/aws/credentials/recipe.hpp>

#include <boost/test/unit_test.hpp>

namespace aws = quern::aws;
using std::string;

namespace {

quern::result<std::optional<aws::recipe>> recipe_in(string config, string profile = "default")
{
    auto const read = aws::parse_shared_config({"config", std::move(config)}, {"credentials", ""});
    return aws::recipe_of(read.value(), profile);
}

template <class First>
First first_in(string config)
{
    auto const how = recipe_in(std::move(config));
    BOOST_REQUIRE(how.has_value());
    BOOST_REQUIRE(how->has_value());
    BOOST_REQUIRE(std::holds_alternative<First>((*how)->first));
    return std::get<First>((*how)->first);
}

string recipe_error(string config, string profile = "default")
{
    auto const how = recipe_in(std::move(config), std::move(profile));
    if (how) return "accepted";
    BOOST_TEST(how.error().code == quern::errc::no_credentials);
    return how.error().message;
}

constexpr auto key_lines = "aws_access_key_id = A\naws_secret_access_key = hidden\n";

} // namespace

// The service's own cases run as conformance.assume-role; here is what they leave open.
BOOST_AUTO_TEST_SUITE(recipes)

BOOST_AUTO_TEST_CASE(of_several_ways_in_one_profile_the_first_counts)
{
    auto config = string("[default]\ncredential_process = run\naws_account_id = 1\n");
    BOOST_TEST(first_in<aws::from_process>(config).command == "run");
    BOOST_TEST(first_in<aws::from_process>(config).account_id == "1");
    config += key_lines;
    BOOST_TEST(first_in<aws::from_keys>(config).keys.account_id == "1");
    config += "sso_start_url = u\nsso_region = r\nsso_account_id = 2\nsso_role_name = n\n";
    BOOST_TEST(first_in<aws::from_sso>(config).what == (aws::sso_profile{"", "u", "r", "2", "n"}));
    config += "web_identity_token_file = t\nrole_arn = a\nsource_profile = other\n";
    BOOST_TEST(first_in<aws::from_web_identity>(config).token_file == "t");
}

BOOST_AUTO_TEST_CASE(a_profile_may_say_nothing_of_credentials)
{
    auto const how = recipe_in("[default]\nregion = r");
    BOOST_REQUIRE(how.has_value());
    BOOST_TEST(!how->has_value());
}

BOOST_AUTO_TEST_CASE(a_role_carries_its_settings)
{
    auto const how = recipe_in("[default]\nrole_arn = a\nsource_profile = b\nrole_session_name = s\nexternal_id = e\n"
                               "duration_seconds = 900\n[profile b]\n" +
        string(key_lines));
    BOOST_REQUIRE((how.has_value() && how->has_value() && (*how)->roles.size() == 1u));
    BOOST_TEST((*how)->roles[0] == (aws::role{"a", "s", "e", "900"}));
}

BOOST_AUTO_TEST_CASE(a_source_with_keys_uses_them_and_not_its_own_role)
{
    auto const how = recipe_in("[default]\nrole_arn = a\nsource_profile = b\n[profile b]\nrole_arn = c\n"
                               "source_profile = d\n" +
        string(key_lines));
    BOOST_REQUIRE((how.has_value() && how->has_value()));
    BOOST_TEST((*how)->roles.size() == 1u);
    BOOST_TEST(std::holds_alternative<aws::from_keys>((*how)->first));
}

BOOST_AUTO_TEST_CASE(a_role_of_a_session_begins_with_sso)
{
    auto const how = recipe_in("[default]\nrole_arn = a\nsource_profile = b\n[profile b]\nsso_session = s\n"
                               "sso_account_id = 1\nsso_role_name = n\nsso_region = r\n"
                               "[sso-session s]\nsso_region = r\nsso_start_url = u\n");
    BOOST_REQUIRE((how.has_value() && how->has_value()));
    BOOST_TEST(std::holds_alternative<aws::from_sso>((*how)->first));
}

// It was found out when credentials were asked for, by an error that did not name the key.
BOOST_AUTO_TEST_CASE(a_role_of_sso_needs_an_account_and_an_account_a_role)
{
    string const p = "profile \"default\": ";
    string const session = "\n[sso-session s]\nsso_region = r\nsso_start_url = u\n";
    for (string const kind : {"[default]\nsso_session = s\n", "[default]\nsso_start_url = u\nsso_region = r\n"}) {
        BOOST_TEST(recipe_error(kind + "sso_role_name = n" + session) == p + "sso_account_id is missing");
        BOOST_TEST(recipe_error(kind + "sso_account_id = 1" + session) == p + "sso_role_name is missing");
        BOOST_TEST(
            recipe_error(kind + "sso_account_id =\nsso_role_name = n" + session) == p + "sso_account_id is missing");
        BOOST_TEST(recipe_error(kind + "sso_account_id = 1\nsso_role_name = n" + session) == "accepted");
    }
    BOOST_TEST(recipe_error("[default]\nsso_start_url = u\nsso_region = r\n") == p + "sso_account_id is missing");
    BOOST_TEST(recipe_error("[default]\nsso_role_name = n\n").starts_with(p + "sso_start_url and sso_region"));
    BOOST_TEST(recipe_error("[default]\nrole_arn = a\nsource_profile = b\n[profile b]\nsso_session = s\n"
                            "sso_role_name = n" +
                   session) == "profile \"b\": sso_account_id is missing");
    BOOST_TEST(first_in<aws::from_sso>("[default]\nsso_session = s" + session).what.account_id == ""); // for a token
}

BOOST_AUTO_TEST_CASE(errors_name_the_profile_and_the_key_and_show_no_secret)
{
    string const p = "profile \"default\": ";
    BOOST_TEST(recipe_error("", "p") == "the profile \"p\" is not in the config or credentials file");
    BOOST_TEST(recipe_error("[default]\nrole_arn = a\nsource_profile = p") ==
        "source_profile of \"default\" \"p\" is not in the config or credentials file");
    BOOST_TEST(recipe_error("[default]\naws_secret_access_key = hidden") == p + "aws_access_key_id is missing");
    BOOST_TEST(recipe_error("[default]\naws_access_key_id = A") == p + "aws_secret_access_key is missing");
    BOOST_TEST(recipe_error("[default]\naws_access_key_id = A\naws_secret_access_key = hidden\n more") ==
        p + "a line break or another control character is in one of the values");
    BOOST_TEST(recipe_error("[default]\nrole_arn = a").starts_with(p + "role_arn needs either"));
    BOOST_TEST(recipe_error("[default]\nrole_arn = a\nsource_profile = b\ncredential_source = Environment")
                   .starts_with(p + "role_arn needs either"));
    BOOST_TEST(recipe_error("[default]\nrole_arn = a\ncredential_source = environment")
                   .starts_with(p + "credential_source \"environment\" is none of"));
    BOOST_TEST(recipe_error("[default]\nrole_arn = a\nmfa_serial = m\nsource_profile = default")
                   .starts_with(p + "mfa_serial"));
    BOOST_TEST(recipe_error("[default]\nrole_arn = a\nduration_seconds = 1h\nsource_profile = default")
                   .starts_with(p + "duration_seconds must"));
    BOOST_TEST(recipe_error("[default]\nlogin_session = l").starts_with(p + "login_session is not supported"));
    BOOST_TEST(recipe_error("[default]\nsso_account_id = 1").starts_with(p + "sso_start_url and sso_region"));
    BOOST_TEST(recipe_error("[default]\nsso_session = s") == p + "there is no [sso-session s]");
    BOOST_TEST(recipe_error("[default]\nsso_session = s\n[sso-session s]\nsso_region = r") ==
        p + "sso_start_url is missing in [sso-session s]");
    BOOST_TEST(
        recipe_error(
            "[default]\nsso_session = s\nsso_region = q\n[sso-session s]\nsso_region = r\nsso_start_url = u") ==
        p + "sso_region differs from that of [sso-session s]");
}

BOOST_AUTO_TEST_SUITE_END()
