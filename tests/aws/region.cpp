#include <quern/aws/config/region.hpp>

#include "support/variables.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

using namespace quern::aws;
using quern::test::with;
using std::string;

BOOST_AUTO_TEST_SUITE(region)

BOOST_AUTO_TEST_CASE(the_region_comes_from_the_program_two_variables_the_profile)
{
    auto const region = [](endpoint_choice choice, std::map<string, string> variables, string profile) {
        return settled(sqs_service, std::move(choice), with(std::move(variables)), {.region = std::move(profile)})
            .region;
    };
    BOOST_TEST(region({.region = "a"}, {{"AWS_REGION", "b"}, {"AWS_DEFAULT_REGION", "c"}}, "d") == "a");
    BOOST_TEST(region({}, {{"AWS_REGION", "b"}, {"AWS_DEFAULT_REGION", "c"}}, "d") == "b");
    BOOST_TEST(region({}, {{"AWS_DEFAULT_REGION", "c"}}, "d") == "c");
    BOOST_TEST(region({}, {}, "d") == "d");
    BOOST_TEST(region({}, {}, "") == "");
}

BOOST_AUTO_TEST_CASE(the_url_comes_from_the_most_particular_that_names_one)
{
    std::map<string, string> variables;
    profile_settings profile;
    auto const url = [&](service_name const& service, endpoint_choice choice = {}) {
        return settled(service, std::move(choice), with(variables), profile).url;
    };
    BOOST_TEST(url(sqs_service) == "");
    profile.endpoint_url = "http://profile";
    BOOST_TEST(url(sqs_service) == "http://profile");
    profile.service_endpoint_url = "http://profile/sqs";
    BOOST_TEST(url(sqs_service) == "http://profile/sqs");
    variables["AWS_ENDPOINT_URL"] = "http://general:1";
    BOOST_TEST(url(sqs_service) == "http://general:1");
    variables["AWS_ENDPOINT_URL_SQS"] = "http://localhost:9324/";
    BOOST_TEST(url(sqs_service) == "http://localhost:9324/");
    BOOST_TEST(url(sts_service) == "http://general:1");
    variables["AWS_ENDPOINT_URL_SSO_OIDC"] = "http://oidc:1";
    BOOST_TEST(url(sso_oidc_service) == "http://oidc:1");
    BOOST_TEST(url(sqs_service, {.url = "http://option:2"}) == "http://option:2");

    variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "True";
    BOOST_TEST(url(sqs_service) == "");
    BOOST_TEST(url(sqs_service, {.url = "http://option:2"}) == "http://option:2");
    BOOST_TEST(url(sqs_service, {.ignore_configured_urls = false}) == "http://localhost:9324/");

    variables.erase("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    profile.ignore_configured_endpoint_urls = "true";
    BOOST_TEST(url(sqs_service) == "");
    variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "false"; // the environment stands above the profile
    BOOST_TEST(url(sqs_service) == "http://localhost:9324/");
}

BOOST_AUTO_TEST_CASE(the_kind_of_host_comes_from_the_program_the_environment_the_profile)
{
    profile_settings const profile{.use_fips_endpoint = "true", .use_dualstack_endpoint = "TRUE"};
    auto const by_profile = settled(sqs_service, {}, with({}), profile);
    BOOST_TEST(by_profile.fips);
    BOOST_TEST(by_profile.dual_stack);
    auto const by_variable = settled(
        sqs_service, {}, with({{"AWS_USE_FIPS_ENDPOINT", "false"}, {"AWS_USE_DUALSTACK_ENDPOINT", "no"}}), profile);
    BOOST_TEST(!by_variable.fips);
    BOOST_TEST(!by_variable.dual_stack);
    auto const by_option =
        settled(sqs_service, {.fips = true, .dual_stack = false}, with({{"AWS_USE_DUALSTACK_ENDPOINT", "true"}}), {});
    BOOST_TEST(by_option.fips);
    BOOST_TEST(!by_option.dual_stack);
}

BOOST_AUTO_TEST_CASE(a_profile_speaks_for_all_services_and_its_services_section_for_one)
{
    char const* const config = "[profile work]\nregion = eu-north-1\nendpoint_url = http://all\nservices = mine\n"
                               "use_fips_endpoint = true\nca_bundle = /etc/ca.pem\n"
                               "[services mine]\nsqs =\n  endpoint_url = http://sqs\n";
    auto const read = parse_shared_config({"config", config}, {"credentials", ""}).value();
    auto const sqs = settings_of(read, "work", sqs_service);
    BOOST_TEST(sqs.region == "eu-north-1");
    BOOST_TEST(sqs.endpoint_url == "http://all");
    BOOST_TEST(sqs.service_endpoint_url == "http://sqs");
    BOOST_TEST(sqs.use_fips_endpoint == "true");
    BOOST_TEST(sqs.ca_bundle == "/etc/ca.pem");
    BOOST_TEST(settings_of(read, "work", sts_service).service_endpoint_url == "");
    BOOST_TEST(settings_of(read, "play", sqs_service).region == "");
}

BOOST_AUTO_TEST_CASE(sts_is_regional_unless_told_otherwise)
{
    auto const global = [](std::map<string, string> variables, string profile) {
        return settled(sts_service, {}, with(std::move(variables)), {.sts_regional_endpoints = std::move(profile)})
            .sts_global;
    };
    BOOST_TEST(!global({}, ""));
    BOOST_TEST(global({}, "legacy"));
    BOOST_TEST(global({{"AWS_STS_REGIONAL_ENDPOINTS", "legacy"}}, ""));
    BOOST_TEST(!global({{"AWS_STS_REGIONAL_ENDPOINTS", "regional"}}, "legacy"));
}

BOOST_AUTO_TEST_SUITE_END()
