#include <quern/net/client.hpp>

#include "support/certificate.hpp"
#include "support/loopback.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;

namespace {

struct secure {
    asio::io_context io;
    loopback server{io};
    certificate shown{"127.0.0.1"};
    asio::ssl::context tls = shown.server();

    std::string file(char const* name) const { return std::string(std::getenv("QUERN_TMP_DIR")) + '/' + name; }

    result<net::response> ask(std::string const& host, std::string const& trusted)
    {
        net::client_options options;
        options.ca_bundle = trusted;
        auto const url = "https://" + host + ':' + std::to_string(server.port());
        net::client c(io.get_executor(), net::parse_endpoint(url).value(), options);
        auto part = [](loopback& s, asio::ssl::context& context) -> asio::awaitable<void> {
            asio::ssl::stream<loopback::socket> stream(co_await s.accept(), context);
            boost::system::error_code refused;
            co_await stream.async_handshake(
                asio::ssl::stream_base::server, asio::redirect_error(asio::use_awaitable, refused));
            if (refused) co_return;
            for (int i = 0; i < 2; ++i) {
                co_await read_request(stream);
                co_await say(stream, http_reply("secret"));
            }
        };
        play(io, part(server, tls));
        auto twice = [](net::client& mine) -> asio::awaitable<result<net::response>> {
            net::request first("POST / HTTP/1.1\r\nhost: x\r\n\r\n");
            net::request second("POST / HTTP/1.1\r\nhost: x\r\n\r\n");
            auto got = co_await mine.exchange(std::move(first));
            if (got) got = co_await mine.exchange(std::move(second));
            co_return got;
        };
        auto got = run(io, twice(c));
        if (got) BOOST_TEST(c.counters().connects == 1u);
        return got;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(tls, secure)

BOOST_AUTO_TEST_CASE(a_trusted_certificate_for_the_host_is_accepted)
{
    BOOST_TEST(ask("127.0.0.1", shown.save(file("trusted.pem"))).value().body == "secret");
}

BOOST_AUTO_TEST_CASE(a_certificate_for_another_host_is_refused)
{
    shown = certificate("elsewhere.example");
    tls = shown.server();
    auto const got = ask("127.0.0.1", shown.save(file("other.pem")));
    BOOST_REQUIRE(got.has_error());
    BOOST_TEST(got.error().code == make_error_code(errc::tls_failed));
    BOOST_TEST(got.error().message.find("127.0.0.1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_certificate_that_nobody_vouches_for_is_refused)
{
    certificate const other("127.0.0.1");
    auto const got = ask("127.0.0.1", other.save(file("untrusted.pem")));
    BOOST_REQUIRE(got.has_error());
    BOOST_TEST(got.error().code == make_error_code(errc::tls_failed));
}

BOOST_AUTO_TEST_CASE(a_ca_bundle_that_cannot_be_read_is_named)
{
    BOOST_CHECK_EXCEPTION(ask("127.0.0.1", "/nowhere/ca.pem"), boost::system::system_error,
        [](auto const& e) { return std::string(e.what()).find("/nowhere/ca.pem") != std::string::npos; });
}

BOOST_AUTO_TEST_SUITE_END()
