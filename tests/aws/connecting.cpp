#include <quern/aws/config/detail/connecting.hpp>

#include "support/variables.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

using namespace quern;
using namespace quern::aws;
using namespace quern::aws::detail;
using quern::test::with;
using std::string;

namespace {

net::endpoint const there = net::parse_endpoint("https://sqs.eu-west-1.amazonaws.com").value();

} // namespace

BOOST_AUTO_TEST_SUITE(connecting)

BOOST_AUTO_TEST_CASE(authorities_come_from_the_program_the_environment_the_profile)
{
    auto const trusted = [](string option, std::map<string, string> variables, string in_profile) {
        net::client_options options;
        options.ca_bundle = std::move(option);
        return completed(options, there, with(std::move(variables)), {.ca_bundle = std::move(in_profile)}).ca_bundle;
    };
    BOOST_TEST(trusted("a", {{"AWS_CA_BUNDLE", "b"}}, "c") == "a");
    BOOST_TEST(trusted("", {{"AWS_CA_BUNDLE", "b"}}, "c") == "b");
    BOOST_TEST(trusted("", {}, "c") == "c");
    BOOST_TEST(trusted("", {}, "") == "");
}

BOOST_AUTO_TEST_CASE(the_environment_s_proxy_is_used_where_the_program_is_silent)
{
    environment const variables = with({{"HTTPS_PROXY", "http://a"}});
    net::client_options options;
    BOOST_TEST(completed(options, there, variables).proxy.value() == "http://a");
    BOOST_TEST(completed(options, net::parse_endpoint("https://localhost").value(), variables).proxy.value() == "");
    options.proxy = "http://b";
    BOOST_TEST(completed(options, there, variables).proxy.value() == "http://b");
    options.proxy = "";
    BOOST_TEST(completed(options, there, variables).proxy.value() == "");
}

BOOST_AUTO_TEST_CASE(attempts_come_from_the_program_the_environment_the_profile)
{
    auto const attempts = [](std::optional<int> option, std::map<string, string> variables, string in_profile) {
        retry_options options;
        options.max_attempts = option;
        auto const found =
            completed(options, with(std::move(variables)), {.max_attempts = std::move(in_profile)}).value();
        return found.max_attempts.value_or(0);
    };
    BOOST_TEST(attempts(1, {{"AWS_MAX_ATTEMPTS", "2"}}, "4") == 1);
    BOOST_TEST(attempts({}, {{"AWS_MAX_ATTEMPTS", "2"}}, "4") == 2);
    BOOST_TEST(attempts({}, {}, "4") == 4);
    BOOST_TEST(attempts({}, {}, "") == 0);
    for (string const bad : {"0", "-1", "three", "3 ", "99999999999"}) {
        auto const refused = completed(retry_options(), with({{"AWS_MAX_ATTEMPTS", bad}}));
        BOOST_REQUIRE_MESSAGE(!refused, bad);
        BOOST_TEST(refused.error().message.find("AWS_MAX_ATTEMPTS") == 0u);
    }
    BOOST_TEST(
        completed(retry_options(), with({}), {.max_attempts = "x"}).error().message.find("profile") != string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
