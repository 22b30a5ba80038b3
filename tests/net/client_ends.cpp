#include <quern/core/clock.hpp>
#include <quern/net/client.hpp>

#include "support/loopback.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

// How requests end that never got as far as an exchange: their deadline, their client or their context came first.

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct fixture {
    asio::io_context io;
    loopback server{io};
    std::vector<std::string> ended;

    asio::awaitable<void> ask(net::client& c, std::string name, std::chrono::milliseconds limit, net::lane via)
    {
        net::request request("POST / HTTP/1.1\r\nhost: x\r\n\r\n");
        request.timeout = limit;
        request.via = via;
        auto const got = co_await c.exchange(std::move(request));
        ended.push_back(name + ' ' + (got ? "answered" : describe(got.error())));
    }
};

asio::awaitable<void> forever()
{
    asio::steady_timer never(co_await asio::this_coro::executor, tick::max());
    co_await never.async_wait(asio::use_awaitable);
}

/// Takes connections and never says a word.
asio::awaitable<void> stay_silent(loopback& server)
{
    std::vector<loopback::socket> taken;
    for (;;) {
        auto socket = co_await server.accept();
        taken.push_back(std::move(socket));
    }
}

net::client_options one_connection()
{
    net::client_options options;
    options.data_connections = 1;
    options.control_connections = 1;
    return options;
}

