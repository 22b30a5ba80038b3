#include <quern/net/client.hpp>

#include "support/certificate.hpp"
#include "support/loopback.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <list>
#include <netinet/in.h>
#include <netinet/tcp.h>

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
    /// The end of one request when the server takes this part.
    result<net::response> against(asio::awaitable<void> part)
    {
        net::client_options options;
        options.ca_bundle = shown.save(file("against.pem"));
        auto const url = "https://127.0.0.1:" + std::to_string(server.port());
        net::client c(io.get_executor(), net::parse_endpoint(url).value(), options);
        play(io, std::move(part));
        return run(io, c.exchange(net::request("POST / HTTP/1.1\r\nhost: x\r\n\r\n")));
    }

    /// Says `answer` to each request, and more in a record of its own, in the same segment.
    asio::awaitable<void> say_too_much(std::string answer, std::string more)
    {
        std::list<asio::ssl::stream<loopback::socket>> open;
        for (;;) {
            auto& stream = open.emplace_back(co_await server.accept(), tls);
            co_await stream.async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
            co_await read_request(stream);
            asio::detail::socket_option::boolean<IPPROTO_TCP, TCP_CORK> held_back(true), goes(false);
            stream.next_layer().set_option(held_back);
            co_await say(stream, answer);
            co_await say(stream, more);
            stream.next_layer().set_option(goes);
        }
    }

    /// Says `answer` over TLS and closes, with or without TLS's own goodbye.
    asio::awaitable<void> say_and_leave(std::string answer, bool politely)
    {
        asio::ssl::stream<loopback::socket> stream(co_await server.accept(), tls);
        co_await stream.async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
        co_await read_request(stream);
        co_await say(stream, std::move(answer));
        boost::system::error_code ignored;
        if (politely) co_await stream.async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
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
    BOOST_TEST(!got.error().retryable);
    BOOST_TEST(got.error().message.find("127.0.0.1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_certificate_that_nobody_vouches_for_is_refused)
{
    certificate const other("127.0.0.1");
    auto const got = ask("127.0.0.1", other.save(file("untrusted.pem")));
    BOOST_REQUIRE(got.has_error());
    BOOST_TEST(got.error().code == make_error_code(errc::tls_failed));
    BOOST_TEST(!got.error().retryable);
}

// A load balancer that lost its target for a moment made the consumer give up for good.
BOOST_AUTO_TEST_CASE(a_connection_cut_in_the_handshake_is_worth_another_try)
{
    auto part = [](loopback& s, bool reset) -> asio::awaitable<void> {
        auto socket = co_await s.accept();
        char some[16];
        co_await asio::async_read(socket, asio::buffer(some), asio::use_awaitable);
        socket.set_option(asio::socket_base::linger(reset, 0));
        if (!reset) socket.shutdown(loopback::socket::shutdown_send);
        if (!reset) co_await socket.async_wait(loopback::socket::wait_error, asio::use_awaitable);
    };
    for (bool const reset : {false, true}) {
        auto const got = against(part(server, reset));
        BOOST_REQUIRE(got.has_error());
        BOOST_TEST(got.error().code == make_error_code(errc::tls_failed));
        BOOST_TEST(got.error().retryable);
        BOOST_TEST_INFO(got.error().message);
        BOOST_TEST(got.error().message.starts_with("TLS handshake with 127.0.0.1"));
    }
}

BOOST_AUTO_TEST_CASE(what_does_not_speak_tls_is_refused_for_good)
{
    auto part = [](loopback& s) -> asio::awaitable<void> {
        auto socket = co_await s.accept();
        co_await say(socket, "HTTP/1.1 400 Bad Request\r\n\r\n");
    };
    auto const got = against(part(server));
    BOOST_REQUIRE(got.has_error());
    BOOST_TEST(got.error().code == make_error_code(errc::tls_failed));
    BOOST_TEST(!got.error().retryable);
}

// Whoever cut the connection made half an answer without a length look whole.
BOOST_AUTO_TEST_CASE(an_answer_without_a_length_is_whole_only_when_tls_says_so)
{
    auto const whole = against(say_and_leave("HTTP/1.1 200 OK\r\n\r\nwhole", true));
    BOOST_TEST(whole.value().body == "whole");

    auto const cut = against(say_and_leave("HTTP/1.1 200 OK\r\n\r\nhal", false));
    BOOST_REQUIRE(cut.has_error());
    BOOST_TEST(cut.error().code == make_error_code(errc::connection_lost));
    BOOST_TEST(cut.error().retryable);
    BOOST_TEST(cut.error().message == "closed by the server in the body of the answer");

    auto const framed = against(say_and_leave(http_reply("framed"), false));
    BOOST_TEST(framed.value().body == "framed");
}

BOOST_AUTO_TEST_CASE(a_ca_bundle_that_cannot_be_read_is_named)
{
    BOOST_CHECK_EXCEPTION(ask("127.0.0.1", "/nowhere/ca.pem"), boost::system::system_error,
        [](auto const& e) { return std::string(e.what()).find("/nowhere/ca.pem") != std::string::npos; });
}

// OpenSSL had the second record, the socket was quiet, and the next request was answered before it was sent.
BOOST_AUTO_TEST_CASE(a_record_behind_an_answer_spoils_the_connection_not_the_answer)
{
    net::client_options options;
    options.ca_bundle = shown.save(file("behind.pem"));
    auto const url = "https://127.0.0.1:" + std::to_string(server.port());
    net::client c(io.get_executor(), net::parse_endpoint(url).value(), options);
    play(io, say_too_much(http_reply("mine"), http_reply("nobody's")));
    for (std::uint64_t connects : {1u, 2u}) {
        auto const got = run(io, c.exchange(net::request("POST / HTTP/1.1\r\nhost: x\r\n\r\n")));
        BOOST_TEST(got.value().body == "mine");
        BOOST_TEST(c.counters().connects == connects);
    }
}

BOOST_AUTO_TEST_SUITE_END()
