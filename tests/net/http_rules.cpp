#include <quern/net/detail/http_rules.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace quern;
using namespace quern::net;
using namespace quern::net::detail;

namespace {

using lines = std::vector<std::pair<std::string, std::string>>;

net::headers headers_of(lines const& all)
{
    net::headers out;
    for (auto const& [name, value] : all)
        out.add(name, value);
    return out;
}

int verdict(lines const& all, int version = 11)
{
    return static_cast<int>(framing_of(headers_of(all), version));
}

constexpr int sound = static_cast<int>(framing::sound);
constexpr int bad = static_cast<int>(framing::bad);
constexpr int unsupported = static_cast<int>(framing::unsupported);

} // namespace

BOOST_AUTO_TEST_SUITE(http_rules)

BOOST_AUTO_TEST_CASE(a_body_is_framed_by_its_length_or_by_exactly_chunked)
{
    BOOST_TEST(verdict({}) == sound);
    BOOST_TEST(verdict({{"Content-Length", "3"}}) == sound);
    BOOST_TEST(verdict({{"transfer-encoding", "Chunked"}}) == sound);
    for (auto const* other :
        {"xchunked", "chunked, gzip", "gzip, chunked", "chunked;q=1", "identity", "", "chunked,"})
        BOOST_TEST(verdict({{"Transfer-Encoding", other}}) == unsupported, other);
    BOOST_TEST(verdict({{"Transfer-Encoding", "chunked"}, {"transfer-encoding", "chunked"}}) == bad);
    BOOST_TEST(verdict({{"Transfer-Encoding", "chunked"}}, 10) == bad);
}

BOOST_AUTO_TEST_CASE(a_folded_header_is_seen_and_a_body_is_not_taken_for_one)
{
    BOOST_TEST(has_folded_header("POST / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n"));
    BOOST_TEST(has_folded_header("Host: a\r\n\tb"));
    BOOST_TEST(!has_folded_header("POST / HTTP/1.1\r\nHost: a\r\n\r\n\r\n b"));
    BOOST_TEST(!has_folded_header("Host: a\r\n"));
    BOOST_TEST(!has_folded_header(""));
}

BOOST_AUTO_TEST_CASE(what_decides_may_come_once)
{
    static constexpr std::string_view decisive[] = {"host", "authorization", "x-amz-target", "x-amz-date"};
    auto const repeated = [](lines const& all) { return repeated_header(headers_of(all), decisive); };
    BOOST_TEST(repeated({{"Host", "a"}, {"X-Amz-Target", "b"}, {"X-Other", "1"}, {"X-Other", "2"}}).empty());
    for (std::string const name : {"host", "authorization", "x-amz-target", "x-amz-date"})
        BOOST_TEST(repeated({{name, "a"}, {"X-Other", "b"}, {name, "a"}}) == name);
    BOOST_TEST(repeated({{"X-AMZ-Target", "a"}, {"x-amz-target", "b"}}) == "x-amz-target");
}

BOOST_AUTO_TEST_CASE(a_host_is_local_by_its_name_its_address_or_the_list)
{
    BOOST_TEST(is_loopback("::1"));
    BOOST_TEST(is_loopback("127.0.0.1"));
    BOOST_TEST(!is_loopback("::"));
    BOOST_TEST(!is_loopback("0.0.0.0"));
    std::vector<std::string> const listed{"broker.test"};
    for (auto const* host : {"localhost", "localhost:9324", "LOCALHOST", "localhost.:1", "sqs.us-east-1.localhost:80",
             "127.0.0.1", "127.1.2.3:9324", "[::1]:9324", "[::1]", "broker.test", "Broker.Test:1"})
        BOOST_TEST(is_local_host(host, listed), host);
    for (auto const* host : {"evil.example", "evil.example:9324", "localhost.evil.example", "127.0.0.1.evil.example",
             "xlocalhost", ".localhost.x", "192.168.0.1", "[::2]", "", "0.0.0.0", "x.broker.test", "[", "]"})
        BOOST_TEST(!is_local_host(host, listed), host);
    for (auto const* host : {"10.0.0.7", "10.0.0.7:9090", "[::2]:80", "127.0.0.1"})
        BOOST_TEST(is_address(host), host);
    for (auto const* host : {"", ":80", "10.0.0.7.evil.example", "localhost", "[::2", "10.0.0", "a"})
        BOOST_TEST(is_address(host) == (std::string_view(host) == "[::2"), host);
}

BOOST_AUTO_TEST_SUITE_END()
