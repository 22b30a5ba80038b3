#include "web_hook_peers.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/system/system_error.hpp>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;
using std::string;

BOOST_FIXTURE_TEST_SUITE(web_hook_client, web_hook_peers)

BOOST_AUTO_TEST_CASE(an_answer_brings_status_headers_and_body)
{
    play(io,
        answer_with({"HTTP/1.1 202 Accepted\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: 7\r\n"
                     "content-length: 4\r\n\r\ndone"}));
    auto request = ask("/hook?tenant=a%2Fb");
    request.headers = {{"X-One", "1"}, {"X-Two", "2"}};
    auto const got = send(std::move(request)).value();
    BOOST_TEST(got.status == 202);
    BOOST_TEST(got.body == "done");
    BOOST_TEST(got.fields.find("retry-after") == "7");
    BOOST_TEST(got.fields.find("date") == "Sun, 06 Nov 1994 08:49:37 GMT");
    BOOST_TEST(heard.at(0).starts_with("POST /hook?tenant=a%2Fb HTTP/1.1\r\nHost: 127.0.0.1:"));
    BOOST_TEST(heard.at(0).ends_with("\r\nX-One: 1\r\nX-Two: 2\r\nContent-Length: 2\r\n\r\n{}"));
}

// Others turn the POST into a GET without a body, and take its 200 for a delivery.
BOOST_AUTO_TEST_CASE(a_redirect_is_an_answer_and_is_not_followed)
{
    auto const away = "\r\nLocation: " + server.url() + "/elsewhere\r\ncontent-length: 0\r\n\r\n";
    play(io, answer_and_hold({"HTTP/1.1 303 See Other" + away, "HTTP/1.1 308 Permanent Redirect" + away}));
    for (int const status : {303, 308}) {
        auto const got = send(ask()).value();
        BOOST_TEST(got.status == status);
        BOOST_TEST(got.fields.find("location") == server.url() + "/elsewhere");
    }
    BOOST_TEST(heard.size() == 2u);
    BOOST_TEST(client().counters().connects == 1u);
}

BOOST_AUTO_TEST_CASE(interim_answers_are_passed_over_and_their_headers_with_them)
{
    play(io,
        answer_and_hold(
            {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + http_reply("real"),
                http_reply("next")}));
    auto const got = send(ask()).value();
    BOOST_TEST(got.body == "real");
    BOOST_TEST(got.fields.find("link") == "");
    BOOST_TEST(send(ask()).value().body == "next");
    BOOST_TEST(client().counters().connects == 1u);
}

BOOST_AUTO_TEST_CASE(an_answer_to_head_and_one_without_content_have_no_body_to_wait_for)
{
    play(io,
        answer_and_hold({"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"}));
    auto head = ask();
    head.method = "HEAD";
    head.body.clear();
    BOOST_TEST(send(std::move(head)).value().status == 200);
    BOOST_TEST(send(ask()).value().status == 204);
    BOOST_TEST(send(ask()).value().body == "ok");
    BOOST_TEST(client().counters().connects == 1u);
}

// It was waited for until the whole body was written, which the server never read.
BOOST_AUTO_TEST_CASE(an_answer_that_comes_before_the_request_is_written_is_read_and_the_connection_given_up)
{
    auto part = [](web_hook_peers& here, bool hangs_up) -> asio::awaitable<void> {
        auto stream = co_await here.server.accept();
        string head;
        co_await asio::async_read_until(stream, asio::dynamic_buffer(head), "\r\n\r\n", asio::use_awaitable);
        co_await say(stream, http_reply("too much", "HTTP/1.1 413 Content Too Large"));
        if (hangs_up) stream.close();               // a reset, for there are bytes unread
        auto again = co_await here.server.accept(); // for the next request
        co_await read_request(again);
        co_await say(again, http_reply("fine"));
    };
    for (bool const hangs_up : {false, true}) {
        made.reset();
        play(io, part(*this, hangs_up));
        auto request = ask();
        request.body.assign(64 * 1024 * 1024, 'x');
        auto const got = send(std::move(request)).value();
        BOOST_TEST(got.status == 413);
        BOOST_TEST(got.body == "too much");
        BOOST_TEST(send(ask()).value().body == "fine");
        BOOST_TEST(client().counters().connects == 2u);
    }
}

