#include <quern/net/client.hpp>

#include "support/certificate.hpp"
#include "support/loopback.hpp"
#include "support/proxy.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;
using std::string;

namespace {

/// A client, a proxy, and behind that a server whose name only the proxy can find.
struct behind_a_proxy {
    asio::io_context io;
    loopback server{io};
    std::shared_ptr<quern::test::proxy> middle = std::make_shared<quern::test::proxy>(io, server.port());
    certificate shown{"sqs.test.example"};
    asio::ssl::context tls = shown.server();
    net::client_options options;
    std::vector<string> requests;

    behind_a_proxy()
    {
        middle->start();
        options.proxy = middle->url();
        options.ca_bundle = shown.save(string(std::getenv("QUERN_TMP_DIR")) + "/proxied.pem");
    }
    ~behind_a_proxy() { middle->die(); }

    net::client connect(string const& url)
    {
        return net::client(io.get_executor(), net::parse_endpoint(url).value(), options);
    }

    asio::awaitable<void> serve_https(int requests_in_all)
    {
        asio::ssl::stream<loopback::socket> stream(co_await server.accept(), tls);
        co_await stream.async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
        for (int i = 0; i < requests_in_all; ++i) {
            auto request = co_await read_request(stream);
            requests.push_back(std::move(request));
            co_await say(stream, http_reply("through"));
        }
    }

    asio::awaitable<void> serve_http(int requests_in_all)
    {
        auto socket = co_await server.accept();
        for (int i = 0; i < requests_in_all; ++i) {
            auto request = co_await read_request(socket);
            requests.push_back(std::move(request));
            co_await say(socket, http_reply("through"));
        }
    }

    /// Takes a request and says nothing; whoever is in the middle is gone before it could.
    asio::awaitable<void> keep_silent()
    {
        auto socket = co_await server.accept();
        co_await read_request(socket);
        middle->die();
    }

    static asio::awaitable<result<net::response>> ask(net::client& from, int times = 1)
    {
        result<net::response> got = failure(errc::stopped, "never asked");
        for (int i = 0; i < times; ++i) {
            net::request one("POST /path HTTP/1.1\r\nhost: sqs.test.example\r\n\r\n");
            got = co_await from.exchange(std::move(one));
            if (!got) break;
        }
        co_return got;
    }

    failure refusal_of(string const& url)
    {
        auto client = connect(url);
        auto const got = run(io, ask(client));
        BOOST_REQUIRE(got.has_error());
        BOOST_TEST_MESSAGE(got.error().message);
        BOOST_TEST(got.error().message.find("proxy 127.0.0.1:") != string::npos, got.error().message);
        BOOST_TEST(got.error().message.find("secret") == string::npos);
        return got.error();
    }
};

string const https = "https://sqs.test.example";
string const plain = "http://sqs.test.example";

} // namespace

BOOST_FIXTURE_TEST_SUITE(through_proxies, behind_a_proxy)

BOOST_AUTO_TEST_CASE(https_goes_through_a_tunnel_with_the_server_s_certificate_checked)
{
    auto client = connect(https);
    play(io, serve_https(2));
    BOOST_TEST(run(io, ask(client, 2)).value().body == "through");
    BOOST_TEST(client.counters().connects == 1u);
    BOOST_REQUIRE(middle->heads.size() == 1u);
    BOOST_TEST(middle->heads[0] == "CONNECT sqs.test.example:443 HTTP/1.1\r\nhost: sqs.test.example:443\r\n\r\n");
    BOOST_TEST(requests.at(1).starts_with("POST /path HTTP/1.1\r\n"));
}

BOOST_AUTO_TEST_CASE(http_is_passed_on_with_its_origin_and_the_credentials_stay_with_the_proxy)
{
    options.proxy = middle->url("user:secret@");
    middle->credentials = "Basic dXNlcjpzZWNyZXQ=";
    auto client = connect(plain);
    play(io, serve_http(2));
    BOOST_TEST(run(io, ask(client, 2)).value().body == "through");
    BOOST_TEST(client.counters().connects == 1u);
    BOOST_TEST(middle->heads.at(0).starts_with("POST http://sqs.test.example/path HTTP/1.1\r\n"));
}

