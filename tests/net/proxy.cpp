#include <quern/net/detail/proxy.hpp>

#include "support/variables.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

using namespace quern::net;
using namespace quern::net::detail;
using std::string;

namespace {

string found(string const& url, std::map<string, string> variables)
{
    return proxy_for(parse_endpoint(url).value(), quern::test::with(std::move(variables)));
}

bool listed(string const& no_proxy, string const& url)
{
    return is_listed(no_proxy, parse_endpoint(url).value());
}

} // namespace

BOOST_AUTO_TEST_SUITE(proxies)

BOOST_AUTO_TEST_CASE(a_proxy_is_named_by_its_url)
{
    auto const plain = parse_proxy("http://cache.example:3128").value();
    BOOST_TEST(plain.at.host == "cache.example");
    BOOST_TEST(plain.at.port == 3128);
    BOOST_TEST(plain.authorization == "");
    BOOST_TEST(plain.name() == "proxy cache.example:3128");
    BOOST_TEST(parse_proxy("cache.example:3128").value().at.port == 3128);
    BOOST_TEST(parse_proxy("HTTP://cache.example/").value().at.port == 80);
    BOOST_TEST(parse_proxy("http://[fd00::1]:3128").value().at.host == "fd00::1");
}

BOOST_AUTO_TEST_CASE(user_and_password_are_percent_encoded_in_it)
{
    // RFC 7617, 2: Aladdin, "open sesame".
    BOOST_TEST(parse_proxy("http://Aladdin:open%20sesame@cache:3128").value().authorization ==
        "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    BOOST_TEST(parse_proxy("http://u%40corp:p%3A%2F%40@cache").value().authorization == "Basic dUBjb3JwOnA6L0A=");
    BOOST_TEST(parse_proxy("http://user@cache").value().authorization == "Basic dXNlcjo=");
    BOOST_TEST(parse_proxy("http://u:a@b%2@cache").value().authorization == "Basic dTphQGIlMg==");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_a_proxy_is_refused_without_its_password)
{
    for (string const bad :
        {"https://user:secret@cache:3128", "socks5://user:secret@cache:1080", "http://user:secret@cache/path",
            "http://user:secret/secret@cache", "http://user:secret@", "http://user:secret@cache:0", "http://", ""}) {
        auto const refused = parse_proxy(bad);
        BOOST_REQUIRE_MESSAGE(!refused, bad);
        BOOST_TEST(refused.error().code == make_error_code(quern::errc::invalid_option));
        BOOST_TEST(refused.error().message.find("secret") == string::npos, refused.error().message);
        BOOST_TEST(refused.error().message.find("proxy") == 0u, refused.error().message);
    }
    BOOST_TEST(parse_proxy("socks5://cache:1080").error().message.find("socks5") != string::npos);
}

BOOST_AUTO_TEST_CASE(the_environment_names_one_a_scheme_the_lower_case_first)
{
    std::map<string, string> const both{{"HTTPS_PROXY", "http://a"}, {"HTTP_PROXY", "http://b"}};
    BOOST_TEST(found("https://sqs.example", both) == "http://a");
    BOOST_TEST(found("http://sqs.example", both) == "http://b");
    BOOST_TEST(
        found("https://sqs.example", {{"HTTPS_PROXY", "http://a"}, {"https_proxy", "http://c"}}) == "http://c");
    BOOST_TEST(found("https://sqs.example", {{"HTTP_PROXY", "http://b"}}) == "");
    BOOST_TEST(found("https://sqs.example", {}) == "");
}

// CVE-2016-5385: a client's "Proxy: http://evil" header arrives in a CGI program as HTTP_PROXY.
BOOST_AUTO_TEST_CASE(in_a_cgi_program_the_upper_case_name_is_a_stranger_s)
{
    std::map<string, string> cgi{{"REQUEST_METHOD", "GET"}, {"HTTP_PROXY", "http://evil"}};
    BOOST_TEST(found("http://sqs.example", cgi) == "");
    cgi["http_proxy"] = "http://meant";
    BOOST_TEST(found("http://sqs.example", cgi) == "http://meant");
}

BOOST_AUTO_TEST_CASE(nothing_goes_through_a_proxy_to_this_machine_or_to_what_is_listed)
{
    std::map<string, string> variables{{"HTTPS_PROXY", "http://a"}, {"HTTP_PROXY", "http://a"}};
    for (string const here : {"http://localhost:9324", "http://LocalHost", "http://127.0.0.1:9324",
             "https://127.8.9.1", "http://[::1]:9324", "http://broker.localhost"})
        BOOST_TEST(found(here, variables) == "", here);
    variables["NO_PROXY"] = "example.com";
    BOOST_TEST(found("https://sqs.example.com", variables) == "");
    variables["no_proxy"] = "other.com";
    BOOST_TEST(found("https://sqs.example.com", variables) == "http://a");
}

BOOST_AUTO_TEST_CASE(a_list_names_hosts_and_all_below_them)
{
    BOOST_TEST(listed("*", "https://sqs.example"));
    BOOST_TEST(listed("a.com, example.com ,b.com", "https://example.com"));
    BOOST_TEST(listed("a.com b.com", "https://x.b.com"));
    BOOST_TEST(listed("example.com", "https://sqs.example.com"));
    BOOST_TEST(listed(".example.com", "https://sqs.example.com"));
    BOOST_TEST(listed("*.example.com", "https://sqs.example.com"));
    BOOST_TEST(listed("EXAMPLE.com", "https://SQS.example.COM"));
    BOOST_TEST(!listed("example.com", "https://myexample.com"));
    BOOST_TEST(!listed("sqs.example.com", "https://example.com"));
    BOOST_TEST(!listed("", "https://example.com"));
    BOOST_TEST(!listed(", ,.", "https://example.com"));
}

BOOST_AUTO_TEST_CASE(a_list_names_addresses_and_ranges_of_them)
{
    BOOST_TEST(listed("10.1.2.3", "http://10.1.2.3:80"));
    BOOST_TEST(!listed("10.1.2.3", "http://10.1.2.30"));
    BOOST_TEST(!listed("1.2.3", "http://10.1.2.3"));
    BOOST_TEST(listed("10.0.0.0/8", "http://10.1.2.3"));
    BOOST_TEST(listed("169.254.170.2/31", "http://169.254.170.3"));
    BOOST_TEST(!listed("10.0.0.0/8", "http://11.1.2.3"));
    BOOST_TEST(!listed("10.0.0.0/99", "http://10.1.2.3"));
    BOOST_TEST(listed("fd00:ec2::23", "http://[fd00:ec2::23]"));
    BOOST_TEST(listed("[fd00:ec2::23]", "http://[FD00:EC2::23]"));
    BOOST_TEST(listed("fd00::/8", "http://[fd00:ec2::23]"));
    BOOST_TEST(!listed("fd00::/8", "http://10.1.2.3"));
    BOOST_TEST(!listed("10.0.0.0/8", "http://[fd00::1]"));
}

BOOST_AUTO_TEST_CASE(an_entry_with_a_port_counts_on_that_port)
{
    BOOST_TEST(listed("example.com:443", "https://sqs.example.com"));
    BOOST_TEST(!listed("example.com:8443", "https://sqs.example.com"));
    BOOST_TEST(listed("10.1.2.3:80", "http://10.1.2.3"));
    BOOST_TEST(listed("[fd00::1]:80", "http://[fd00::1]"));
    BOOST_TEST(!listed("[fd00::1]:81", "http://[fd00::1]"));
}

BOOST_AUTO_TEST_CASE(a_tunnel_is_asked_for_with_the_port)
{
    auto const via = parse_proxy("http://user:pw@cache:3128").value();
    BOOST_TEST(connect_request(via, parse_endpoint("https://sqs.example").value()) ==
        "CONNECT sqs.example:443 HTTP/1.1\r\nhost: sqs.example:443\r\nproxy-authorization: Basic "
        "dXNlcjpwdw==\r\n\r\n");
    auto const open = parse_proxy("http://cache:3128").value();
    BOOST_TEST(connect_request(open, parse_endpoint("https://[::2]:8443").value()) ==
        "CONNECT [::2]:8443 HTTP/1.1\r\nhost: [::2]:8443\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(a_request_to_pass_on_names_its_origin)
{
    auto const to = parse_endpoint("http://sqs.example:8080/base").value();
    string text = "POST / HTTP/1.1\r\nhost: sqs.example:8080\r\n\r\nbody with http://x and\r\n";
    address_to_proxy(text, parse_proxy("http://user:pw@cache").value(), to);
    BOOST_TEST(text ==
        "POST http://sqs.example:8080/ HTTP/1.1\r\nproxy-authorization: Basic dXNlcjpwdw==\r\n"
        "host: sqs.example:8080\r\n\r\nbody with http://x and\r\n");
}

BOOST_AUTO_TEST_CASE(a_refusal_names_the_proxy_and_says_whether_it_may_pass)
{
    auto const open = parse_proxy("http://cache:3128").value();
    auto const known = parse_proxy("http://user:secret@cache:3128").value();
    BOOST_TEST(refused_by(open, 407).message.find("proxy cache:3128 answered 407: it asks for credentials") == 0u);
    BOOST_TEST(refused_by(known, 407).message.find("it refuses the user") != string::npos);
    BOOST_TEST(refused_by(known, 407).message.find("secret") == string::npos);
    BOOST_TEST(!refused_by(open, 407).retryable);
    BOOST_TEST(!refused_by(open, 403).retryable);
    BOOST_TEST(refused_by(open, 502).retryable);
}

BOOST_AUTO_TEST_SUITE_END()