BOOST_AUTO_TEST_CASE(a_large_body_arrives_whole)
{
    play(io, answer_with({http_reply("got it")}));
    auto request = ask();
    request.body.assign(8 * 1024 * 1024, 'x');
    BOOST_TEST(send(std::move(request)).value().body == "got it");
    BOOST_TEST(heard.at(0).size() > 8u * 1024 * 1024);
}

BOOST_AUTO_TEST_CASE(a_connection_that_closes_before_an_answer_is_stale_if_it_was_used_before_and_else_closed)
{
    auto part = [](web_hook_peers& here) -> asio::awaitable<void> {
        for (int before = 0; before < 2; ++before) {
            auto stream = co_await here.server.accept();
            for (int i = 0; i < before; ++i) {
                co_await read_request(stream);
                co_await say(stream, http_reply("first"));
            }
            co_await read_request(stream);
        }
    };
    play(io, part(*this));
    auto const closed = error_of(ask());
    BOOST_TEST(closed.fault == web_hook_fault::closed);
    BOOST_TEST(closed.why.retryable);
    BOOST_TEST(send(ask()).value().body == "first");
    auto const stale = error_of(ask());
    BOOST_TEST(stale.fault == web_hook_fault::stale);
    BOOST_TEST(stale.status == 0);
    BOOST_TEST(client().counters().replays == 0u);
}

BOOST_AUTO_TEST_CASE(a_request_is_sent_again_only_where_asked_and_only_on_a_stale_connection)
{
    auto part = [](web_hook_peers& here) -> asio::awaitable<void> {
        {
            auto stream = co_await here.server.accept();
            co_await read_request(stream);
            co_await say(stream, http_reply("first"));
            co_await read_request(stream);
        }
        {
            auto stream = co_await here.server.accept();
            here.heard.push_back(co_await read_request(stream));
            co_await say(stream, http_reply("again"));
            co_await read_request(stream);
        }
        auto fresh = co_await here.server.accept();
        co_await read_request(fresh); // and closed once more, on a connection that had carried nothing
    };
    play(io, part(*this));
    BOOST_TEST(send(ask()).value().body == "first");
    auto twice = ask();
    twice.body = "the same";
    twice.replay = true;
    BOOST_TEST(send(twice).value().body == "again");
    BOOST_TEST(heard.at(0).ends_with("the same"));
    BOOST_TEST(error_of(twice).fault == web_hook_fault::closed);
    BOOST_TEST(client().counters().replays == 2u);
}

BOOST_AUTO_TEST_CASE(a_connection_that_was_closed_while_it_was_idle_is_found_out_before_it_is_used)
{
    play(io, answer_with({http_reply("one")}));
    BOOST_TEST(send(ask()).value().body == "one");
    play(io, answer_with({http_reply("two")}));
    BOOST_TEST(send(ask()).value().body == "two");
    BOOST_TEST(client().counters().connects == 2u);
    BOOST_TEST(client().counters().requests == 2u);
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_cut_off_tells_its_status_if_its_headers_came_and_nothing_else)
{
    struct {
        char const* text;
        int status;
    } const cases[] = {{"HTTP/1.1 200 OK\r\nconte", 0},
        {"HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 10\r\n\r\nfour", 200},
        {"HTTP/1.1 503 Busy\r\nx: y\r\ntransfer-encoding: chunked\r\n\r\n8\r\nfour", 503}};
    for (auto const& each : cases) {
        BOOST_TEST_INFO_SCOPE(each.text);
        play(io, answer_with({each.text}));
        auto const got = error_of(ask());
        BOOST_TEST(got.fault == web_hook_fault::cut_off);
        BOOST_TEST(got.status == each.status);
        BOOST_TEST(got.fields.find("x") == (each.status == 0 ? "" : "y"));
    }
}