bool starts(std::string const& text, std::string_view with)
{
    BOOST_TEST_INFO(text);
    return text.starts_with(with);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(client_ends, fixture)

// The time that a request stood in line was not counted: each step had a whole timeout of its own.
BOOST_AUTO_TEST_CASE(the_wait_for_a_connection_is_part_of_the_timeout)
{
    net::client c(io.get_executor(), net::parse_endpoint(server.url()).value(), one_connection());
    play(io, stay_silent(server));
    play(io, ask(c, "holds the connection", 50ms, net::lane::data));
    play(io, ask(c, "waited", 100ms, net::lane::data));
    play(io, ask(c, "later deadline", 125ms, net::lane::control));
    while (ended.size() < 3)
        io.run_one();
    BOOST_TEST(starts(ended[0], "holds the connection "));
    BOOST_TEST(starts(ended[1], "waited "));
    BOOST_TEST(starts(ended[2], "later deadline "));
}

// It was said to have been carried out, perhaps.
BOOST_AUTO_TEST_CASE(a_request_that_found_no_connection_free_was_not_sent)
{
    net::client c(io.get_executor(), net::parse_endpoint(server.url()).value(), one_connection());
    play(io, stay_silent(server));
    play(io, ask(c, "holds the connection", 24h, net::lane::data));
    play(io, ask(c, "waited", 20ms, net::lane::data));
    while (ended.empty())
        io.run_one();
    BOOST_TEST(starts(ended[0], "waited cannot connect: no connection to 127.0.0.1:"));
    BOOST_TEST(c.counters().requests == 1u);
}

BOOST_AUTO_TEST_CASE(opening_a_connection_is_part_of_the_timeout)
{
    auto options = one_connection();
    options.connect_timeout = 24h;
    auto const url = "https://127.0.0.1:" + std::to_string(server.port());
    net::client c(io.get_executor(), net::parse_endpoint(url).value(), options);
    play(io, stay_silent(server));
    play(io, ask(c, "handshake", 30ms, net::lane::data));
    while (ended.empty())
        io.run_one();
    BOOST_TEST(starts(ended[0], "handshake cannot connect: TLS handshake with 127.0.0.1"));
    BOOST_TEST(ended[0].find(": took too long") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_timeout_of_years_overflows_nothing_and_a_negative_one_is_over_at_once)
{
    net::client c(io.get_executor(), net::parse_endpoint(server.url()).value());
    auto part = [](loopback& s) -> asio::awaitable<void> {
        auto socket = co_await s.accept();
        co_await read_request(socket);
        co_await say(socket, http_reply("hello"));
        co_await read_request(socket); // and nothing more
        co_await forever();
    };
    play(io, part(server));
    play(io, ask(c, "years", std::chrono::milliseconds::max(), net::lane::data));
    while (ended.empty())
        io.run_one();
    play(io, ask(c, "negative", std::chrono::milliseconds::min(), net::lane::data));
    while (ended.size() < 2)
        io.run_one();
    BOOST_TEST(ended[0] == "years answered");
    BOOST_TEST(starts(ended[1], "negative timed out"));
}

// Cancelled in the very turn in which it was called out of the line: the exchange threw, and its place was at risk.
BOOST_AUTO_TEST_CASE(a_request_cancelled_as_its_turn_comes_ends_stopped_and_passes_the_turn_on)
{
    net::client c(io.get_executor(), net::parse_endpoint(server.url()).value(), one_connection());
    asio::cancellation_signal cancel;
    auto part = [](loopback& s) -> asio::awaitable<void> {
        for (int i = 0; i < 2; ++i) {
            auto socket = co_await s.accept(); // the turn that was not used took the connection with it
            co_await read_request(socket);
            co_await say(socket, http_reply(""));
        }
    };
    auto first = [](fixture& f, net::client& mine, asio::cancellation_signal& stop) -> asio::awaitable<void> {
        co_await f.ask(mine, "first", 10s, net::lane::data);
        stop.emit(asio::cancellation_type::terminal);
    };
    auto const done = [](std::exception_ptr e) { BOOST_TEST(!e); };
    play(io, part(server));
    play(io, first(*this, c, cancel));
    auto second = ask(c, "second", 10s, net::lane::data);
    asio::co_spawn(io, std::move(second), asio::bind_cancellation_slot(cancel.slot(), done));
    play(io, ask(c, "third", 10s, net::lane::data));
    while (ended.size() < 3 && io.run_one() != 0) {
    }
    BOOST_REQUIRE(ended.size() == 3u);
    BOOST_TEST(ended[0] == "first answered");
    BOOST_TEST(starts(ended[1], "second stopped"));
    BOOST_TEST(ended[2] == "third answered");
}

// The look-up went on, and its end opened a connection for a client that was closed.
BOOST_AUTO_TEST_CASE(a_client_closed_during_the_look_up_connects_to_nobody)
{
    auto const url = "http://localhost:" + std::to_string(server.port());
    net::client c(io.get_executor(), net::parse_endpoint(url).value());
    auto part = [](net::client& mine) -> asio::awaitable<void> {
        mine.close();
        co_return;
    };
    play(io, ask(c, "looked up", 10s, net::lane::data));
    play(io, part(c)); // runs before any answer of the resolver's thread can
    io.run();
    BOOST_REQUIRE(ended.size() == 1u);
    BOOST_TEST(starts(ended[0], "looked up stopped"));
    BOOST_TEST(c.counters().connects == 0u);
}

// A request in line was destroyed with the context, and the client, or the one whose turn was over, still called it.
BOOST_AUTO_TEST_CASE(requests_in_line_go_with_their_context_before_the_client_or_after_it)
{
    for (bool const client_goes_first : {false, true}) {
        asio::io_context context;
        loopback peer(context);
        auto owner = [](fixture& f, asio::io_context& its, loopback& s, bool first) -> asio::awaitable<void> {
            auto const executor = co_await asio::this_coro::executor;
            net::client c(executor, net::parse_endpoint(s.url()).value(), one_connection());
            auto const start = [&] { play(its, f.ask(c, "never", 1h, net::lane::data)); };
            for (int i = 0; i < 4; ++i)
                asio::post(executor, start);
            // Asio destroys the youngest wait first.
            if (first) co_await asio::post(executor, asio::use_awaitable);
            co_await forever();
        };
        auto part = [](loopback& s, asio::io_context& its) -> asio::awaitable<void> {
            auto socket = co_await s.accept();
            co_await read_request(socket);
            its.stop(); // one request is under way, three are in line
            co_await forever();
        };
        play(context, part(peer, context));
        play(context, owner(*this, context, peer, client_goes_first));
        context.run();
    }
    BOOST_TEST(ended.empty());
}

BOOST_AUTO_TEST_SUITE_END()
