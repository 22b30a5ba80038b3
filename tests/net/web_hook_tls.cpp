#include "web_hook_peers.hpp"

#include "support/certificate.hpp"

#include <boost/asio/ssl/stream.hpp>
#include <boost/system/system_error.hpp>

#include <cstdlib>
#include <fstream>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;
using std::string;

namespace {

using context = asio::ssl::context;

/// Web services over TLS, with certificates of a test authority that the client trusts.
struct tls_hooks : web_hook_peers {
    string const folder = std::getenv("QUERN_TMP_DIR");
    certificate authority{"Test Authority"};
    certificate leaf{"127.0.0.1", authority};
    string trusted = authority.save(folder + "/hook-ca.pem");

    tls_hooks() { options.ca_file = trusted; }

    net::web_hook_request ask_tls() const { return ask_url("https://127.0.0.1:" + std::to_string(server.port())); }

    /// A context that asks clients for a certificate of the authority.
    context asking(int newest = TLS1_3_VERSION) const
    {
        auto shown = leaf.server();
        shown.load_verify_file(trusted);
        shown.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
        SSL_CTX_set_max_proto_version(shown.native_handle(), newest);
        SSL_CTX_set_session_id_context(shown.native_handle(), reinterpret_cast<unsigned char const*>("hook"), 4);
        return shown;
    }

    /// Answers with the name on the client's certificate, one request a connection.
    asio::awaitable<void> serve(context& shown, int connections)
    {
        for (int i = 0; i < connections; ++i) {
            asio::ssl::stream<loopback::socket> stream(co_await server.accept(), shown);
            auto const [refused] = co_await stream.async_handshake(asio::ssl::stream_base::server, as_values);
            if (refused) { // closed with bytes unread, the connection would be reset, and the alert perhaps lost
                co_await until_closed(stream.next_layer());
                continue;
            }
            co_await read_request(stream);
            co_await say(stream, http_reply(client_s_name(stream), "HTTP/1.1 200 OK\r\nconnection: close"));
        }
    }

    static string client_s_name(asio::ssl::stream<loopback::socket>& stream)
    {
        auto* const shown = SSL_get1_peer_certificate(stream.native_handle());
        if (!shown) return "nobody";
        char text[64];
        X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, text, sizeof text);
        X509_free(shown);
        return text;
    }

    web_hook_fault fault_with(context shown, string const& said = "")
    {
        play(io, serve(shown, 1));
        auto const why = error_of(ask_tls());
        BOOST_TEST(why.why.message.find(said) != string::npos, why.why.message);
        return why.fault;
    }