BOOST_AUTO_TEST_CASE(an_answer_beyond_the_limit_is_too_large_with_its_status_and_its_connection_is_closed)
{
    options.max_answer_bytes = 1'000;
    options.max_header_bytes = 1'024;
    string const many(1'001, 'x');
    struct {
        string text;
        int status;
    } const cases[] = {{http_reply(many, "HTTP/1.1 201 Created"), 201},
        {"HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n3e9\r\n" + many, 201},
        {"HTTP/1.1 201 Created\r\n\r\n" + many, 201}, {"HTTP/1.1 201 Created\r\nx: " + many + many, 0}};
    int hung_up_before = 0;
    for (auto const& each : cases) {
        play(io, answer_and_hold({each.text}));
        auto const got = error_of(ask());
        BOOST_TEST(got.fault == web_hook_fault::too_large);
        BOOST_TEST(got.status == each.status);
        wait_for_hang_ups(++hung_up_before);
    }
    play(io, answer_with({http_reply(string(1'000, 'x'))}));
    BOOST_TEST(send(ask()).value().body.size() == 1'000u);
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_not_http_is_a_bad_one)
{
    for (auto const* const text : {"SSH-2.0-OpenSSH_9.2p1\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n",
             "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"}) {
        play(io, answer_and_hold({text}));
        BOOST_TEST(error_of(ask()).fault == web_hook_fault::bad_answer);
    }
}

BOOST_AUTO_TEST_CASE(a_service_that_goes_silent_is_given_up_in_time_and_hung_up_on)
{
    play(io, hold());
    auto request = ask();
    request.timeout = 30ms;
    auto const mute = error_of(request);
    BOOST_TEST(mute.fault == web_hook_fault::timed_out);
    BOOST_TEST(mute.status == 0);
    wait_for_hang_ups(1);

    play(io, answer_and_hold({"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour"}));
    auto const slow = error_of(request);
    BOOST_TEST(slow.fault == web_hook_fault::timed_out);
    BOOST_TEST(slow.status == 200);
    wait_for_hang_ups(2);
}

BOOST_AUTO_TEST_CASE(a_request_that_finds_all_connections_in_use_waits_for_one_and_no_longer_than_its_time)
{
    options.connections = 1;
    asio::steady_timer go(io, tick::max());
    auto part = [](web_hook_peers& here, asio::steady_timer& until) -> asio::awaitable<void> {
        auto stream = co_await here.server.accept();
        co_await read_request(stream);
        co_await until.async_wait(as_values);
        co_await say(stream, http_reply("first"));
        co_await read_request(stream);
        co_await say(stream, http_reply("second"));
    };
    play(io, part(*this, go));
    std::vector<string> bodies;
    auto const note = [&](std::exception_ptr, net::web_hook_result got) {
        bodies.push_back(got ? got->body : string(name(got.error().fault)));
    };
    asio::co_spawn(io, client().send(ask()), note);
    auto hasty = ask();
    hasty.timeout = 20ms;
    BOOST_TEST(error_of(hasty).fault == web_hook_fault::busy);
    asio::co_spawn(io, client().send(ask()), note);
    go.cancel();
    io.restart();
    while (bodies.size() < 2)
        BOOST_REQUIRE(io.run_one() != 0u);
    BOOST_TEST(bodies == (std::vector<string>{"first", "second"}), boost::test_tools::per_element());
    BOOST_TEST(client().counters().connects == 1u);
}

BOOST_AUTO_TEST_CASE(a_cancelled_request_hangs_up)
{
    asio::cancellation_signal stop;
    play(io, hold());
    std::optional<net::web_hook_result> end;
    auto const done = [&](std::exception_ptr, net::web_hook_result got) { end.emplace(std::move(got)); };
    asio::co_spawn(io, client().send(ask()), asio::bind_cancellation_slot(stop.slot(), done));
    while (heard.empty())
        io.run_one();
    stop.emit(asio::cancellation_type::terminal);
    wait_for_hang_ups(1);
    while (!end)
        io.run_one();
    BOOST_TEST(end->error().fault == web_hook_fault::cancelled);
    BOOST_TEST(client().counters().open == 0u);
}

// The write goes on by itself: it must not keep the connection, and the service at work.
BOOST_AUTO_TEST_CASE(a_request_that_is_cancelled_while_it_is_written_hangs_up_as_well)
{
    asio::cancellation_signal stop;
    bool is_begun = false;
    asio::steady_timer go(io, tick::max());
    auto part = [](web_hook_peers& here, bool& begun, asio::steady_timer& until) -> asio::awaitable<void> {
        auto stream = co_await here.server.accept();
        string head;
        co_await asio::async_read_until(stream, asio::dynamic_buffer(head), "\r\n\r\n", asio::use_awaitable);
        begun = true;
        co_await until.async_wait(as_values);
        co_await here.until_closed(stream);
    };
    play(io, part(*this, is_begun, go));
    auto request = ask();
    request.body.assign(64 * 1024 * 1024, 'x');
    std::optional<net::web_hook_result> end;
    auto const done = [&](std::exception_ptr, net::web_hook_result got) { end.emplace(std::move(got)); };
    asio::co_spawn(io, client().send(std::move(request)), asio::bind_cancellation_slot(stop.slot(), done));
    while (!is_begun)
        io.run_one();
    stop.emit(asio::cancellation_type::terminal);
    while (!end)
        io.run_one();
    BOOST_TEST(end->error().fault == web_hook_fault::cancelled);
    go.cancel();
    wait_for_hang_ups(1);
}

BOOST_AUTO_TEST_CASE(closing_ends_what_is_under_way_and_refuses_what_comes)
{
    play(io, hold());
    std::optional<net::web_hook_result> end;
    auto const done = [&](std::exception_ptr, net::web_hook_result got) { end.emplace(std::move(got)); };
    asio::co_spawn(io, client().send(ask()), done);
    while (heard.empty())
        io.run_one();
    client().close();
    wait_for_hang_ups(1);
    while (!end)
        io.run_one();
    BOOST_TEST(end->error().fault == web_hook_fault::cancelled);
    BOOST_TEST(error_of(ask()).fault == web_hook_fault::cancelled);
}

// The object may be gone before the request begins, as when both are spawned and dropped.
BOOST_AUTO_TEST_CASE(a_request_outlives_its_client)
{
    auto late = client().send(ask());
    made.reset();
    BOOST_TEST(run(io, std::move(late)).error().fault == web_hook_fault::cancelled);
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_too_old_gets_no_further_request)
{
    options.max_age = 0ms;
    for (int i = 0; i < 3; ++i) {
        play(io, answer_and_hold({http_reply("once")}));
        BOOST_TEST(send(ask()).value().body == "once");
        wait_for_hang_ups(i + 1);
    }
    BOOST_TEST(client().counters().connects == 3u);
    BOOST_TEST(client().counters().open == 0u);
}

BOOST_AUTO_TEST_CASE(a_connection_that_may_not_rest_is_closed_after_its_request)
{
    options.idle_timeout = 0ms;
    play(io, answer_and_hold({http_reply("once")}));
    BOOST_TEST(send(ask()).value().body == "once");
    wait_for_hang_ups(1);
}

BOOST_AUTO_TEST_CASE(a_request_that_cannot_be_sent_as_it_is_touches_no_connection)
{
    auto request = ask();
    request.headers = {{"X-Attr", "a\r\nX-Evil: 1"}};
    auto const why = error_of(std::move(request));
    BOOST_TEST(why.fault == web_hook_fault::invalid_request);
    BOOST_TEST(why.why.message.find("Evil") == string::npos);
    BOOST_TEST(client().counters().connects == 0u);
}

BOOST_AUTO_TEST_CASE(a_setting_that_cannot_work_is_refused_by_name)
{
    auto const refused = [&](string const& name) {
        auto const wrong = options.validate();
        BOOST_REQUIRE(wrong);
        BOOST_TEST(wrong->message.find(name) != string::npos, wrong->message);
        BOOST_CHECK_THROW(client(), boost::system::system_error);
        options = net::web_hook_options();
    };
    options.connections = 0;
    refused("connections");
    options.connect_timeout = 0ms;
    refused("connect_timeout");
    options.max_age = -1ms;
    refused("max_age");
    options.idle_timeout = 25h;
    refused("idle_timeout");
    options.max_answer_bytes = 0;
    refused("max_answer_bytes");
    options.max_header_bytes = 1;
    refused("max_header_bytes");
    options.key_file = "k.pem";
    refused("key_file");
    options.proxy = "socks5://x";
    refused("proxy");
    BOOST_TEST(!options.validate());
}

BOOST_AUTO_TEST_SUITE_END()
