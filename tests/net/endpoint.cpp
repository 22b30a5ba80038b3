#include <quern/net/endpoint.hpp>

#include <boost/test/unit_test.hpp>

using quern::net::parse_endpoint;

BOOST_AUTO_TEST_SUITE(endpoint)

BOOST_AUTO_TEST_CASE(an_https_url_without_a_port_means_443_and_the_root_path)
{
    auto const at = parse_endpoint("https://sqs.eu-west-1.amazonaws.com").value();
    BOOST_TEST(at.tls);
    BOOST_TEST(at.host == "sqs.eu-west-1.amazonaws.com");
    BOOST_TEST(at.port == 443);
    BOOST_TEST(at.path == "/");
    BOOST_TEST(at.authority() == "sqs.eu-west-1.amazonaws.com");
    BOOST_TEST(at.origin() == "https://sqs.eu-west-1.amazonaws.com");
}

BOOST_AUTO_TEST_CASE(a_port_that_is_not_the_scheme_s_own_is_part_of_the_authority)
{
    BOOST_TEST(parse_endpoint("http://localhost:9324/").value().authority() == "localhost:9324");
    BOOST_TEST(parse_endpoint("http://localhost:80").value().authority() == "localhost");
    BOOST_TEST(parse_endpoint("https://localhost:80").value().authority() == "localhost:80");
}

BOOST_AUTO_TEST_CASE(an_ipv6_address_stands_in_brackets_only_outside)
{
    auto const at = parse_endpoint("http://[::1]:9324/000000000000/orders").value();
    BOOST_TEST(at.host == "::1");
    BOOST_TEST(at.port == 9324);
    BOOST_TEST(at.path == "/000000000000/orders");
    BOOST_TEST(at.authority() == "[::1]:9324");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_an_endpoint_is_refused_with_the_reason)
{
    auto const reason = [](char const* url) { return parse_endpoint(url).error().message; };
    BOOST_TEST(reason("sqs.amazonaws.com").find("must begin with http") != std::string::npos);
    BOOST_TEST(reason("ftp://host").find("must begin with http") != std::string::npos);
    BOOST_TEST(reason("http://").find("has no host") != std::string::npos);
    BOOST_TEST(reason("http://:80").find("has no host") != std::string::npos);
    BOOST_TEST(reason("http://user:secret@host").find("user name") != std::string::npos);
    BOOST_TEST(reason("http://host?x=1").find("query") != std::string::npos);
    BOOST_TEST(reason("http://host#x").find("fragment") != std::string::npos);
    BOOST_TEST(reason("http://host:0").find("port") != std::string::npos);
    BOOST_TEST(reason("http://host:65536").find("port") != std::string::npos);
    BOOST_TEST(reason("http://host:80x").find("port") != std::string::npos);
    BOOST_TEST(reason("http://host:").find("port") != std::string::npos);
    BOOST_TEST(reason("http://[::1").find("bracket") != std::string::npos);
    BOOST_TEST(reason("http://[::1]x").find("IPv6") != std::string::npos);
    for (auto const* const url : {"http://[[]", "http://[]", "http://[host]:80", "http://[127.0.0.1]",
             "http://ho[st]", "http://a]", "http://x[::1]"})
        BOOST_TEST(reason(url).find("brackets") != std::string::npos, url);
    BOOST_TEST(reason("http://ho st").find("character") != std::string::npos);
    BOOST_TEST(reason("http://host/a\r\nx-evil: 1").find("character") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_query_of_a_url_is_part_of_its_path)
{
    auto const path = [](char const* url) { return quern::net::parse_url(url).value().path; };
    BOOST_TEST(path("http://host/hook?tenant=a%2Fb&x=?/") == "/hook?tenant=a%2Fb&x=?/");
    BOOST_TEST(path("http://host:8080?x=1") == "/?x=1");
    BOOST_TEST(path("https://host") == "/");
    BOOST_TEST(quern::net::parse_url("http://[::1]?x=//a:b").value().host == "::1");
    for (auto const* const refused :
        {"http://host/?x#y", "http://?x", "http://host/?a b", "http://u:p@host/?x", "http://host/?x\r\ny: z"})
        BOOST_TEST(quern::net::parse_url(refused).has_error(), refused);
}

// A password stood in the error wherever something else was wrong with the URL as well.
BOOST_AUTO_TEST_CASE(no_error_shows_a_user_a_password_or_a_query)
{
    for (auto const* const url : {"https://user:secret@host/?x", "http://user:sec@secret/ret@host",
             "ftp://user:secret@host", "user:secret@host", "http://user:secret@ho st", "https://user:secret?#@host",
             "https://host:0/?token=secret", "https://host/#secret", "http://user:secret@[::1",
             "https://host/?x=secret@hid", "https://h/?a@b=secret"}) {
        auto const why = parse_endpoint(url).error().message;
        BOOST_TEST(why.find("secret") == std::string::npos, why);
    }
    BOOST_TEST(quern::net::shown_url("https://user:secret@host/path?x=1") == "https://host/path?...");
    BOOST_TEST(quern::net::shown_url("https://host/?to=a@b") == "https://...");
    BOOST_TEST(quern::net::shown_url("http://host:80/path") == "http://host:80/path");
}

BOOST_AUTO_TEST_CASE(this_machine_is_told_by_its_names)
{
    for (auto const* const here : {"localhost", "LocalHost", "127.0.0.1", "127.9.9.9", "::1"})
        BOOST_TEST(quern::net::is_this_machine(here), here);
    for (auto const* const elsewhere : {"", "localhost.example", "a.localhost", "10.0.0.1", "128.0.0.1", "::2"})
        BOOST_TEST(!quern::net::is_this_machine(elsewhere), elsewhere);
}

BOOST_AUTO_TEST_SUITE_END()