BOOST_AUTO_TEST_CASE(credentials_open_a_tunnel)
{
    middle->credentials = "Basic dXNlcjpzZWNyZXQ=";
    auto const unknown = refusal_of(https);
    BOOST_TEST(unknown.code == make_error_code(errc::connect_failed));
    BOOST_TEST(!unknown.retryable);
    BOOST_TEST(unknown.message.find("407: it asks for credentials") != string::npos);
    options.proxy = middle->url("user:other-secret@");
    BOOST_TEST(refusal_of(https).message.find("407: it refuses the user") != string::npos);

    options.proxy = middle->url("user:secret@");
    auto client = connect(https);
    play(io, serve_https(1));
    BOOST_TEST(run(io, ask(client)).value().body == "through");
}

BOOST_AUTO_TEST_CASE(a_proxy_that_refuses_is_named)
{
    middle->refusal = "403 Forbidden";
    auto const forbidden = refusal_of(https);
    BOOST_TEST(forbidden.code == make_error_code(errc::connect_failed));
    BOOST_TEST(!forbidden.retryable);
    middle->refusal = "503 Service Unavailable";
    BOOST_TEST(refusal_of(https).retryable);
    middle->refusal = "407 Proxy Authentication Required";
    BOOST_TEST(!refusal_of(plain).retryable);
    BOOST_TEST(refusal_of(plain).code == make_error_code(errc::connect_failed));
}

BOOST_AUTO_TEST_CASE(a_proxy_that_is_not_there_is_named)
{
    middle->die();
    for (auto const& url : {https, plain}) {
        auto const gone = refusal_of(url);
        BOOST_TEST(gone.code == make_error_code(errc::connect_failed));
        BOOST_TEST(gone.retryable);
    }
}

BOOST_AUTO_TEST_CASE(what_the_proxy_puts_before_the_handshake_is_refused)
{
    loopback liar(io);
    options.proxy = liar.url();
    for (string const answer : {"HTTP/1.1 200 OK\r\n\r\nextra", "not HTTP\r\n\r\n", "HTTP/1.1 200 OK\r\n"}) {
        auto part = [](loopback& l, string text) -> asio::awaitable<void> {
            auto socket = co_await l.accept();
            co_await read_request(socket);
            co_await say(socket, std::move(text));
        };
        play(io, part(liar, answer));
        BOOST_TEST(refusal_of(https).code == make_error_code(errc::connect_failed));
    }
}

