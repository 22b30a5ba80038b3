#include <quern/sqs/endpoint.hpp>

#include <support/conformance.hpp>

#include <boost/test/unit_test.hpp>

#include <map>

using namespace quern::sqs;
using std::string;

namespace {

quern::aws::environment with(std::map<string, string> variables)
{
    return [variables](char const* name) {
        auto const at = variables.find(name);
        return at == variables.end() ? string() : at->second;
    };
}

string origin(endpoint_choice choice, std::map<string, string> variables = {})
{
    auto const found = resolve(std::move(choice), with(std::move(variables)));
    return found ? found->at.origin() : found.error().message;
}

} // namespace

BOOST_AUTO_TEST_SUITE(endpoint)

BOOST_AUTO_TEST_CASE(a_region_has_its_own_host_in_its_own_partition)
{
    BOOST_TEST(origin({.region = "eu-west-1"}) == "https://sqs.eu-west-1.amazonaws.com");
    BOOST_TEST(origin({.region = "cn-north-1"}) == "https://sqs.cn-north-1.amazonaws.com.cn");
    BOOST_TEST(origin({.region = "us-gov-west-1"}) == "https://sqs.us-gov-west-1.amazonaws.com");
    BOOST_TEST(origin({.region = "eusc-de-east-1"}) == "https://sqs.eusc-de-east-1.amazonaws.eu");
    BOOST_TEST(origin({.region = "us-iso-east-1"}) == "https://sqs.us-iso-east-1.c2s.ic.gov");
    BOOST_TEST(origin({.region = "us-isob-east-1"}) == "https://sqs.us-isob-east-1.sc2s.sgov.gov");
    BOOST_TEST(origin({.region = "eu-isoe-west-1"}) == "https://sqs.eu-isoe-west-1.cloud.adc-e.uk");
    BOOST_TEST(origin({.region = "us-isof-south-1"}) == "https://sqs.us-isof-south-1.csp.hci.ic.gov");
    BOOST_TEST(origin({.region = "nowhere-new-1"}) == "https://sqs.nowhere-new-1.amazonaws.com");
}

BOOST_AUTO_TEST_CASE(the_option_wins_over_the_variable_for_sqs_and_that_over_the_general_one)
{
    std::map<string, string> variables{{"AWS_REGION", "eu-west-1"}};
    BOOST_TEST(origin({}, variables) == "https://sqs.eu-west-1.amazonaws.com");
    variables["AWS_ENDPOINT_URL"] = "http://general:1";
    BOOST_TEST(origin({}, variables) == "http://general:1");
    variables["AWS_ENDPOINT_URL_SQS"] = "http://localhost:9324/";
    BOOST_TEST(origin({}, variables) == "http://localhost:9324");
    BOOST_TEST(origin({.url = "http://option:2"}, variables) == "http://option:2");

    variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "True";
    BOOST_TEST(origin({}, variables) == "https://sqs.eu-west-1.amazonaws.com");
    BOOST_TEST(origin({.url = "http://option:2"}, variables) == "http://option:2");
}

BOOST_AUTO_TEST_CASE(the_region_comes_from_the_option_then_from_two_variables)
{
    auto const region = [](endpoint_choice choice, std::map<string, string> variables) {
        return resolve(std::move(choice), with(std::move(variables)))->region;
    };
    BOOST_TEST(region({.region = "a"}, {{"AWS_REGION", "b"}, {"AWS_DEFAULT_REGION", "c"}}) == "a");
    BOOST_TEST(region({}, {{"AWS_REGION", "b"}, {"AWS_DEFAULT_REGION", "c"}}) == "b");
    BOOST_TEST(region({}, {{"AWS_DEFAULT_REGION", "c"}}) == "c");
}

BOOST_AUTO_TEST_CASE(without_a_region_the_error_says_how_to_set_one)
{
    auto const found = resolve({.url = "http://localhost:9324"}, with({}));
    BOOST_REQUIRE(!found);
    BOOST_TEST(found.error().code == make_error_code(quern::errc::invalid_option));
    BOOST_TEST(found.error().message.find("AWS_REGION") != string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_no_region_or_no_url_is_refused)
{
    for (string const bad : {"eu west", "EU-WEST-1", "-x", "x-", "a.b", "evil.example/", "a@b", "\xC3\xA9"}) {
        BOOST_TEST(!resolve({.region = bad}, with({})), bad);
    }
    BOOST_TEST(!resolve({.region = string(64, 'r')}, with({})));
    BOOST_TEST(!resolve({.region = "eu-west-1", .url = "localhost:9324"}, with({})));
}

BOOST_AUTO_TEST_CASE(the_endpoint_rules_of_the_service_hold)
{
    auto const file = quern::test::conformance_json("04-endpoints/sqs-endpoint-tests.json");
    if (!file) return;
    for (auto const& each : file->at("testCases").as_array()) {
        auto const& params = each.at("params").as_object();
        auto const text = [&](char const* name) {
            return params.contains(name) ? string(params.at(name).as_string()) : string();
        };
        endpoint_choice const choice{.region = text("Region"),
            .url = text("Endpoint"),
            .fips = params.at("UseFIPS").as_bool(),
            .dual_stack = params.at("UseDualStack").as_bool()};
        auto const found = resolve(choice, with({}));
        auto const& expected = each.at("expect").as_object();
        BOOST_TEST_CONTEXT(each.at("documentation").as_string())
        {
            BOOST_TEST(found.has_value() == expected.contains("endpoint"));
            if (found) BOOST_TEST(found->at.origin() == expected.at("endpoint").at("url").as_string());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
