#include "surrounded.hpp"

#include <quern/aws/credentials/credential_chain.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>

namespace aws = quern::aws;
using namespace quern;
using quern::test::surrounded;
using std::string;

namespace {

constexpr auto sts_answer =
    "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ROLE</AccessKeyId>"
    "<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2026-01-02T04:04:05Z</Expiration>"
    "</Credentials></AssumeRoleResult></AssumeRoleResponse>";
constexpr auto web_identity_answer =
    "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>WEB</AccessKeyId>"
    "<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2026-01-02T04:04:05Z</Expiration>"
    "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
constexpr auto json_answer = R"({"AccessKeyId":"JSON","SecretAccessKey":"s","Token":"t"})";

struct chain : surrounded {
    chain()
    {
        variables["AWS_REGION"] = "eu-west-1";
        variables["AWS_EC2_METADATA_DISABLED"] = "true";
    }

    void in_environment()
    {
        variables["AWS_ACCESS_KEY_ID"] = "ENV";
        variables["AWS_SECRET_ACCESS_KEY"] = "s";
    }
    void in_web_identity()
    {
        variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
        variables["AWS_ROLE_ARN"] = "arn";
        files.text["/token"] = "token";
    }
    void in_profile(string name, string text)
    {
        files.text["/h/.aws/config"] +=
            (name == "default" ? "[default]\n" : "[profile " + name + "]\n") + text + "\n";
    }
    void in_container() { variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/x"; }

    result<aws::credentials> found(aws::chain_options options = {})
    {
        aws::credential_chain all(around, std::move(options), [] { return 1.0; });
        return run(all.load());
    }
    string key(aws::chain_options options = {})
    {
        auto const one = found(std::move(options));
        return one ? one->access_key_id : one.error().message;
    }

    static string keys(string id) { return "aws_access_key_id = " + id + "\naws_secret_access_key = s"; }
};

/// A variable of this process, set for a while.
class set_variable {
public:
    set_variable(char const* name, string const& value) : name_(name)
    {
        if (char const* const old = std::getenv(name)) before_ = old;
        ::setenv(name, value.c_str(), 1);
    }
    set_variable(set_variable const&) = delete;
    ~set_variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

private:
    char const* name_;
    std::optional<string> before_;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(credential_chain, chain)

BOOST_AUTO_TEST_CASE(the_places_are_searched_in_their_order)
{
    in_container();
    web.add(200, json_answer);
    BOOST_TEST(key() == "JSON");
    in_profile("default", keys("DEFAULT"));
    BOOST_TEST(key() == "DEFAULT");
    in_web_identity();
    web.add(200, web_identity_answer);
    BOOST_TEST(key() == "WEB");
    in_profile("named", keys("NAMED"));
    variables["AWS_PROFILE"] = "named";
    BOOST_TEST(key() == "NAMED");
    in_environment();
    BOOST_TEST(key() == "ENV");
    in_profile("chosen", keys("CHOSEN"));
    BOOST_TEST(key({.profile = "chosen"}) == "CHOSEN");
    BOOST_TEST(web.asked.size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_instance_is_the_last_place)
{
    variables.erase("AWS_EC2_METADATA_DISABLED");
    in_profile("default", "region = eu-west-1\nec2_metadata_service_endpoint = http://near");
    for (auto const* const text : {"token", "role", json_answer})
        web.add(200, text);
    BOOST_TEST(key() == "JSON");
    BOOST_TEST(web.asked[0].url == "http://near/latest/api/token");
}

BOOST_AUTO_TEST_CASE(when_nothing_is_found_the_error_lists_every_place_and_the_remedy)
{
    variables.erase("AWS_EC2_METADATA_DISABLED");
    auto const none = found();
    BOOST_REQUIRE(!none);
    BOOST_TEST(none.error().code == errc::no_credentials);
    BOOST_TEST(none.error().message ==
        "looked at the environment (AWS_ACCESS_KEY_ID is not set), web identity (AWS_WEB_IDENTITY_TOKEN_FILE is not "
        "set), "
        "the profile \"default\" of /h/.aws/config and /h/.aws/credentials (there is none), the container (neither "
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor .._FULL_URI is set), the instance (nobody answers at "
        "http://169.254.169.254 (timed out)): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, sign in with `aws "
        "configure` or `aws sso login`, name a profile with AWS_PROFILE, or give this machine a role");

    variables["AWS_EC2_METADATA_DISABLED"] = "true";
    variables["AWS_PROFILE"] = "p";
    in_profile("p", "region = eu-west-1");
    auto const text = found().error().message;
    BOOST_TEST(
        text.find("\"p\" of /h/.aws/config and /h/.aws/credentials (it holds no credentials)") != string::npos);
    BOOST_TEST(text.find("the instance (switched off by AWS_EC2_METADATA_DISABLED)") != string::npos);
}

BOOST_AUTO_TEST_CASE(a_place_that_is_set_up_and_does_not_work_ends_the_search)
{
    in_profile("default", keys("DEFAULT"));
    variables["AWS_ACCESS_KEY_ID"] = "ENV";
    BOOST_TEST(key().starts_with("AWS_ACCESS_KEY_ID is set but AWS_SECRET_ACCESS_KEY is not"));
    variables["AWS_ACCESS_KEY_ID"] = "";
    variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/absent";
    BOOST_TEST(key().starts_with("AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN is not"));
    variables["AWS_ROLE_ARN"] = "arn";
    BOOST_TEST(key().starts_with("the web identity token /absent cannot be read"));
    variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "";
    variables["AWS_PROFILE"] = "absent";
    BOOST_TEST(key() == "the profile \"absent\" is not in the config or credentials file");
    variables["AWS_PROFILE"] = "";
    BOOST_TEST(key({.profile = "default"}) == "DEFAULT");
    files.text["/h/.aws/config"] = "= broken";
    BOOST_TEST(key().starts_with("/h/.aws/config, line 1: "));
    BOOST_TEST(web.asked.empty());
}

BOOST_AUTO_TEST_CASE(keys_of_the_environment_need_no_readable_files)
{
    files.text["/h/.aws/config"] = "= broken";
    in_environment();
    BOOST_TEST(key() == "ENV");
}

BOOST_AUTO_TEST_CASE(roles_are_taken_on_one_after_another_at_the_regions_sts)
{
    in_profile("default", "role_arn = a1\nsource_profile = middle\nregion = us-west-2");
    in_profile("middle", "role_arn = a2\nsource_profile = base");
    in_profile("base", keys("BASE"));
    web.add(200, sts_answer);
    web.add(200, sts_answer);
    BOOST_TEST(key() == "ROLE");
    BOOST_REQUIRE(web.asked.size() == 2u);
    BOOST_TEST(web.asked[0].url.starts_with("https://sts.eu-west-1.amazonaws.com"));
    BOOST_TEST(web.asked[0].body.find("RoleArn=a2") != string::npos);
    BOOST_TEST(web.header(0, "Authorization").find("Credential=BASE/") != string::npos);
    BOOST_TEST(web.asked[1].body.find("RoleArn=a1") != string::npos);
    BOOST_TEST(web.header(1, "Authorization").find("Credential=ROLE/") != string::npos);

    variables.erase("AWS_REGION");
    web.add(200, sts_answer);
    web.add(200, sts_answer);
    BOOST_TEST(key() == "ROLE");
    BOOST_TEST(web.asked[2].url.starts_with("https://sts.us-west-2.amazonaws.com"));
    aws::chain_options options;
    options.where.region = "ap-south-1";
    web.add(403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>");
    auto const denied = found(options).error();
    BOOST_TEST(denied.code == errc::no_credentials);
    BOOST_TEST(denied.message == "the role a2: the service refused: AccessDenied (HTTP 403)");
    BOOST_TEST(!denied.retryable);
    BOOST_TEST(web.asked[4].url.starts_with("https://sts.ap-south-1.amazonaws.com"));
}

BOOST_AUTO_TEST_CASE(a_role_without_a_region_says_so)
{
    variables.erase("AWS_REGION");
    in_profile("default", "role_arn = a1\nsource_profile = base");
    in_profile("base", keys("BASE"));
    BOOST_TEST(key().starts_with("sts: "));
    BOOST_TEST(key().find("AWS_REGION") != string::npos);
}

BOOST_AUTO_TEST_CASE(a_source_by_its_name_must_be_there)
{
    in_profile("default", "role_arn = a\ncredential_source = Environment");
    BOOST_TEST(key().starts_with("AWS_ACCESS_KEY_ID is not set"));
    files.text.clear();
    in_profile("default", "role_arn = a\ncredential_source = EcsContainer");
    BOOST_TEST(key().starts_with("credential_source EcsContainer: neither"));
    files.text.clear();
    in_profile("default", "role_arn = a\ncredential_source = Ec2InstanceMetadata");
    BOOST_TEST(key() == "credential_source Ec2InstanceMetadata: switched off by AWS_EC2_METADATA_DISABLED");
    variables.erase("AWS_EC2_METADATA_DISABLED");
    for (int i = 0; i < 3; ++i)
        web.add(503, "");
    auto const unwell = found().error();
    BOOST_TEST(unwell.code == errc::no_credentials);
    BOOST_TEST(unwell.message == "credential_source Ec2InstanceMetadata: the service refused (HTTP 503)");
    BOOST_TEST(unwell.retryable);
    web.asked.clear();
    in_container();
    files.text.clear();
    in_profile("default", "role_arn = a\ncredential_source = EcsContainer");
    web.add(200, json_answer);
    web.add(200, sts_answer);
    BOOST_TEST(key() == "ROLE");
    BOOST_TEST(web.header(1, "Authorization").find("Credential=JSON/") != string::npos);
}

BOOST_AUTO_TEST_CASE(a_process_may_leave_it_to_the_profile_whose_credentials_they_are)
{
    in_profile("default",
        "credential_process = echo '{\"Version\":1,\"AccessKeyId\":\"P\",\"SecretAccessKey\":\"s\"}'\naws_account_id "
        "= 7");
    auto const one = found();
    BOOST_REQUIRE(one.has_value());
    BOOST_TEST(one->access_key_id == "P");
    BOOST_TEST(one->account_id == "7");
}

BOOST_AUTO_TEST_CASE(a_place_that_cannot_be_reached_is_named_and_may_be_reached_later)
{
    in_container();
    auto const none = found().error();
    BOOST_TEST(none.code == errc::no_credentials);
    BOOST_TEST(none.message == "the container's endpoint: timed out: nobody");
    BOOST_TEST(none.retryable);
}

BOOST_AUTO_TEST_CASE(an_instance_that_is_unwell_may_have_credentials_later)
{
    variables.erase("AWS_EC2_METADATA_DISABLED");
    for (int i = 0; i < 3; ++i)
        web.add(503, "");
    auto const none = found();
    BOOST_TEST(none.error().retryable);
    BOOST_TEST(none.error().message.find("HTTP 503") != string::npos);
}

BOOST_AUTO_TEST_CASE(the_default_provider_reads_this_process)
{
    // Whatever the machine has: a profile that nobody has is in no file of it.
    auto const provider =
        aws::default_credentials(io.get_executor(), {.profile = "no such profile, surely"}, {}, time);
    BOOST_TEST(!provider->at_hand());
    auto const none = run(provider->get());
    BOOST_REQUIRE(!none);
    BOOST_TEST(none.error().message.find("no such profile, surely") != string::npos);
}

BOOST_AUTO_TEST_CASE(the_default_provider_trusts_whom_the_profile_trusts)
{
    auto const path = string(std::getenv("QUERN_TMP_DIR")) + "/trusting";
    std::ofstream(path) << "[profile trusting]\nregion = eu-west-1\nca_bundle = /nowhere/ca.pem\n"
                           "role_arn = arn\nsource_profile = base\n[profile base]\n"
                        << keys("BASE");
    set_variable const file("AWS_CONFIG_FILE", path), nobody_else("AWS_CA_BUNDLE", ""),
        no_keys("AWS_ACCESS_KEY_ID", "");
    auto const provider = aws::default_credentials(io.get_executor(), {.profile = "trusting"}, {}, time);
    auto const none = run(provider->get());
    BOOST_REQUIRE(!none);
    BOOST_TEST(none.error().message.starts_with("the role arn: "), none.error().message);
    BOOST_TEST_INFO(none.error().message);
    BOOST_TEST(none.error().message.find("ca_bundle \"/nowhere/ca.pem\"") != string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
