#include <quern/net/client.hpp>

#include "support/loopback.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <type_traits>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct fixture {
    asio::io_context io;
    loopback server{io};

    net::client connect(net::client_options options = net::client_options())
    {
        return net::client(io.get_executor(), net::parse_endpoint(server.url()).value(), options);
    }
};

net::request get(net::lane via = net::lane::control)
{
    net::request ask("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}");
    ask.via = via;
    ask.repeatable = true;
    return ask;
}

/// Answers `count` requests on each connection, for ever.
asio::awaitable<void> serve(loopback& server, int count)
{
    for (;;) {
        auto socket = co_await server.accept();
        for (int i = 0; i < count; ++i) {
            co_await read_request(socket);
            co_await say(socket, http_reply("hello"));
        }
    }
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(client, fixture)

BOOST_AUTO_TEST_CASE(an_exchange_brings_status_headers_and_a_body_with_room_behind_it)
{
    auto c = connect();
    auto part = [](loopback& s) -> asio::awaitable<void> {
        auto socket = co_await s.accept();
        auto const request = co_await read_request(socket);
        BOOST_TEST(request.ends_with("\r\n\r\n{}"));
        co_await say(socket, "HTTP/1.1 404 Not Found\r\nX-Amzn-RequestId: r1\r\ncontent-length: 3\r\n\r\nabc");
    };
    play(io, part(server));
    auto const got = run(io, c.exchange(get())).value();
    BOOST_TEST(got.status == 404);
    BOOST_TEST(got.body == "abc");
    BOOST_TEST(got.fields.find("x-amzn-requestid") == "r1");
    BOOST_TEST(got.body.capacity() >= got.body.size() + net::response::padding);
}

BOOST_AUTO_TEST_CASE(a_connection_serves_one_exchange_after_the_other)
{
    auto c = connect();
    play(io, serve(server, 1'000));
    for (int i = 0; i < 5; ++i)
        BOOST_TEST(run(io, c.exchange(get())).value().body == "hello");
    BOOST_TEST(c.counters().connects == 1u);
    BOOST_TEST(c.counters().requests == 5u);
}

BOOST_AUTO_TEST_CASE(an_answer_may_come_byte_by_byte_in_chunks_or_after_an_interim_one)
{
    auto c = connect();
    auto part = [](loopback& s) -> asio::awaitable<void> {
        auto socket = co_await s.accept();
        std::string const answers[] = {
            http_reply("one byte at a time"),
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nin c\r\n6\r\nhunks!\r\n0\r\n\r\n",
            "HTTP/1.1 100 Continue\r\nx: y\r\n\r\n" + http_reply("after 100"),
        };
        for (auto const& answer : answers) {
            co_await read_request(socket);
            for (char const byte : answer)
                co_await say(socket, std::string(1, byte));
        }
    };
    play(io, part(server));
    BOOST_TEST(run(io, c.exchange(get())).value().body == "one byte at a time");
    BOOST_TEST(run(io, c.exchange(get())).value().body == "in chunks!");
    auto const last = run(io, c.exchange(get())).value();
    BOOST_TEST(last.body == "after 100");
    BOOST_TEST(last.fields.find("x") == "");
    BOOST_TEST(c.counters().connects == 1u);
}

// What comes behind a body was read as if it had come before: an error code, a date, a request id of somebody's
// choice.
BOOST_AUTO_TEST_CASE(a_trailer_is_no_header_and_closes_nothing)
{
    auto c = connect();
    auto part = [](loopback& s) -> asio::awaitable<void> {
        auto socket = co_await s.accept();
        for (int i = 0; i < 2; ++i) {
            co_await read_request(socket);
            co_await say(socket,
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nx-one: 1\r\n\r\n2\r\nok\r\n0\r\n"
                "x-amzn-requestid: forged\r\nx-two: 2\r\n\r\n");
        }
    };
    play(io, part(server));
    for (int i = 0; i < 2; ++i) {
        auto const got = run(io, c.exchange(get())).value();
        BOOST_TEST(got.body == "ok");
        BOOST_TEST(got.fields.find("x-one") == "1");
        BOOST_TEST(got.fields.find("x-amzn-requestid") == "");
        BOOST_TEST(got.fields.size() == 2u);
    }
    BOOST_TEST(c.counters().connects == 1u);
}

BOOST_AUTO_TEST_CASE(a_connection_that_the_server_will_close_is_not_used_again)
{
    auto c = connect();
    auto part = [](loopback& s) -> asio::awaitable<void> {
        for (;;) {
            auto socket = co_await s.accept();
            co_await read_request(socket);
            co_await say(socket, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
        }
    };
    play(io, part(server));
    for (int i = 0; i < 3; ++i)
        BOOST_TEST(run(io, c.exchange(get())).value().body == "ok");
    BOOST_TEST(c.counters().connects == 3u);
}

// It was waited for until the whole request was written, which the server never read, and the request timed out.
BOOST_AUTO_TEST_CASE(an_answer_that_comes_before_the_request_is_written_is_read_and_the_connection_given_up)
{
    auto c = connect();
    auto part = [](loopback& s) -> asio::awaitable<void> {
        auto deaf = co_await s.accept();
        co_await say(deaf, http_reply("too much", "HTTP/1.1 413 Content Too Large"));
        auto socket = co_await s.accept(); // for the next request
        co_await read_request(socket);
        co_await say(socket, http_reply("fine"));
    };
    play(io, part(server));
    std::string const body(16 * 1024 * 1024, 'x');
    net::request const large(
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    auto const got = run(io, c.exchange(large)).value();
    BOOST_TEST(got.status == 413);
    BOOST_TEST(got.body == "too much");
    BOOST_TEST(run(io, c.exchange(get())).value().body == "fine");
    BOOST_TEST(c.counters().connects == 2u);
}

BOOST_AUTO_TEST_CASE(an_answer_without_a_length_ends_with_the_connection)
{
    auto c = connect();
    auto part = [](loopback& s) -> asio::awaitable<void> {
        auto socket = co_await s.accept();
        co_await read_request(socket);
        co_await say(socket, "HTTP/1.1 200 OK\r\n\r\nuntil the end");
    };
    play(io, part(server));
    BOOST_TEST(run(io, c.exchange(get())).value().body == "until the end");
}

BOOST_AUTO_TEST_CASE(bytes_behind_an_answer_spoil_the_connection_not_the_answer)
{
    auto c = connect();
    auto part = [](loopback& s) -> asio::awaitable<void> {
        for (;;) {
            auto socket = co_await s.accept();
            co_await read_request(socket);
            co_await say(socket, http_reply("mine") + http_reply("nobody's"));
        }
    };
    play(io, part(server));
    BOOST_TEST(run(io, c.exchange(get())).value().body == "mine");
    BOOST_TEST(run(io, c.exchange(get())).value().body == "mine");
    BOOST_TEST(c.counters().connects == 2u);
}

// Ten messages of 1 MiB whose every byte is escaped to two make an answer of more than 20 MiB.
BOOST_AUTO_TEST_CASE(the_largest_answer_of_the_service_fits)
{
    auto c = connect();
    std::string const body(21 * 1024 * 1024, 'x');
    auto part = [](loopback& s, std::string text) -> asio::awaitable<void> {
        auto socket = co_await s.accept();
        co_await read_request(socket);
        co_await say(socket, std::move(text));
    };
    play(io, part(server, http_reply(body)));
    BOOST_TEST(run(io, c.exchange(get())).value().body == body);
}

BOOST_AUTO_TEST_CASE(a_kept_connection_found_dead_costs_a_repeatable_request_nothing)
{
    auto c = connect();
    play(io, serve(server, 1)); // closes after one answer, without having said so
    for (int i = 0; i < 4; ++i)
        BOOST_TEST(run(io, c.exchange(get())).value().body == "hello");
    BOOST_TEST(c.counters().connects == 4u);
    BOOST_TEST(c.counters().replays == 3u);
}

// It was written once, so it may have been carried out, and "nothing was sent" was not true.
BOOST_AUTO_TEST_CASE(a_replay_that_cannot_connect_fails_with_what_became_of_the_first_write)
{
    auto c = connect();
    auto part = [](loopback& s) -> asio::awaitable<void> {
        auto socket = co_await s.accept();
        co_await read_request(socket);
        co_await say(socket, http_reply("hello"));
        co_await read_request(socket);
        s.close();
    };
    play(io, part(server));
    BOOST_TEST(run(io, c.exchange(get())).value().body == "hello");
    auto const second = run(io, c.exchange(get()));
    BOOST_REQUIRE(second.has_error());
    BOOST_TEST(second.error().code == make_error_code(errc::connection_lost));
    BOOST_TEST(second.error().message.find("; then ") != std::string::npos);
    BOOST_TEST(c.counters().replays == 1u);
}

BOOST_AUTO_TEST_CASE(a_request_that_is_not_repeatable_is_not_sent_twice)
{
    auto c = connect();
    play(io, serve(server, 1));
    auto ask = get();
    ask.repeatable = false;
    BOOST_TEST(run(io, c.exchange(ask)).value().body == "hello");
    auto const second = run(io, c.exchange(ask));
    BOOST_TEST(second.has_error());
    BOOST_TEST(second.error().code == make_error_code(errc::connection_lost));
    BOOST_TEST(c.counters().replays == 0u);
}

BOOST_AUTO_TEST_CASE(control_requests_do_not_wait_behind_long_polls)
{
    net::client_options options;
    options.data_connections = 2;
    options.control_connections = 1;
    auto c = connect(options);
    auto part = [](loopback& s) -> asio::awaitable<void> {
        auto first = co_await s.accept();
        auto second = co_await s.accept();
        co_await read_request(first);
        co_await read_request(second); // two polls, both left waiting
        auto third = co_await s.accept();
        co_await read_request(third);
        co_await say(third, http_reply("deleted"));
        co_await say(first, http_reply("polled"));
        co_await read_request(first); // the third poll waited for a place
        co_await say(first, http_reply("polled later"));
        co_await say(second, http_reply("polled"));
    };
    play(io, part(server));
    std::vector<std::string> order;
    auto poll = [&](net::lane via) -> asio::awaitable<void> {
        auto const got = co_await c.exchange(get(via));
        order.push_back(got.value().body);
        if (order.size() == 4) io.stop();
    };
    for (int i = 0; i < 3; ++i)
        play(io, poll(net::lane::data));
    play(io, poll(net::lane::control));
    io.run();
    std::vector<std::string> const expected{"deleted", "polled", "polled later", "polled"};
    BOOST_TEST(order == expected, boost::test_tools::per_element());
}

// Two queues shared a connection: each poll of the second was abandoned while the service still waited for messages,
// and what came then was hidden.
BOOST_AUTO_TEST_CASE(a_long_poll_has_its_whole_time_once_it_has_a_connection)
{
    net::client_options options;
    options.data_connections = 1;
    auto c = connect(options);
    auto part = [](loopback& s) -> asio::awaitable<void> {
        std::vector<loopback::socket> open;
        for (;;) {
            auto socket = co_await s.accept();
            open.push_back(std::move(socket)); // and answers nobody
        }
    };
    play(io, part(server));
    auto const began = std::chrono::steady_clock::now();
    auto first = get(net::lane::data);
    first.timeout = 100ms;
    play(io, [](net::client& mine, net::request ask) -> asio::awaitable<void> {
        auto const got = co_await mine.exchange(std::move(ask));
        BOOST_TEST(got.error().code == make_error_code(errc::timed_out));
    }(c, first));
    auto second = get(net::lane::data);
    second.long_poll = true;
    second.timeout = 150ms;
    auto const got = run(io, c.exchange(second));
    BOOST_TEST(got.error().code == make_error_code(errc::timed_out));
    BOOST_TEST(c.counters().requests == 2u);
    auto const took = std::chrono::steady_clock::now() - began;
    BOOST_TEST(took.count() >= std::chrono::nanoseconds(100ms + 150ms).count());
}

BOOST_AUTO_TEST_CASE(closing_the_client_ends_what_is_under_way_and_refuses_more)
{
    net::client_options options;
    options.control_connections = 1;
    auto c = connect(options);
    auto part = [](loopback& s, net::client& mine) -> asio::awaitable<void> {
        auto socket = co_await s.accept();
        co_await read_request(socket);
        mine.close();
    };
    play(io, part(server, c));
    std::vector<boost::system::error_code> ends;
    auto ask = [&]() -> asio::awaitable<void> {
        auto const got = co_await c.exchange(get());
        ends.push_back(got.error().code);
    };
    play(io, ask());
    play(io, ask()); // waits for the only place
    io.run();
    BOOST_TEST(ends.size() == 2u);
    for (auto const& ec : ends)
        BOOST_TEST(ec == make_error_code(errc::stopped));
    BOOST_TEST(run(io, c.exchange(get())).error().code == make_error_code(errc::stopped));
}

BOOST_AUTO_TEST_CASE(a_context_with_an_idle_client_has_nothing_left_to_do)
{
    auto c = connect();
    play(io, [](loopback& s) -> asio::awaitable<void> {
        auto socket = co_await s.accept();
        co_await read_request(socket);
        co_await say(socket, http_reply("once"));
        s.close();
    }(server));
    BOOST_TEST(run(io, c.exchange(get())).value().body == "once");
    io.restart();
    io.run(); // would hang if a timer of the pool were left
}

// Moving one onto another dropped the other's pool with its requests still under way.
BOOST_AUTO_TEST_CASE(a_client_stays_where_it_was_made)
{
    static_assert(!std::is_move_assignable_v<net::client>);
    static_assert(!std::is_move_constructible_v<net::client>);
}

BOOST_AUTO_TEST_CASE(options_that_cannot_work_are_refused_by_name)
{
    auto const refused = [&](std::string const& name, auto change) {
        net::client_options options;
        change(options);
        BOOST_CHECK_EXCEPTION(connect(options), boost::system::system_error,
            [&](auto const& e) { return std::string(e.what()).find(name) != std::string::npos; });
    };
    refused("control_connections", [](auto& o) { o.control_connections = 0; });
    refused("connect_timeout", [](auto& o) { o.connect_timeout = -1ms; });
    refused("connect_timeout", [](auto& o) { o.connect_timeout = std::chrono::milliseconds::max(); });
    refused("max_header_bytes", [](auto& o) { o.max_header_bytes = std::size_t(1) << 32; }); // zero in 32 bits
    refused("idle_timeout", [](auto& o) { o.idle_timeout = std::chrono::milliseconds::max(); });
}

BOOST_AUTO_TEST_SUITE_END()
