#include "surrounded.hpp"

#include <quern/aws/credentials/instance_metadata.hpp>

#include <boost/test/unit_test.hpp>

namespace aws = quern::aws;
using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;
using quern::test::surrounded;
using std::string;

namespace {

struct instance : surrounded {
    result<aws::credentials> ask() { return run(aws::instance_credentials(around, service, 1)); }

    void add_credentials(string until)
    {
        web.add(200, "the-token");
        web.add(200, "my-role\n");
        web.add(200,
            R"({"Code":"Success","AccessKeyId":"A","SecretAccessKey":"s","Token":"t","Expiration":")" + until +
                "\"}");
    }

    string error_of_settings()
    {
        auto const found = aws::find_instance_service([this](char const* name) { return variable(name); }, nullptr);
        return found ? "accepted" : found.error().message;
    }

    aws::instance_service service{"http://169.254.169.254"};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(instance_metadata, instance)

BOOST_AUTO_TEST_CASE(asks_for_a_token_then_the_role_then_its_credentials)
{
    add_credentials("2026-01-02T09:04:05Z");
    auto const found = ask();
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(*found == (aws::credentials{"A", "s", "t", text::parse_rfc3339("2026-01-02T09:04:05Z"), ""}));
    BOOST_REQUIRE(web.asked.size() == 3u);
    BOOST_TEST(web.asked[0].method == "PUT");
    BOOST_TEST(web.asked[0].url == "http://169.254.169.254/latest/api/token");
    BOOST_TEST(web.header(0, "x-aws-ec2-metadata-token-ttl-seconds") == "21600");
    BOOST_TEST(web.asked[1].url == "http://169.254.169.254/latest/meta-data/iam/security-credentials/");
    BOOST_TEST(web.asked[2].url == "http://169.254.169.254/latest/meta-data/iam/security-credentials/my-role");
    for (auto const i : {1u, 2u}) {
        BOOST_TEST(web.asked[i].method == "GET");
        BOOST_TEST(web.header(i, "x-aws-ec2-metadata-token") == "the-token");
        BOOST_TEST(web.header(i, "x-aws-ec2-metadata-token-ttl-seconds") == "none");
    }
    for (auto const& request : web.asked) {
        BOOST_TEST(request.is_next_door);
        BOOST_TEST(request.timeout == 1s);
    }
}

BOOST_AUTO_TEST_CASE(expired_ones_count_as_good_for_a_while)
{
    add_credentials("2026-01-02T02:00:00Z");
    auto const found = ask();
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(*found->expires_at == time.wall() + 15min);
}

// In their last seconds nobody would use them, and the service has no others.
BOOST_AUTO_TEST_CASE(so_do_those_that_are_about_to_expire)
{
    add_credentials("2026-01-02T03:04:10Z"); // in five seconds
    auto const found = ask();
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(*found->expires_at == time.wall() + 15min);
}

BOOST_AUTO_TEST_CASE(where_nobody_answers_that_is_said_and_may_be_elsewhere)
{
    web.answers.emplace_back(failure(errc::connect_failed, "no route", true));
    auto const found = ask();
    BOOST_TEST(found.error().code == errc::no_credentials);
    BOOST_TEST(found.error().message == "nobody answers at http://169.254.169.254 (cannot connect)");
    BOOST_TEST(web.asked.size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_instance_without_a_role_is_told_apart)
{
    web.add(200, "the-token");
    web.add(404, "<html/>");
    BOOST_TEST(ask().error().message.starts_with("http://169.254.169.254: no role is attached"));
}

BOOST_AUTO_TEST_CASE(an_older_way_without_a_token_is_not_tried)
{
    web.add(403, "");
    BOOST_TEST(ask().error().http_status == 403);
    BOOST_TEST(web.asked.size() == 1u);
    web.add(200, "");
    BOOST_TEST(ask().error().message.ends_with("the token is empty"));
}

BOOST_AUTO_TEST_CASE(the_settings_come_from_the_environment_then_the_profile)
{
    aws::section profile;
    profile.values = {{"metadata_service_timeout", "5"}, {"metadata_service_num_attempts", "2"},
        {"ec2_metadata_service_endpoint", "http://p/"}};
    auto const find = [&] {
        return aws::find_instance_service([this](char const* name) { return variable(name); }, &profile)->value();
    };
    BOOST_TEST(find().url == "http://p");
    BOOST_TEST(find().timeout == 5s);
    BOOST_TEST(find().attempts == 2);
    variables["AWS_METADATA_SERVICE_TIMEOUT"] = "7";
    BOOST_TEST(find().timeout == 7s);
    variables["AWS_EC2_METADATA_DISABLED"] = "True";
    BOOST_TEST(
        !aws::find_instance_service([this](char const* name) { return variable(name); }, &profile)->has_value());
}

BOOST_AUTO_TEST_CASE(a_setting_that_means_nothing_is_refused_by_name)
{
    for (auto const* const bad : {"0", "x", "1.5", "61", "-1", "1 "}) {
        variables["AWS_METADATA_SERVICE_TIMEOUT"] = bad;
        BOOST_TEST(error_of_settings() == "AWS_METADATA_SERVICE_TIMEOUT must be a whole number from 1 to 60");
    }
    variables["AWS_METADATA_SERVICE_TIMEOUT"] = "";
    variables["AWS_METADATA_SERVICE_NUM_ATTEMPTS"] = "11";
    BOOST_TEST(error_of_settings().starts_with("AWS_METADATA_SERVICE_NUM_ATTEMPTS must"));
    variables["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"] = "IPv5";
    BOOST_TEST(error_of_settings().find("\"IPv5\" is neither") != string::npos);
    variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "not a uri";
    BOOST_TEST(error_of_settings().starts_with("ec2_metadata_service_endpoint"));
}

BOOST_AUTO_TEST_SUITE_END()
