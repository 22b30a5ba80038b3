#include <quern/core/clock.hpp>
#include <quern/net/client.hpp>
#include <quern/net/detail/message_parser.hpp>

#include "support/loopback.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;
using std::string;

namespace {

/// The end of a request when the server says `answer` and hangs up, or holds still.
struct fault {
    asio::io_context io;
    loopback server{io};
    net::client_options options;
    std::chrono::milliseconds timeout{5'000};
    bool hang = false;

    failure after(std::string answer)
    {
        net::client c(io.get_executor(), net::parse_endpoint(server.url()).value(), options);
        auto part = [](loopback& s, std::string text, bool silent) -> asio::awaitable<void> {
            auto socket = co_await s.accept();
            co_await read_request(socket);
            co_await say(socket, std::move(text));
            if (silent)
                co_await asio::steady_timer(socket.get_executor(), tick::max()).async_wait(asio::use_awaitable);
        };
        play(io, part(server, std::move(answer), hang));
        net::request ask("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}");
        ask.timeout = timeout;
        auto const got = run(io, c.exchange(std::move(ask)));
        BOOST_REQUIRE(got.has_error());
        return got.error();
    }
};

bool mentions(failure const& f, std::string_view text)
{
    BOOST_TEST_INFO(describe(f));
    return f.message.find(text) != std::string::npos;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(client_faults, fault)

BOOST_AUTO_TEST_CASE(a_connection_cut_in_any_phase_names_the_phase)
{
    auto const silent = after("");
    BOOST_TEST(silent.code == make_error_code(errc::connection_lost));
    BOOST_TEST(mentions(silent, "before the answer began"));
    BOOST_TEST(silent.retryable);

    BOOST_TEST(mentions(after("HTTP/1.1 200 OK\r\nconte"), "in the headers of the answer"));
    BOOST_TEST(mentions(after("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour"), "in the body of the answer"));
    BOOST_TEST(mentions(after("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\nfour"), "in the body"));
}

BOOST_AUTO_TEST_CASE(a_server_that_goes_silent_is_given_up_at_the_deadline_in_any_phase)
{
    hang = true;
    timeout = 100ms;
    for (auto const* begin : {"", "HTTP/1.1 200 OK\r\nco", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour"}) {
        auto const f = after(begin);
        BOOST_TEST(f.code == make_error_code(errc::timed_out));
        BOOST_TEST(f.retryable);
        BOOST_TEST(mentions(f, "deadline passed"));
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_http_is_a_bad_reply)
{
    for (auto const* text :
        {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"}) {
        BOOST_TEST_CONTEXT(text)
        {
            auto const f = after(text);
            BOOST_TEST(f.code == make_error_code(errc::bad_reply));
            BOOST_TEST(mentions(f, "not a valid HTTP answer"));
        }
    }
}

// What one reader takes for the end of an answer and another does not is how one answer is made to look like two.
BOOST_AUTO_TEST_CASE(an_answer_whose_end_could_be_read_in_two_ways_is_a_bad_reply)
{
    string const chunks = "\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    for (string const head : {"HTTP/1.1 200 OK\r\ntransfer-encoding: xchunked",
             "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked",
             "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, gzip",
             "HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\ncontent-length: 20",
             "HTTP/1.1 200 OK\r\ntransfer-encoding:",
             "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked",
             "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked", "HTTP/1.1 200 OK\r\ncontent-length: 20\r\nx: a\r\n b",
             "HTTP/1.1 200 OK\r\nx:\r\n\tb\r\ncontent-length: 20"}) {
        BOOST_TEST_CONTEXT(head)
        {
            auto const f = after(head + chunks);
            BOOST_TEST(f.code == make_error_code(errc::bad_reply));
            BOOST_TEST(mentions(f, "not a valid HTTP answer"));
        }
    }
}

// They were answered by reading on until the deadline.
BOOST_AUTO_TEST_CASE(interim_answers_without_end_and_another_protocol_are_bad_replies)
{
    string endless;
    for (int i = 0; i <= net::detail::most_interim_answers; ++i)
        endless += "HTTP/1.1 100 Continue\r\n\r\n";
    hang = true;
    for (string const& text : {endless, string("HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n")}) {
        auto const f = after(text);
        BOOST_TEST(f.code == make_error_code(errc::bad_reply));
        BOOST_TEST(mentions(f, "not a valid HTTP answer"));
    }
}

BOOST_AUTO_TEST_CASE(trailers_beyond_the_limit_of_headers_are_refused_though_nobody_reads_them)
{
    options.max_header_bytes = 1024;
    string text = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n";
    for (int i = 0; i < 200; ++i)
        text += "x-more: more\r\n";
    auto const f = after(text + "\r\n");
    BOOST_TEST(f.code == make_error_code(errc::reply_too_large));
}

BOOST_AUTO_TEST_CASE(headers_without_end_are_refused_at_their_limit)
{
    std::string endless = "HTTP/1.1 200 OK\r\n";
    while (endless.size() < 64 * 1024)
        endless += "x-more: and more\r\n";
    auto const f = after(endless);
    BOOST_TEST(f.code == make_error_code(errc::reply_too_large));
    BOOST_TEST(mentions(f, "headers"));
}

// They were collected in memory for as long as the server kept sending them.
BOOST_AUTO_TEST_CASE(what_stands_beside_and_behind_chunks_is_refused_at_the_limit_of_headers)
{
    std::string const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    std::string const much(64 * 1024, 'x');
    for (auto const& endless : {"1;" + much, "0\r\na: " + much}) {
        auto const f = after(chunked + endless);
        BOOST_TEST(f.code == make_error_code(errc::reply_too_large));
        BOOST_TEST(mentions(f, "headers"));
    }
}

BOOST_AUTO_TEST_CASE(a_body_beyond_the_limit_is_refused_whether_announced_or_not)
{
    options.max_reply_bytes = 1'000;
    auto const announced = after("HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n");
    BOOST_TEST(announced.code == make_error_code(errc::reply_too_large));
    auto const chunked =
        after("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3e9\r\n" + std::string(1'001, 'x'));
    BOOST_TEST(chunked.code == make_error_code(errc::reply_too_large));
    BOOST_TEST(mentions(chunked, "body"));
    auto const endless = after("HTTP/1.1 200 OK\r\n\r\n" + std::string(1'001, 'x'));
    BOOST_TEST(endless.code == make_error_code(errc::reply_too_large));
}

BOOST_AUTO_TEST_CASE(a_length_that_lies_takes_no_memory)
{
    auto const f = after("HTTP/1.1 200 OK\r\ncontent-length: 33000000\r\n\r\nshort"); // within the limit, and untrue
    BOOST_TEST(f.code == make_error_code(errc::connection_lost));
}

BOOST_AUTO_TEST_CASE(nobody_listening_is_a_failed_connect)
{
    auto const url = server.url();
    server.close();
    net::client c(io.get_executor(), net::parse_endpoint(url).value());
    auto const got = run(io, c.exchange(net::request("GET / HTTP/1.1\r\n\r\n")));
    BOOST_REQUIRE(got.has_error());
    BOOST_TEST(got.error().code == make_error_code(errc::connect_failed));
    BOOST_TEST(got.error().retryable);
    BOOST_TEST(mentions(got.error(), "127.0.0.1"));
}

BOOST_AUTO_TEST_CASE(a_name_that_is_unknown_is_a_failed_connect)
{
    net::client c(io.get_executor(), net::parse_endpoint("http://no-such-host.invalid").value());
    auto const got = run(io, c.exchange(net::request("GET / HTTP/1.1\r\n\r\n")));
    BOOST_REQUIRE(got.has_error());
    BOOST_TEST(got.error().code == make_error_code(errc::connect_failed));
    BOOST_TEST(mentions(got.error(), "no-such-host.invalid"));
}

BOOST_AUTO_TEST_CASE(a_cancelled_exchange_ends_stopped_and_its_connection_is_not_reused)
{
    net::client c(io.get_executor(), net::parse_endpoint(server.url()).value());
    asio::cancellation_signal stop;
    auto part = [](loopback& s, asio::cancellation_signal& cancel) -> asio::awaitable<void> {
        auto first = co_await s.accept();
        co_await read_request(first);
        cancel.emit(asio::cancellation_type::terminal);
        auto second = co_await s.accept();
        co_await read_request(second);
        co_await say(second, http_reply("fresh"));
    };
    play(io, part(server, stop));
    auto ask = [](net::client& mine) -> asio::awaitable<boost::system::error_code> {
        auto const got = co_await mine.exchange(net::request("POST / HTTP/1.1\r\nhost: x\r\n\r\n"));
        co_return got.has_error() ? got.error().code : boost::system::error_code();
    };
    boost::system::error_code end;
    auto done = [&](std::exception_ptr e, boost::system::error_code ec) {
        BOOST_TEST(!e);
        end = ec;
        io.stop();
    };
    asio::co_spawn(io, ask(c), asio::bind_cancellation_slot(stop.slot(), std::move(done)));
    io.run();
    BOOST_TEST(end == make_error_code(errc::stopped));
    BOOST_TEST(run(io, c.exchange(net::request("POST / HTTP/1.1\r\nhost: x\r\n\r\n"))).value().body == "fresh");
}

// The watchdog was cancelled when the client fell idle and never armed again: a silent server then hung the consumer.
BOOST_AUTO_TEST_CASE(a_deadline_is_kept_after_the_client_has_been_idle)
{
    net::client c(io.get_executor(), net::parse_endpoint(server.url()).value());
    auto part = [](loopback& s) -> asio::awaitable<void> {
        auto socket = co_await s.accept();
        co_await read_request(socket);
        co_await say(socket, http_reply("first"));
        co_await read_request(socket); // and nothing more
        co_await asio::steady_timer(socket.get_executor(), tick::max()).async_wait(asio::use_awaitable);
    };
    play(io, part(server));
    net::request first("POST / HTTP/1.1\r\nhost: x\r\n\r\n");
    first.timeout = 500ms;
    BOOST_TEST(run(io, c.exchange(first)).value().body == "first");
    net::request second = first;
    second.timeout = 600ms; // later than the first deadline: an earlier one would arm the timer in any case
    auto const got = run(io, c.exchange(second));
    BOOST_REQUIRE(got.has_error());
    BOOST_TEST(got.error().code == make_error_code(errc::timed_out));
}

BOOST_AUTO_TEST_SUITE_END()
