#include <quern/aws/config/detail/partitions.hpp>
#include <quern/aws/config/endpoint_rules.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::aws;
using namespace quern::aws::detail;
using std::string;

namespace {

string url(service_name const& service, endpoint_parameters const& asked)
{
    auto const found = endpoint_for(service, asked);
    return found ? found->url : found.error().message;
}

} // namespace

BOOST_AUTO_TEST_SUITE(endpoint_rules)

BOOST_AUTO_TEST_CASE(a_region_lies_in_one_partition)
{
    BOOST_TEST(partition_of("eu-west-1").name == "aws");
    BOOST_TEST(partition_of("us-gov-west-1").name == "aws-us-gov");
    BOOST_TEST(partition_of("cn-north-1").name == "aws-cn");
    BOOST_TEST(partition_of("eusc-de-east-1").name == "aws-eusc");
    BOOST_TEST(partition_of("us-iso-east-1").name == "aws-iso");
    BOOST_TEST(partition_of("us-isob-east-1").name == "aws-iso-b");
    BOOST_TEST(partition_of("eu-isoe-west-1").name == "aws-iso-e");
    BOOST_TEST(partition_of("us-isof-south-1").name == "aws-iso-f");
    BOOST_TEST(partition_of("aws-cn-global").name == "aws-cn");
    BOOST_TEST(partition_of("aws-iso-b-global").name == "aws-iso-b");
    for (auto const* const unheard_of :
        {"", "nowhere-new-1", "cn-", "cn-north", "cn-1", "us-gov-west-x", "x-cn-north-1"})
        BOOST_TEST(partition_of(unheard_of).name == "aws", unheard_of);
}

// Anybody can have a bucket or a machine in Amazon's domains.
BOOST_AUTO_TEST_CASE(a_host_is_amazon_s_when_it_has_the_name_of_an_endpoint_of_sqs)
{
    for (auto const* const ours : {"sqs.eu-west-1.amazonaws.com", "sqs.cn-north-1.amazonaws.com.cn",
             "sqs-fips.us-gov-west-1.amazonaws.com", "queue.amazonaws.com", "us-west-2.queue.amazonaws.com",
             "cn-north-1.queue.amazonaws.com.cn", "sqs.us-east-1.api.aws", "sqs-fips.us-east-1.api.aws",
             "sqs.eusc-de-east-1.amazonaws.eu", "vpce-0f-1e.sqs.eu-west-1.vpce.amazonaws.com",
             "vpce-0f-1e-eu-west-1a.sqs-fips.eu-west-1.vpce.amazonaws.com"})
        BOOST_TEST(is_amazons(ours), ours);
    for (auto const* const not_ours :
        {"localhost", "amazonaws.com", "sqs.eu-west-1.amazonaws.com.evil.example", "myamazonaws.com", "127.0.0.1", "",
            "sqs.amazonaws.com", ".amazonaws.com", "sqs..amazonaws.com", "evil.s3.eu-west-1.amazonaws.com",
            "ec2-1-2-3-4.eu-west-1.compute.amazonaws.com", "evil.queue.amazonaws.com", "queue.evil.amazonaws.com",
            "sqs.eu-west-1.evil.amazonaws.com", "evil.sqs.eu-west-1.vpce.amazonaws.com",
            "vpce-0f.sqs.eu-west-1.amazonaws.com", "vpce-0f.s3.eu-west-1.vpce.amazonaws.com", "queue.api.aws",
            "vpce-0f.sqs.eu-west-1.evil.vpce.amazonaws.com", "sqs.eu-west-1.amazonaws.com."})
        BOOST_TEST(!is_amazons(not_ours), not_ours);
}

// Of whatever is asked, an endpoint or an error comes back.
BOOST_AUTO_TEST_CASE(no_region_and_no_url_throws)
{
    std::string const long_name(300, 'a');
    for (std::string const region :
        {"", " ", "-", ".", "-global", "aws-global", "cn-", "us-gov-", "a..b", "\xff", "%00", long_name.c_str()}) {
        for (std::string const url : {"", "x", "http://", "https://[", "https://host:99999"}) {
            for (auto const& service : {sqs_service, sts_service, sso_service, sso_oidc_service}) {
                for (bool const extra : {false, true}) {
                    endpoint_parameters const asked{
                        .region = region, .url = url, .fips = extra, .dual_stack = extra, .sts_global = extra};
                    BOOST_CHECK_NO_THROW((void)endpoint_for(service, asked));
                }
            }
        }
    }
    BOOST_TEST(endpoint_for(sqs_service, {}).error().message.find("AWS_REGION") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_host_names_service_region_and_partition)
{
    BOOST_TEST(url(sqs_service, {.region = "eusc-de-east-1"}) == "https://sqs.eusc-de-east-1.amazonaws.eu");
    BOOST_TEST(url(sqs_service, {.region = "nowhere-new-1"}) == "https://sqs.nowhere-new-1.amazonaws.com");
    BOOST_TEST(url(sso_service, {.region = "eu-west-1"}) == "https://portal.sso.eu-west-1.amazonaws.com");
    BOOST_TEST(
        url(sso_oidc_service, {.region = "eu-west-1", .fips = true}) == "https://oidc-fips.eu-west-1.amazonaws.com");
    BOOST_TEST(
        url(sts_service, {.region = "us-gov-west-1", .fips = true}) == "https://sts.us-gov-west-1.amazonaws.com");
    BOOST_TEST(url(sts_service, {.region = "us-gov-west-1", .fips = true, .dual_stack = true}) ==
        "https://sts-fips.us-gov-west-1.api.aws");
}

BOOST_AUTO_TEST_CASE(the_global_sts_signs_for_the_region_it_is_in)
{
    auto const legacy = endpoint_for(sts_service, {.region = "eu-west-1", .sts_global = true}).value();
    BOOST_TEST(legacy.url == "https://sts.amazonaws.com");
    BOOST_TEST(legacy.signing_region == "us-east-1");
    BOOST_TEST(endpoint_for(sts_service, {.region = "aws-global"}).value().signing_region == "us-east-1");
    // Regions that opened later never were behind it, and neither are other services or kinds of hosts.
    BOOST_TEST(
        url(sts_service, {.region = "af-south-1", .sts_global = true}) == "https://sts.af-south-1.amazonaws.com");
    BOOST_TEST(
        url(sqs_service, {.region = "eu-west-1", .sts_global = true}) == "https://sqs.eu-west-1.amazonaws.com");
    BOOST_TEST(url(sts_service, {.region = "eu-west-1", .fips = true, .sts_global = true}) ==
        "https://sts-fips.eu-west-1.amazonaws.com");
}

BOOST_AUTO_TEST_CASE(what_contradicts_itself_is_refused_by_name)
{
    auto const fips = url(sqs_service, {.region = "eu-west-1", .url = "http://x", .fips = true});
    BOOST_TEST(fips.find("AWS_USE_FIPS_ENDPOINT") != string::npos);
    auto const dual = url(sqs_service, {.region = "eu-west-1", .url = "http://x", .dual_stack = true});
    BOOST_TEST(dual.find("AWS_USE_DUALSTACK_ENDPOINT") != string::npos);
    BOOST_TEST(url(sqs_service, {}).find("AWS_REGION") != string::npos);
    BOOST_TEST(!endpoint_for(sqs_service, {.region = "evil.example/"}));
}

BOOST_AUTO_TEST_SUITE_END()