// It was taken for a refusal.
BOOST_AUTO_TEST_CASE(a_proxy_may_ask_for_patience_before_it_opens_a_tunnel)
{
    loopback slow(io);
    options.proxy = slow.url();
    auto part = [](behind_a_proxy& here, loopback& l) -> asio::awaitable<void> {
        auto socket = co_await l.accept();
        co_await read_request(socket);
        co_await say(socket, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nx: y\r\n\r\n");
        co_await say(socket, "HTTP/1.1 200 OK\r\n\r\n");
        asio::ssl::stream<loopback::socket> stream(std::move(socket), here.tls);
        co_await stream.async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
        co_await read_request(stream);
        co_await say(stream, http_reply("through"));
    };
    auto client = connect(https);
    play(io, part(*this, slow));
    BOOST_TEST(run(io, ask(client)).value().body == "through");
}

BOOST_AUTO_TEST_CASE(a_proxy_that_asks_for_patience_without_end_is_refused_and_so_is_another_protocol)
{
    loopback liar(io);
    options.proxy = liar.url();
    string endless;
    for (int i = 0; i < 20; ++i)
        endless += "HTTP/1.1 100 Continue\r\n\r\n";
    for (string const& answer : {endless, string("HTTP/1.1 101 Switching Protocols\r\n\r\n")}) {
        auto part = [](loopback& l, string text) -> asio::awaitable<void> {
            auto socket = co_await l.accept();
            co_await read_request(socket);
            co_await say(socket, std::move(text));
            co_await read_request(socket); // which never comes
        };
        auto ended = [](std::exception_ptr) {};
        asio::co_spawn(io, part(liar, answer), ended);
        BOOST_TEST(refusal_of(https).code == make_error_code(errc::connect_failed));
    }
}

// OpenSSL falls back to the common name where there is no other.
BOOST_AUTO_TEST_CASE(a_common_name_alone_is_no_name)
{
    shown = certificate::without_names("sqs.test.example");
    tls = shown.server();
    options.ca_bundle = shown.save(string(std::getenv("QUERN_TMP_DIR")) + "/nameless.pem");
    auto part = [](behind_a_proxy& here) -> asio::awaitable<void> {
        asio::ssl::stream<loopback::socket> stream(co_await here.server.accept(), here.tls);
        co_await stream.async_handshake(asio::ssl::stream_base::server, asio::as_tuple(asio::use_awaitable));
    };
    play(io, part(*this));
    auto const refused = refusal_of(https);
    BOOST_TEST(refused.code == make_error_code(errc::tls_failed));
    BOOST_TEST(refused.message.find("names no host") != string::npos);
}

BOOST_AUTO_TEST_CASE(a_proxy_that_never_answers_uses_up_the_time_to_connect_and_no_more)
{
    loopback mute(io);
    options.proxy = mute.url();
    options.connect_timeout = 20ms;
    auto const late = refusal_of(https);
    BOOST_TEST(late.code == make_error_code(errc::connect_failed));
    BOOST_TEST(late.retryable);
    BOOST_TEST(late.message.starts_with("tunnel to sqs.test.example"));
    BOOST_TEST(late.message.ends_with(": took too long"));
}

BOOST_AUTO_TEST_CASE(a_tunnel_does_not_excuse_a_wrong_certificate)
{
    shown = certificate("elsewhere.example");
    tls = shown.server();
    options.ca_bundle = shown.save(string(std::getenv("QUERN_TMP_DIR")) + "/elsewhere.pem");
    auto part = [](behind_a_proxy& here) -> asio::awaitable<void> {
        asio::ssl::stream<loopback::socket> stream(co_await here.server.accept(), here.tls);
        co_await stream.async_handshake(asio::ssl::stream_base::server, asio::as_tuple(asio::use_awaitable));
    };
    play(io, part(*this));
    auto const refused = refusal_of(https);
    BOOST_TEST(refused.code == make_error_code(errc::tls_failed));
    BOOST_TEST(refused.message.find("elsewhere.example, not for sqs.test.example") != string::npos);
}

BOOST_AUTO_TEST_CASE(a_proxy_that_dies_takes_its_connections_along_and_the_next_one_is_used)
{
    auto client = connect(plain);
    play(io, keep_silent());
    auto const cut = run(io, ask(client));
    BOOST_REQUIRE(cut.has_error());
    BOOST_TEST(cut.error().code == make_error_code(errc::connection_lost));
    BOOST_TEST(cut.error().retryable);

    auto const down = run(io, ask(client));
    BOOST_REQUIRE(down.has_error());
    BOOST_TEST(down.error().code == make_error_code(errc::connect_failed));
    BOOST_TEST(down.error().retryable);

    middle->revive();
    play(io, serve_http(1));
    BOOST_TEST(run(io, ask(client)).value().body == "through");
}

BOOST_AUTO_TEST_CASE(what_is_no_proxy_is_refused_by_name)
{
    options.proxy = "socks5://user:secret@127.0.0.1:1080";
    BOOST_CHECK_EXCEPTION(connect(https), boost::system::system_error, [](auto const& e) {
        string const what = e.what();
        return what.find("socks5") != string::npos && what.find("secret") == string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
