#include <quern/aws/config/detail/partitions.hpp>
#include <quern/aws/config/region.hpp>
#include <quern/net/endpoint.hpp>

#include "support/variables.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

using namespace quern::aws;
using namespace quern::aws::detail;
using quern::test::with;
using std::string;

namespace {

string origin(endpoint_choice choice, std::map<string, string> variables = {}, profile_settings const& profile = {})
{
    auto const found = locate(sqs_service, std::move(choice), with(std::move(variables)), profile);
    return found ? quern::net::parse_endpoint(found->url).value().origin() : found.error().message;
}

} // namespace

BOOST_AUTO_TEST_SUITE(queue_home_)

BOOST_AUTO_TEST_CASE(a_region_has_its_own_host)
{
    BOOST_TEST(origin({.region = "eu-west-1"}) == "https://sqs.eu-west-1.amazonaws.com");
    BOOST_TEST(origin({.region = "eu-west-1", .fips = true}) == "https://sqs-fips.eu-west-1.amazonaws.com");
    BOOST_TEST(origin({.region = "eu-west-1", .dual_stack = true}) == "https://sqs.eu-west-1.api.aws");
    BOOST_TEST(origin({}, {{"AWS_REGION", "eu-west-1"}, {"AWS_ENDPOINT_URL_SQS", "http://localhost:9324/"}}) ==
        "http://localhost:9324");
}

BOOST_AUTO_TEST_CASE(the_url_of_a_queue_tells_where_it_lives)
{
    auto const home = [](string url) {
        auto const found = home_of(url);
        return found.region + (found.fips ? "+fips" : "") + (found.dual_stack ? "+ipv6" : "") + '|' + found.origin;
    };
    BOOST_TEST(home("https://sqs.eu-west-1.amazonaws.com/123456789012/q") == "eu-west-1|");
    BOOST_TEST(home("https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q") == "cn-north-1|");
    BOOST_TEST(home("https://sqs-fips.us-east-1.amazonaws.com/123456789012/q") == "us-east-1+fips|");
    BOOST_TEST(home("https://sqs.eu-west-1.api.aws/123456789012/q") == "eu-west-1+ipv6|");
    BOOST_TEST(home("https://eu-west-1.queue.amazonaws.com/123456789012/q") == "eu-west-1|");
    BOOST_TEST(home("https://queue.amazonaws.com/123456789012/q") == "us-east-1|");
    BOOST_TEST(home("https://vpce-0f-1e.sqs.eu-west-1.vpce.amazonaws.com/123456789012/q") ==
        "eu-west-1|https://vpce-0f-1e.sqs.eu-west-1.vpce.amazonaws.com");
    BOOST_TEST(home("http://localhost:9324/000000000000/q") == "|http://localhost:9324");
    BOOST_TEST(home("https://sqs.eu-west-1.amazonaws.com.evil.example/1/q") ==
        "|https://sqs.eu-west-1.amazonaws.com.evil.example");
    BOOST_TEST(home("https://evil.queue.amazonaws.com/1/q") == "|https://evil.queue.amazonaws.com");
    BOOST_TEST(home("orders") == "|");
    BOOST_TEST(home("") == "|");
}

BOOST_AUTO_TEST_CASE(a_queue_s_region_wins_over_the_environment_s_and_its_origin_loses)
{
    string const at_amazon = "https://sqs.eu-west-1.amazonaws.com/123456789012/q";
    string const at_home = "http://localhost:9324/000000000000/q";
    std::map<string, string> const abroad{{"AWS_REGION", "us-east-1"}};
    BOOST_TEST(origin({.queue_url = at_amazon}, abroad) == "https://sqs.eu-west-1.amazonaws.com");
    BOOST_TEST(
        origin({.region = "ap-south-1", .queue_url = at_amazon}, abroad) == "https://sqs.ap-south-1.amazonaws.com");
    BOOST_TEST(origin({.queue_url = at_home}, abroad) == "http://localhost:9324");
    BOOST_TEST(origin({.url = "http://given:1", .queue_url = at_home}, abroad) == "http://given:1");

    std::map<string, string> const emulated{
        {"AWS_REGION", "us-east-1"}, {"AWS_ENDPOINT_URL", "http://emulator:4566"}};
    BOOST_TEST(origin({.queue_url = at_amazon}, emulated) == "http://emulator:4566");
    BOOST_TEST(origin({.queue_url = at_home}, emulated) == "http://emulator:4566");
}

// Requests for a queue that was named by its FIPS host went to the plain one.
BOOST_AUTO_TEST_CASE(a_queue_s_kind_of_host_is_kept_unless_the_program_wants_another)
{
    string const validated = "https://sqs-fips.us-east-1.amazonaws.com/123456789012/q";
    BOOST_TEST(origin({.queue_url = validated}) == "https://sqs-fips.us-east-1.amazonaws.com");
    BOOST_TEST(origin({.fips = false, .queue_url = validated}) == "https://sqs.us-east-1.amazonaws.com");
    BOOST_TEST(origin({.queue_url = validated}, {{"AWS_USE_DUALSTACK_ENDPOINT", "true"}}) ==
        "https://sqs-fips.us-east-1.api.aws");
    BOOST_TEST(
        origin({.queue_url = validated}, {{"AWS_ENDPOINT_URL", "http://emulator:4566"}}) == "http://emulator:4566");
    BOOST_TEST(
        origin({.queue_url = "https://sqs.eu-west-1.api.aws/123456789012/q"}) == "https://sqs.eu-west-1.api.aws");
}

BOOST_AUTO_TEST_CASE(the_profile_speaks_last_but_before_a_queue_s_origin)
{
    profile_settings profile;
    profile.region = "eu-north-1";
    BOOST_TEST(origin({}, {}, profile) == "https://sqs.eu-north-1.amazonaws.com");
    profile.endpoint_url = "http://profile:1";
    BOOST_TEST(origin({.queue_url = "http://localhost:9324/000000000000/q"}, {}, profile) == "http://profile:1");
}

BOOST_AUTO_TEST_CASE(what_is_no_region_is_refused)
{
    for (string const bad : {"eu west", "EU-WEST-1", "-x", "x-", "a.b", "evil.example/", "a@b", "\xC3\xA9"}) {
        BOOST_TEST(!locate(sqs_service, {.region = bad}, with({})), bad);
    }
    BOOST_TEST(!locate(sqs_service, {.region = string(64, 'r')}, with({})));
}

BOOST_AUTO_TEST_SUITE_END()