    /// The client's certificate, in two files.
    void show(certificate const& own)
    {
        options.certificate_file = own.save(folder + "/hook-client.pem");
        options.key_file = own.save_key(folder + "/hook-client.key");
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(web_hook_tls, tls_hooks)

BOOST_AUTO_TEST_CASE(a_service_whose_certificate_does_not_convince_is_told_apart_from_one_that_fails)
{
    using enum web_hook_fault;
    BOOST_TEST(fault_with(certificate("127.0.0.1").server(), "ca_file") == their_certificate);
    BOOST_TEST(fault_with(certificate("elsewhere.example", authority).server(), "not for") == their_certificate);
    BOOST_TEST(
        fault_with(certificate("127.0.0.1", authority, {-7'200, -3'600}).server(), "expired") == their_certificate);
}

BOOST_AUTO_TEST_CASE(a_service_that_speaks_no_tls_or_hangs_up_fails_the_handshake)
{
    auto part = [](tls_hooks& here) -> asio::awaitable<void> {
        auto stream = co_await here.server.accept();
        co_await say(stream, http_reply("no TLS here"));
        co_await here.until_closed(stream);
        auto const cut = co_await here.server.accept();
        (void)cut.available();
    };
    play(io, part(*this));
    auto const plain = error_of(ask_tls());
    BOOST_TEST(plain.fault == web_hook_fault::tls_failed);
    BOOST_TEST(plain.why.message.find("does not speak TLS") != string::npos);
    BOOST_TEST(error_of(ask_tls()).fault == web_hook_fault::tls_failed);
}

BOOST_AUTO_TEST_CASE(a_service_that_never_shakes_hands_is_not_connected_in_time)
{
    options.connect_timeout = 20ms;
    BOOST_TEST(error_of(ask_tls()).fault == web_hook_fault::not_connected);
}

BOOST_AUTO_TEST_CASE(tls_1_2_will_do_unless_1_3_is_demanded)
{
    auto old = leaf.server();
    SSL_CTX_set_max_proto_version(old.native_handle(), TLS1_2_VERSION);
    play(io, serve(old, 1));
    BOOST_TEST(send(ask_tls()).value().status == 200);

    made.reset();
    options.min_tls = net::tls_version::v1_3;
    auto older = leaf.server();
    SSL_CTX_set_max_proto_version(older.native_handle(), TLS1_2_VERSION);
    BOOST_TEST(fault_with(std::move(older), "no TLS 1.3 or newer") == web_hook_fault::tls_failed);
}

BOOST_AUTO_TEST_CASE(an_insecure_client_takes_any_certificate_for_any_host)
{
    options.ca_file.clear();
    options.insecure = true;
    auto shown = certificate("elsewhere.example", {-7'200, -3'600}).server();
    play(io, serve(shown, 2));
    BOOST_TEST(send(ask_tls()).value().status == 200);
    BOOST_TEST(send(ask_tls()).value().status == 200);
}

BOOST_AUTO_TEST_CASE(a_certificate_is_shown_to_a_service_that_asks_for_one)
{
    certificate const own("relay", authority);
    show(own);
    for (int const version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        auto shown = asking(version);
        play(io, serve(shown, 1));
        BOOST_TEST(send(ask_tls()).value().body == "relay");
    }
}

BOOST_AUTO_TEST_CASE(a_key_may_stand_in_the_file_of_its_certificate)
{
    certificate const own("relay", authority);
    show(own);
    std::ofstream(options.certificate_file, std::ios::app) << std::ifstream(options.key_file).rdbuf();
    options.key_file.clear();
    auto shown = asking();
    play(io, serve(shown, 1));
    BOOST_TEST(send(ask_tls()).value().body == "relay");
}

// With TLS 1.3 the handshake is over for the client, and its request written, when the server says no.
BOOST_AUTO_TEST_CASE(a_service_that_refuses_our_certificate_or_misses_one_says_so_before_it_sees_the_request)
{
    for (int const version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        BOOST_TEST_INFO_SCOPE(version);
        made.reset();
        options.certificate_file.clear();
        options.key_file.clear();
        BOOST_TEST(fault_with(asking(version)) == web_hook_fault::own_certificate);

        made.reset();
        certificate const strange("relay", certificate("Other Authority"));
        show(strange);
        BOOST_TEST(fault_with(asking(version)) == web_hook_fault::own_certificate);

        made.reset();
        certificate const old("relay", authority, {-7'200, -3'600});
        show(old);
        BOOST_TEST(fault_with(asking(version)) == web_hook_fault::own_certificate);
    }
}

BOOST_AUTO_TEST_CASE(a_certificate_that_was_replaced_is_shown_by_the_next_connection)
{
    certificate const first("first", authority), second("second", authority), third("third", authority);
    show(first);
    auto shown = asking();
    play(io, serve(shown, 6));
    BOOST_TEST(send(ask_tls()).value().body == "first");

    show(second);
    BOOST_TEST(send(ask_tls()).value().body == "second");
    BOOST_TEST(client().counters().reloads == 1u);

    third.save(options.certificate_file); // and its key not yet
    BOOST_TEST(send(ask_tls()).value().body == "second");
    auto const half = client().reload();
    BOOST_REQUIRE(half.has_error());
    BOOST_TEST(half.error().message.find("hook-client.key") != string::npos, half.error().message);

    third.save_key(options.key_file);
    BOOST_TEST(send(ask_tls()).value().body == "third");
    BOOST_TEST(client().reload().has_value());
    BOOST_TEST(client().counters().reloads == 2u);
}

BOOST_AUTO_TEST_CASE(a_reload_closes_the_connections_with_the_old_certificate_once_they_are_idle)
{
    certificate const first("first", authority), second("second", authority);
    show(first);
    auto shown = asking();
    auto part = [](tls_hooks& here, context& tls) -> asio::awaitable<void> {
        for (;;) {
            asio::ssl::stream<loopback::socket> stream(co_await here.server.accept(), tls);
            co_await stream.async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
            for (;;) {
                string text;
                auto const buffer = asio::dynamic_buffer(text);
                auto const [ec, head] = co_await asio::async_read_until(stream, buffer, "{}", as_values);
                if (ec) break;
                co_await say(stream, http_reply(client_s_name(stream)));
            }
        }
    };
    play(io, part(*this, shown));
    BOOST_TEST(send(ask_tls()).value().body == "first");
    BOOST_TEST(send(ask_tls()).value().body == "first");
    BOOST_TEST(client().counters().connects == 1u);
    show(second);
    BOOST_TEST(client().reload().has_value());
    BOOST_TEST(send(ask_tls()).value().body == "second");
    BOOST_TEST(client().counters().connects == 2u);
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_used_are_named_at_once)
{
    certificate const own("relay", authority), other("other", authority);
    show(own);
    auto const usual = options;
    auto const refused = [&](string const& name) {
        made.reset();
        BOOST_CHECK_EXCEPTION(client(), boost::system::system_error,
            [&](auto const& e) { return string(e.what()).find(name) != string::npos; });
        options = usual;
    };
    options.certificate_file = folder + "/no-such-file.pem";
    refused("no-such-file.pem");
    options.ca_file = folder + "/no-such-ca.pem";
    refused("no-such-ca.pem");
    options.ca_file = options.key_file; // which holds no certificate
    refused("ca_file");
    options.key_file = other.save_key(folder + "/other.key");
    refused("other.key");
    options.certificate_file = folder + "/empty.pem";
    std::ofstream(options.certificate_file).flush();
    refused("is empty");
}

BOOST_AUTO_TEST_CASE(a_large_body_and_an_early_answer_go_over_tls_too)
{
    auto shown = leaf.server();
    asio::steady_timer never(io, tick::max());
    auto part = [](tls_hooks& here, context& tls, asio::steady_timer& forever) -> asio::awaitable<void> {
        for (bool const is_read : {true, false}) {
            asio::ssl::stream<loopback::socket> stream(co_await here.server.accept(), tls);
            co_await stream.async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
            string head;
            if (is_read)
                co_await read_request(stream);
            else
                co_await asio::async_read_until(stream, asio::dynamic_buffer(head), "\r\n\r\n", asio::use_awaitable);
            auto const answer = http_reply(is_read ? "whole" : "early", "HTTP/1.1 200 OK\r\nconnection: close");
            co_await say(stream, answer);
            if (!is_read) co_await forever.async_wait(as_values); // open, and unread
        }
    };
    play(io, part(*this, shown, never));
    auto request = ask_tls();
    request.body.assign(4 * 1024 * 1024, 'x');
    BOOST_TEST(send(request).value().body == "whole");
    request.body.assign(64 * 1024 * 1024, 'x');
    BOOST_TEST(send(std::move(request)).value().body == "early");
}

BOOST_AUTO_TEST_SUITE_END()
