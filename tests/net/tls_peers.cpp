#include <quern/net/client.hpp>
#include <quern/net/detail/tls.hpp>

#include "support/certificate.hpp"
#include "support/loopback.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <functional>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;

namespace {

using context = asio::ssl::context;

/// Servers with certificates of a test authority, and a client that trusts it.
struct peers {
    asio::io_context io;
    loopback server{io};
    certificate authority{"Test Authority"};
    certificate leaf{"127.0.0.1", authority};

    peers() { options.ca_bundle = authority.save(std::string(std::getenv("QUERN_TMP_DIR")) + "/authority.pem"); }

    net::client connect()
    {
        return net::client(io.get_executor(),
            net::parse_endpoint("https://127.0.0.1:" + std::to_string(server.port())).value(), options);
    }

    /// Answers one request on a connection of its own each time.
    asio::awaitable<void> serve(context& shown, int connections)
    {
        for (int i = 0; i < connections; ++i) {
            asio::ssl::stream<loopback::socket> stream(co_await server.accept(), shown);
            auto const [refused] =
                co_await stream.async_handshake(asio::ssl::stream_base::server, asio::as_tuple(asio::use_awaitable));
            if (refused) continue;
            co_await read_request(stream);
            co_await say(stream, http_reply("hello", "HTTP/1.1 200 OK\r\nconnection: close"));
        }
    }

    static asio::awaitable<result<net::response>> ask(net::client& from, int times)
    {
        result<net::response> got = failure(errc::stopped, "never asked");
        for (int i = 0; i < times; ++i) {
            net::request one("POST / HTTP/1.1\r\nhost: x\r\n\r\n");
            got = co_await from.exchange(std::move(one));
            if (!got) break;
        }
        co_return got;
    }

    /// Why a server with this context is refused.
    failure refusal_of(context shown)
    {
        auto client = connect();
        play(io, serve(shown, 1));
        auto const got = run(io, ask(client, 1));
        BOOST_REQUIRE(got.has_error());
        BOOST_TEST(got.error().code == make_error_code(errc::tls_failed));
        BOOST_TEST(!got.error().retryable);
        BOOST_TEST(got.error().message.find("TLS handshake with 127.0.0.1") == 0u);
        return got.error();
    }

