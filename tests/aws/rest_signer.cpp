#include <quern/aws/detail/signing/rest_signer.hpp>
#include <quern/aws/detail/signing/verify.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

namespace aws = quern::aws;

namespace {

aws::credentials const known_keys{"AKIDEXAMPLE", "secret", "AQoD//token=="};
quern::wall_time const now = *quern::detail::text::parse_timestamp("20260102T030405Z");

aws::detail::rest_signer at(std::string path)
{
    return aws::detail::rest_signer(
        {"appconfigdata.us-east-1.amazonaws.com", std::move(path), "us-east-1", "appconfig"});
}

/// Checks a request as a service would, and tells for which service it is signed, or why it is refused.
std::string service_of(std::string_view text)
{
    auto const end = text.find("\r\n\r\n");
    auto head = text.substr(0, end + 2);
    auto const line = head.substr(0, head.find("\r\n"));
    aws::detail::request_view request;
    request.body = text.substr(end + 4);
    request.method = line.substr(0, line.find(' '));
    request.target = line.substr(line.find(' ') + 1, line.rfind(' ') - line.find(' ') - 1);
    for (head.remove_prefix(line.size() + 2); !head.empty();) {
        auto const field = head.substr(0, head.find("\r\n"));
        auto const colon = field.find(": ");
        request.headers.push_back({field.substr(0, colon), field.substr(colon + 2)});
        head.remove_prefix(field.size() + 2);
    }
    aws::detail::verifier check([](std::string_view) { return known_keys; });
    auto const who = check.check(request, now);
    return who ? who->service : who.error().service_code;
}

} // namespace

BOOST_AUTO_TEST_SUITE(rest_signer)

BOOST_AUTO_TEST_CASE(signs_a_get_with_its_query_and_without_a_body)
{
    auto const text = at("/").request("GET /configuration?configuration_token=a%2Bb%3D", "", known_keys, now);
    BOOST_TEST(text.starts_with("GET /configuration?configuration_token=a%2Bb%3D HTTP/1.1\r\n"));
    BOOST_TEST(text.find("content-length") == std::string::npos);
    BOOST_TEST(text.find("content-type") == std::string::npos);
    BOOST_TEST(text.ends_with("\r\n\r\n"));
    BOOST_TEST(service_of(text) == "appconfig");
}

BOOST_AUTO_TEST_CASE(signs_the_body_of_a_post)
{
    auto text = at("/").request("POST /configurationsessions", "{\"a\":1}", known_keys, now);
    BOOST_TEST(text.find("content-length: 7\r\n") != std::string::npos);
    BOOST_TEST(service_of(text) == "appconfig");
    text.back() = ']';
    BOOST_TEST(service_of(text) == "SignatureDoesNotMatch");
}

BOOST_AUTO_TEST_CASE(the_path_of_the_endpoint_comes_first)
{
    for (auto const* const path : {"/behind/a%20proxy", "/behind/a%20proxy/"}) {
        auto const text = at(path).request("POST /configurationsessions", "{}", known_keys, now);
        BOOST_TEST(text.starts_with("POST /behind/a%20proxy/configurationsessions HTTP/1.1\r\n"));
        BOOST_TEST(service_of(text) == "appconfig");
    }
}

BOOST_AUTO_TEST_SUITE_END()
