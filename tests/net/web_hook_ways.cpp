#include "web_hook_peers.hpp"

#include "support/certificate.hpp"
#include "support/proxy.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;
using std::string;

namespace {

using local = asio::local::stream_protocol;

/// A service behind a unix socket.
struct unix_hook : web_hook_peers {
    string const path = string(std::getenv("QUERN_TMP_DIR")) + "/hook.sock";

    unix_hook() { std::remove(path.c_str()); }
    ~unix_hook() { std::remove(path.c_str()); }

    net::web_hook_request ask_local(string const& url = "http://app.example/hook?x=1") const
    {
        auto out = ask_url(url);
        out.unix_socket = path;
        return out;
    }
};

/// A service that only a proxy can find.
struct proxied_hook : web_hook_peers {
    std::shared_ptr<quern::test::proxy> middle = std::make_shared<quern::test::proxy>(io, server.port());

    proxied_hook()
    {
        middle->start();
        options.proxy = middle->url();
    }
    ~proxied_hook() { middle->die(); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(web_hook_over_a_unix_socket, unix_hook)

BOOST_AUTO_TEST_CASE(requests_go_to_the_socket_with_the_host_of_the_url_one_after_another)
{
    local::acceptor listener(io, local::endpoint(path));
    auto part = [](unix_hook& here, local::acceptor& at) -> asio::awaitable<void> {
        auto stream = co_await at.async_accept(asio::use_awaitable);
        for (int i = 0; i < 2; ++i) {
            here.heard.push_back(co_await read_request(stream));
            co_await say(stream, http_reply("local"));
        }
        co_await here.until_closed(stream);
    };
    play(io, part(*this, listener));
    options.proxy = "http://127.0.0.1:1"; // nobody's way to a socket
    BOOST_TEST(send(ask_local()).value().body == "local");
    auto large = ask_local();
    large.body.assign(2 * 1024 * 1024, 'x');
    BOOST_TEST(send(std::move(large)).value().body == "local");
    BOOST_TEST(heard.at(0).starts_with("POST /hook?x=1 HTTP/1.1\r\nHost: app.example\r\n"));
    BOOST_TEST(client().counters().connects == 1u);
    client().close();
    wait_for_hang_ups(1);
}

BOOST_AUTO_TEST_CASE(tls_over_a_socket_checks_the_certificate_for_the_host_of_the_url)
{
    certificate const leaf("app.example");
    options.ca_file = leaf.save(string(std::getenv("QUERN_TMP_DIR")) + "/unix-ca.pem");
    auto shown = leaf.server();
    local::acceptor listener(io, local::endpoint(path));
    auto part = [](local::acceptor& at, asio::ssl::context& tls) -> asio::awaitable<void> {
        for (;;) {
            asio::ssl::stream<local::socket> stream(co_await at.async_accept(asio::use_awaitable), tls);
            auto const [refused] = co_await stream.async_handshake(asio::ssl::stream_base::server, as_values);
            if (refused) continue;
            co_await read_request(stream);
            co_await say(stream, http_reply("secret", "HTTP/1.1 200 OK\r\nconnection: close"));
        }
    };
    play(io, part(listener, shown));
    BOOST_TEST(send(ask_local("https://app.example")).value().body == "secret");
    BOOST_TEST(error_of(ask_local("https://other.example")).fault == web_hook_fault::their_certificate);
}

BOOST_AUTO_TEST_CASE(a_socket_that_is_not_there_is_not_connected_and_named)
{
    auto const missing = error_of(ask_local());
    BOOST_TEST(missing.fault == web_hook_fault::not_connected);
    BOOST_TEST(missing.why.message.find(path) != string::npos);
    {
        local::acceptor listener(io, local::endpoint(path));
    }
    BOOST_TEST(error_of(ask_local()).fault == web_hook_fault::not_connected); // nobody listens at the file
}

// A connect that finds the listener's queue full fails at once, and looked like success to whoever waited for it.
BOOST_AUTO_TEST_CASE(a_socket_whose_queue_is_full_is_waited_for_and_no_longer_than_allowed)
{
    local::acceptor listener(io);
    listener.open();
    listener.bind(local::endpoint(path));
    listener.listen(0);
    local::socket first(io);
    first.connect(local::endpoint(path)); // fills the queue
    options.connect_timeout = 30ms;
    BOOST_TEST(error_of(ask_local()).fault == web_hook_fault::not_connected);

    made.reset();
    options.connect_timeout = 20s;
    auto part = [](unix_hook& here, local::acceptor& at) -> asio::awaitable<void> {
        auto const filler = co_await at.async_accept(asio::use_awaitable);
        auto stream = co_await at.async_accept(asio::use_awaitable);
        here.heard.push_back(co_await read_request(stream));
        co_await say(stream, http_reply("at last"));
    };
    std::optional<net::web_hook_result> end;
    auto const done = [&](std::exception_ptr, net::web_hook_result got) { end.emplace(std::move(got)); };
    asio::co_spawn(io, client().send(ask_local()), done);
    io.restart();
    while (client().counters().connects == 0)
        io.run_one();
    play(io, part(*this, listener));
    while (!end)
        io.run_one();
    BOOST_TEST(end->value().body == "at last");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(web_hook_through_a_proxy, proxied_hook)

BOOST_AUTO_TEST_CASE(a_plain_request_is_addressed_to_the_proxy_with_its_whole_url)
{
    play(io, answer_with({http_reply("through")}));
    BOOST_TEST(send(ask_url("http://hook.test.example:8080/a?b=c")).value().body == "through");
    BOOST_TEST(middle->heads.at(0).starts_with(
        "POST http://hook.test.example:8080/a?b=c HTTP/1.1\r\nHost: hook.test.example:8080\r\n"));
}

BOOST_AUTO_TEST_CASE(a_request_over_tls_goes_through_a_tunnel)
{
    certificate const leaf("hook.test.example");
    options.ca_file = leaf.save(string(std::getenv("QUERN_TMP_DIR")) + "/hook-proxied.pem");
    auto shown = leaf.server();
    auto part = [](proxied_hook& here, asio::ssl::context& tls) -> asio::awaitable<void> {
        asio::ssl::stream<loopback::socket> stream(co_await here.server.accept(), tls);
        co_await stream.async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
        here.heard.push_back(co_await read_request(stream));
        co_await say(stream, http_reply("through"));
    };
    play(io, part(*this, shown));
    BOOST_TEST(send(ask_url("https://hook.test.example/a?b=c")).value().body == "through");
    BOOST_TEST(middle->heads.at(0).starts_with("CONNECT hook.test.example:443 HTTP/1.1\r\n"));
    BOOST_TEST(heard.at(0).starts_with("POST /a?b=c HTTP/1.1\r\nHost: hook.test.example\r\n"));
}

BOOST_AUTO_TEST_CASE(a_proxy_that_refuses_is_told_apart_from_the_service)
{
    middle->credentials = "Basic bm9ib2R5Om5vdGhpbmc=";
    for (auto const* const url : {"http://hook.test.example/", "https://hook.test.example/"}) {
        auto const refused = error_of(ask_url(url));
        BOOST_TEST(refused.fault == web_hook_fault::proxy_refused);
        BOOST_TEST(refused.why.message.find("407") != string::npos);
    }
    middle->die();
    BOOST_TEST(error_of(ask_url("https://hook.test.example/")).fault == web_hook_fault::not_connected);
}

BOOST_AUTO_TEST_CASE(the_environment_names_the_proxy_where_the_options_do_not)
{
    options.proxy.reset();
    std::map<string, string> const variables{{"http_proxy", middle->url()}, {"no_proxy", "direct.invalid"}};
    options.environment = [&](char const* name) {
        auto const found = variables.find(name);
        return found == variables.end() ? string() : found->second;
    };
    play(io, answer_with({http_reply("through")}));
    BOOST_TEST(send(ask_url("http://hook.test.example/")).value().body == "through");
    auto direct = ask_url("http://direct.invalid/");
    direct.timeout = 5s;
    BOOST_TEST(error_of(std::move(direct)).fault == web_hook_fault::not_resolved);
    BOOST_TEST(middle->heads.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(web_hook_hosts, web_hook_peers)

BOOST_AUTO_TEST_CASE(each_host_has_connections_of_its_own_and_a_limit_of_its_own)
{
    options.connections = 1;
    loopback other(io);
    auto part = [](loopback& at, string body) -> asio::awaitable<void> {
        auto stream = co_await at.accept();
        for (int i = 0; i < 2; ++i) {
            co_await read_request(stream);
            co_await say(stream, http_reply(body));
        }
        co_await read_request(stream); // keeps it busy
        co_await asio::steady_timer(stream.get_executor(), tick::max()).async_wait(asio::use_awaitable);
    };
    play(io, part(server, "one"));
    play(io, part(other, "other"));
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST(send(ask()).value().body == "one");
        if (i == 0) BOOST_TEST(send(ask_url(other.url())).value().body == "other");
    }
    BOOST_TEST(client().counters().connects == 2u);
    BOOST_TEST(client().counters().open == 2u);
    asio::co_spawn(io, client().send(ask()), [](std::exception_ptr, net::web_hook_result const&) {});
    BOOST_TEST(send(ask_url(other.url())).value().body == "other");
}

BOOST_AUTO_TEST_CASE(hosts_that_nobody_asks_for_any_more_are_forgotten)
{
    for (int i = 0; i < 40; ++i) {
        loopback each(io);
        auto part = [](loopback& at) -> asio::awaitable<void> {
            auto stream = co_await at.accept();
            co_await read_request(stream);
            co_await say(stream, http_reply("hello"));
        };
        play(io, part(each));
        BOOST_TEST(send(ask_url(each.url())).value().status == 200);
    }
    BOOST_TEST(client().counters().open < 33u);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_unknown_and_a_port_where_nobody_listens_are_told_apart)
{
    auto unknown = ask_url("http://no-such-host.invalid/");
    unknown.timeout = 5s;
    BOOST_TEST(error_of(std::move(unknown)).fault == web_hook_fault::not_resolved);
    auto const url = "http://127.0.0.1:1/";
    BOOST_TEST(error_of(ask_url(url)).fault == web_hook_fault::not_connected);
}

// It was written once, so the service may have acted on it, and "nothing was sent" was not true.
BOOST_AUTO_TEST_CASE(a_request_sent_again_in_vain_fails_with_what_became_of_it_first)
{
    auto part = [](web_hook_peers& here) -> asio::awaitable<void> {
        auto stream = co_await here.server.accept();
        co_await read_request(stream);
        co_await say(stream, http_reply("first"));
        co_await read_request(stream);
        here.server.close();
    };
    play(io, part(*this));
    BOOST_TEST(send(ask()).value().body == "first");
    auto twice = ask();
    twice.replay = true;
    auto const got = error_of(twice);
    BOOST_TEST(got.fault == web_hook_fault::stale);
    BOOST_TEST(got.why.message.find("; then ") != std::string::npos);
    BOOST_TEST(client().counters().replays == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