    net::client_options options;
};

bool says(failure const& why, std::string const& what)
{
    BOOST_TEST_MESSAGE(why.message);
    return why.message.find(what) != std::string::npos;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(tls_peers, peers)

BOOST_AUTO_TEST_CASE(a_certificate_of_a_trusted_authority_will_do)
{
    auto shown = leaf.server();
    auto client = connect();
    play(io, serve(shown, 1));
    BOOST_TEST(run(io, ask(client, 1)).value().body == "hello");
}

BOOST_AUTO_TEST_CASE(a_peer_with_another_s_certificate_is_refused_and_both_names_said)
{
    auto const named = refusal_of(certificate("elsewhere.example", authority).server());
    BOOST_TEST(says(named, "its certificate is for elsewhere.example, not for 127.0.0.1"));
    auto const numbered = refusal_of(certificate("127.0.0.2", authority).server());
    BOOST_TEST(says(numbered, "its certificate is for 127.0.0.2, not for 127.0.0.1"));
}

BOOST_AUTO_TEST_CASE(a_peer_whose_certificate_is_out_of_its_time_is_refused_with_the_date)
{
    auto const old = refusal_of(certificate("127.0.0.1", authority, {-7'200, -3'600}).server());
    BOOST_TEST(says(old, "its certificate expired on 20"));
    auto const young = refusal_of(certificate("127.0.0.1", authority, {3'600, 7'200}).server());
    BOOST_TEST(says(young, "its certificate is not valid before 20"));
}

BOOST_AUTO_TEST_CASE(a_peer_that_nobody_vouches_for_is_refused_with_the_remedy)
{
    auto const self_signed = refusal_of(certificate("127.0.0.1").server());
    BOOST_TEST(says(self_signed, "its certificate is self-signed"));
    BOOST_TEST(says(self_signed, "AWS_CA_BUNDLE"));
    certificate const stranger("Other Authority");
    auto const unknown = refusal_of(certificate("127.0.0.1", stranger).server());
    BOOST_TEST(says(unknown, "no authority trusted here vouches for its certificate"));
    BOOST_TEST(says(unknown, "AWS_CA_BUNDLE"));
}

BOOST_AUTO_TEST_CASE(a_peer_that_speaks_tls_1_1_at_most_is_refused)
{
    auto shown = leaf.server();
    SSL_CTX_set_security_level(shown.native_handle(), 0);
    SSL_CTX_set_min_proto_version(shown.native_handle(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(shown.native_handle(), TLS1_1_VERSION);
    BOOST_TEST(says(refusal_of(std::move(shown)), "it offers no TLS 1.2 or newer"));
}

// OpenSSL takes no zone of an address, and without a host to expect it would take any certificate.
BOOST_AUTO_TEST_CASE(a_host_that_cannot_be_checked_is_not_connected_to)
{
    net::detail::tls_client tls{""};
    std::string fault;
    auto const is_checkable = [&](std::string const& host) {
        asio::ip::tcp::socket socket(io);
        net::detail::tls_stream stream(socket, tls.context());
        return tls.prepare(stream, host, fault);
    };
    BOOST_TEST(is_checkable("sqs.eu-west-1.amazonaws.com"));
    BOOST_TEST(is_checkable("127.0.0.1"));
    BOOST_TEST(is_checkable("::1"));
    BOOST_TEST(!is_checkable("fe80::1%lo"));
}

// A record that is an alert, in plain: level fatal, and its number (RFC 8446, 6).
BOOST_AUTO_TEST_CASE(a_server_in_trouble_is_tried_again_and_one_that_refuses_is_not)
{
    struct {
        char number;
        bool may_pass;
    } const alerts[] = {
        {80, true}, {40, false}, {116, false}}; // internal_error, handshake_failure, certificate_required
    for (auto const& each : alerts) {
        auto part = [](loopback& s, char number) -> asio::awaitable<void> {
            auto socket = co_await s.accept();
            char some[16];
            co_await asio::async_read(socket, asio::buffer(some), asio::use_awaitable);
            std::string const record{"\x15\x03\x03\x00\x02\x02", 6};
            co_await say(socket, record + number);
            std::string rest; // closed with bytes unread, the connection would be reset, and the alert perhaps lost
            co_await asio::async_read(socket, asio::dynamic_buffer(rest), asio::as_tuple(asio::use_awaitable));
        };
        auto client = connect();
        play(io, part(server, each.number));
        auto const got = run(io, ask(client, 1));
        BOOST_REQUIRE(got.has_error());
        BOOST_TEST_INFO(got.error().message);
        BOOST_TEST(got.error().code == make_error_code(errc::tls_failed));
        BOOST_TEST(got.error().retryable == each.may_pass);
    }
}

BOOST_AUTO_TEST_CASE(a_session_is_resumed_by_the_connections_that_follow)
{
    for (int const version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        auto shown = leaf.server();
        SSL_CTX_set_max_proto_version(shown.native_handle(), version);
        auto client = connect();
        play(io, serve(shown, 4));
        BOOST_TEST(run(io, ask(client, 4)).value().body == "hello");
        BOOST_TEST(client.counters().connects == 4u);
        BOOST_TEST(client.counters().resumptions == 3u);
    }
}

// A server that could not go on with a session it had agreed to was offered it again and again.
BOOST_AUTO_TEST_CASE(a_session_is_forgotten_when_a_handshake_fails)
{
    auto shown = leaf.server();
    auto client = connect();
    auto part = [](peers& p, context& c) -> asio::awaitable<void> {
        co_await p.serve(c, 1);
        auto const cut = co_await p.server.accept();
        (void)cut.available();
    };
    play(io, part(*this, shown));
    BOOST_TEST(run(io, ask(client, 1)).value().body == "hello");
    BOOST_TEST(run(io, ask(client, 1)).has_error());
    play(io, serve(shown, 2));
    BOOST_TEST(run(io, ask(client, 2)).value().body == "hello");
    BOOST_TEST(client.counters().resumptions == 1u);
}

// What was agreed with one server says nothing about another that has taken its place.
BOOST_AUTO_TEST_CASE(a_session_does_not_excuse_another_server_s_certificate)
{
    auto shown = leaf.server();
    auto client = connect();
    play(io, serve(shown, 1));
    BOOST_TEST(run(io, ask(client, 1)).value().body == "hello");
    auto impostor = certificate("127.0.0.1").server();
    play(io, serve(impostor, 1));
    auto const refused = run(io, ask(client, 1));
    BOOST_REQUIRE(refused.has_error());
    BOOST_TEST(says(refused.error(), "its certificate is self-signed"));
    BOOST_TEST(client.counters().resumptions == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
