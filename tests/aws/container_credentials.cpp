#include "surrounded.hpp"

#include <quern/aws/credentials/detail/container_credentials.hpp>

#include <boost/test/unit_test.hpp>

namespace aws = quern::aws;
using namespace quern;
using namespace quern::aws::detail;
using quern::test::surrounded;
using std::string;

namespace {

struct container : surrounded {
    container()
    {
        variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
        web.add(200, R"({"AccessKeyId":"A","SecretAccessKey":"s","Token":"t","Expiration":"2026-01-02T09:04:05Z"})");
    }

    result<aws::credentials> ask() { return run(aws::detail::container_credentials(around, url)); }

    string url = "http://169.254.170.23/v1/credentials";
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(container_credentials, container)

BOOST_AUTO_TEST_CASE(the_relative_uri_wins_and_nothing_is_set_is_no_error)
{
    auto const here = [this](char const* name) { return variable(name); };
    BOOST_TEST(container_url(here)->value() == url);
    variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/x";
    BOOST_TEST(container_url(here)->value() == "http://169.254.170.2/v2/x");
    variables.clear();
    BOOST_TEST(!container_url(here)->has_value());
}

BOOST_AUTO_TEST_CASE(a_token_goes_in_the_clear_only_next_door)
{
    auto const accepted = [this](string uri) {
        variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = uri;
        return container_url([this](char const* name) { return variable(name); }).has_value();
    };
    for (auto const* const good :
        {"http://localhost:8080/x", "http://127.0.0.9/", "http://[::1]/", "https://any.example/x",
            "http://169.254.170.2", "http://[fd00:ec2::23]/v1", "http://[FD00:EC2:0::23]/v1"}) {
        BOOST_TEST(accepted(good), good);
    }
    for (auto const* const bad : {"http://any.example/x", "http://169.254.169.254/x", "http://10.0.0.1/",
             "http://localhost.example/", "http://localhost@any.example/", "ftp://localhost/", "/v1"}) {
        BOOST_TEST(!accepted(bad), bad);
    }
    variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "@any.example/";
    BOOST_TEST(!accepted("https://any.example/"));
}

// It was printed whole: its path is a secret of one task among others.
BOOST_AUTO_TEST_CASE(a_uri_that_is_none_is_not_shown)
{
    for (string const uri : {"https://user:hidden@any.example/hidden?hidden", "http://any.example/hidden",
             "ftp://any.example/hidden", "http://localhost:0/hidden", "http://localhost/hid den"}) {
        variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = uri;
        auto const found = container_url([this](char const* name) { return variable(name); });
        BOOST_REQUIRE(found.has_error());
        BOOST_TEST(found.error().message.find("hid") == string::npos, found.error().message);
        BOOST_TEST(found.error().message.starts_with("AWS_CONTAINER_CREDENTIALS_FULL_URI"));
    }
}

BOOST_AUTO_TEST_CASE(the_token_of_the_file_wins_and_is_read_each_time)
{
    variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "of the variable";
    BOOST_TEST(ask()->access_key_id == "A");
    BOOST_TEST(web.header(0, "authorization") == "of the variable");
    BOOST_TEST(web.asked[0].is_next_door);

    variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/token";
    for (string const token : {"one", "two\n"}) {
        files.text["/token"] = token;
        (void)ask();
        BOOST_TEST(web.header(web.asked.size() - 1, "authorization") == token.substr(0, 3));
    }
}

BOOST_AUTO_TEST_CASE(a_token_that_is_absent_or_would_break_the_line_is_not_sent)
{
    variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/token";
    BOOST_TEST(ask().error().message.starts_with("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: /token cannot be read: "));
    files.text["/token"] = "hidden\r\nx: y";
    BOOST_TEST(ask().error().message == "the authorization token for http://169.254.170.23 contains a line break");
    BOOST_TEST(web.asked.empty());
}

BOOST_AUTO_TEST_CASE(without_a_token_none_is_sent)
{
    (void)ask();
    BOOST_TEST(web.header(0, "authorization") == "none");
    BOOST_TEST(web.header(0, "accept") == "application/json");
}

BOOST_AUTO_TEST_CASE(an_answer_without_credentials_is_an_error)
{
    web.answers.clear();
    web.add(200, "{\"Code\":\"Denied\",\"Message\":\"no\"}");
    BOOST_TEST(ask().error().message == "http://169.254.170.23: Denied no");
    web.add(403, "no");
    BOOST_TEST(ask().error().http_status == 403);
}

BOOST_AUTO_TEST_SUITE_END()
