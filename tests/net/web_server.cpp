#include "net/running_web_server.hpp"

#include <memory>

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

std::string get(std::string_view target, std::string_view more = "Host: localhost\r\n")
{
    return "GET " + std::string(target) + " HTTP/1.1\r\n" + std::string(more) + "\r\n";
}

reply ask(running& s, std::string const& request)
{
    auto client = s.connect();
    client.send(request);
    return client.receive();
}

} // namespace

BOOST_AUTO_TEST_SUITE(web_server)

BOOST_AUTO_TEST_CASE(a_connection_serves_one_request_after_the_other)
{
    running s;
    auto client = s.connect();
    client.send(get("/?a=1") + get("/") + get("/absent"));
    BOOST_TEST(client.receive().body == "hello a=1");
    BOOST_TEST(client.receive().body == "hello ");
    BOOST_TEST(client.receive().status == 404);
    client.send("GE");
    client.send("T / HTTP/1.1\r\nHo");
    client.send("st: localhost\r\n\r\n");
    BOOST_TEST(client.receive().status == 200);
    BOOST_TEST(s.counters().connections == 1u);
}

BOOST_AUTO_TEST_CASE(every_answer_binds_the_browser)
{
    running s;
    for (auto const* target : {"/", "/absent", "/bug"}) {
        auto const answer = ask(s, get(target));
        BOOST_TEST(answer.fields.at("x-content-type-options") == "nosniff");
        BOOST_TEST(answer.fields.at("cross-origin-resource-policy") == "same-origin");
        BOOST_TEST(answer.fields.at("cache-control") == "no-store");
        BOOST_TEST(answer.fields.at("content-security-policy").starts_with("default-src 'none'"));
    }
}

BOOST_AUTO_TEST_CASE(a_head_has_the_length_and_no_body)
{
    running s;
    auto client = s.connect();
    client.send("HEAD /?x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    auto const all = client.rest();
    BOOST_TEST(all.find("Content-Length: 7\r\n") != all.npos);
    BOOST_TEST(all.ends_with("\r\n\r\n"));
}

BOOST_AUTO_TEST_CASE(nothing_but_looking_is_answered)
{
    running s;
    for (std::string const method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"}) {
        auto client = s.connect();
        client.send(method + " / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc");
        auto const answer = client.receive();
        BOOST_TEST(answer.status == 405, method);
        BOOST_TEST(client.is_closed());
    }
    BOOST_TEST(ask(s, "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n").fields.at("allow") == "GET, HEAD");
    BOOST_TEST(ask(s, get("/", "Host: localhost\r\nContent-Length: 3\r\n") + "abc").status == 413);
    BOOST_TEST(ask(s, get("/", "Host: localhost\r\nTransfer-Encoding: gzip\r\n")).status == 501);
}

BOOST_AUTO_TEST_CASE(a_name_that_was_not_allowed_is_refused)
{
    net::web_server_options options;
    options.hosts = {"consumer.internal"};
    running s(options);
    for (auto const* good : {"localhost", "127.0.0.1:9090", "[::1]", "Consumer.Internal:80"})
        BOOST_TEST(ask(s, get("/", "Host: " + std::string(good) + "\r\n")).status == 200, good);
    for (auto const* bad : {"evil.example", "evil.example:9090", "127.0.0.1.evil.example", "10.0.0.7", "xlocalhost"})
        BOOST_TEST(ask(s, get("/", "Host: " + std::string(bad) + "\r\n")).status == 403, bad);
    BOOST_TEST(ask(s, get("/", "")).status == 400);
    BOOST_TEST(ask(s, get("/", "Host: localhost\r\nHost: evil.example\r\n")).status == 400);
    BOOST_TEST(ask(s, "GET / HTTP/1.0\r\n\r\n").status == 400);
}

BOOST_AUTO_TEST_CASE(beyond_the_loopback_addresses_are_answered_to_and_names_are_not)
{
    net::web_server_options options;
    options.address = "0.0.0.0";
    options.hosts = {"pod"};
    running s(options);
    for (auto const* good : {"10.0.0.7:9090", "localhost", "pod"})
        BOOST_TEST(ask(s, get("/", "Host: " + std::string(good) + "\r\n")).status == 200, good);
    BOOST_TEST(ask(s, get("/", "Host: evil.example\r\n")).status == 403);
}

BOOST_AUTO_TEST_CASE(scripts_of_other_sites_are_refused_and_links_from_there_are_not)
{
    running s;
    auto const with = [](std::string const& site, std::string const& mode) {
        return get("/", "Host: localhost\r\nSec-Fetch-Site: " + site + "\r\nSec-Fetch-Mode: " + mode + "\r\n");
    };
    BOOST_TEST(ask(s, with("cross-site", "no-cors")).status == 403);
    BOOST_TEST(ask(s, with("same-site", "cors")).status == 403);
    BOOST_TEST(ask(s, with("cross-site", "navigate")).status == 200);
    BOOST_TEST(ask(s, with("same-origin", "cors")).status == 200);
    BOOST_TEST(ask(s, with("none", "navigate")).status == 200);
}

BOOST_AUTO_TEST_CASE(a_bug_is_an_answer_that_tells_nothing)
{
    running s;
    auto const answer = ask(s, get("/bug"));
    BOOST_TEST(answer.status == 500);
    BOOST_TEST(answer.body.find("secret") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_header_without_end_is_refused_at_its_limit)
{
    running s;
    for (std::string const& piece : {std::string("X: ") + std::string(20'000, 'x'), std::string(20'000, 'G')}) {
        auto client = s.connect();
        client.send_some("GET / HTTP/1.1\r\nHost: localhost\r\n" + piece);
        BOOST_TEST(client.receive().status == 431);
    }
    auto client = s.connect();
    client.send("GET / HTTP/1.1\r\nHost: localhost\r\n");
    for (int i = 0; i != 1000; ++i)
        client.send_some("X-Many-" + std::to_string(i) + ": 0123456789\r\n");
    BOOST_TEST(client.receive().status == 431);
    BOOST_TEST(ask(s, std::string(100, '\0') + "\r\n\r\n").status == 400);
    BOOST_TEST(ask(s, get("/")).status == 200);
}

BOOST_AUTO_TEST_CASE(a_slow_header_is_cut_however_it_dribbles_in)
{
    running s;
    auto silent = s.connect();
    auto slow = s.connect();
    slow.send(get("/") + "GET / HT");
    BOOST_TEST(slow.receive().status == 200);
    s.until_counters([](auto const& c) { return c.open == 2; });
    s.advance(4s);
    slow.send("TP/1.1\r\nHo");
    BOOST_TEST(s.counters().cut == 0u);
    s.advance(2s);
    BOOST_TEST(silent.is_closed());
    BOOST_TEST(slow.is_closed());
    BOOST_TEST(s.counters().cut == 2u);
}

BOOST_AUTO_TEST_CASE(an_idle_connection_is_closed_after_a_while)
{
    running s;
    auto client = s.connect();
    client.send(get("/"));
    BOOST_TEST(client.receive().status == 200);
    s.advance(74s);
    client.send(get("/"));
    BOOST_TEST(client.receive().status == 200);
    s.advance(80s);
    BOOST_TEST(client.is_closed());
}

BOOST_AUTO_TEST_CASE(a_thousand_connections_leave_as_many_as_the_limit_and_a_page_is_still_served)
{
    net::web_server_options options;
    options.max_connections = 16;
    running s(options);
    auto following = s.connect();
    following.send(get("/follow"));
    s.until_counters([](auto const& c) { return c.followers == 1; });
    {
        std::vector<std::unique_ptr<socket_client>> all;
        for (int i = 0; i != 500; ++i)
            all.push_back(std::make_unique<socket_client>(s.port));
        s.until_counters([](auto const& c) { return c.connections == 501; });
        BOOST_TEST(s.counters().open <= 17u);
        BOOST_TEST(ask(s, get("/")).status == 200);
    }
    for (int i = 0; i != 500; ++i)
        s.connect();
    BOOST_TEST(ask(s, get("/")).status == 200);
    s.tell("still here\n");
    BOOST_TEST(s.counters().followers == 1u);
}

BOOST_AUTO_TEST_CASE(followers_are_told_and_are_few)
{
    net::web_server_options options;
    options.max_followers = 2;
    running s(options);
    std::vector<std::unique_ptr<socket_client>> all;
    for (int i = 0; i != 2; ++i) {
        all.push_back(std::make_unique<socket_client>(s.port));
        all.back()->send(get("/follow"));
    }
    s.until_counters([](auto const& c) { return c.followers == 2; });
    BOOST_TEST(ask(s, get("/follow")).status == 503);
    BOOST_TEST(all[0]->wait_for("first\n").find("Connection: close\r\n") != std::string::npos);
    all[1]->wait_for("first\n");
    s.tell("second\n");
    BOOST_TEST(all[0]->wait_for("second\n") == "second\n");
    BOOST_TEST(all[1]->wait_for("second\n") == "second\n");

    all.pop_back();
    while (s.counters().followers != 1) // a write tells that it is gone
        s.tell("third\n");
    all.push_back(std::make_unique<socket_client>(s.port));
    all.back()->send(get("/follow"));
    all.back()->wait_for("first\n");
    BOOST_TEST(s.counters().followers == 2u);
}

BOOST_AUTO_TEST_CASE(a_follower_that_takes_nothing_is_dropped_and_holds_nobody_up)
{
    running s;
    auto slow = s.connect(), quick = s.connect();
    slow.send(get("/follow"));
    quick.send(get("/follow"));
    quick.wait_for("first\n");
    s.until_counters([](auto const& c) { return c.followers == 2; });
    std::string const large(8'000'000, 'x'); // more than two sockets hold
    s.tell(large + "\n");
    quick.wait_for("x\n");
    s.tell("small\n");
    quick.wait_for("small\n");
    BOOST_TEST(s.counters().followers == 2u);
    s.advance(6s);
    s.until_counters([](auto const& c) { return c.followers == 1; });
    s.tell("on\n");
    quick.wait_for("on\n");
}

BOOST_AUTO_TEST_CASE(closing_ends_all)
{
    running s;
    auto idle = s.connect(), following = s.connect();
    following.send(get("/follow"));
    following.wait_for("first\n");
    s.until_counters([](auto const& c) { return c.open == 2; });
    s.close();
    BOOST_TEST(idle.is_closed());
    BOOST_TEST(following.is_closed());
}

// 62 clients that took none of their answers held half a gigabyte.
BOOST_AUTO_TEST_CASE(answers_that_nobody_takes_are_bounded)
{
    running s;
    std::vector<std::unique_ptr<socket_client>> deaf;
    for (int i = 0; i != 10; ++i) {
        deaf.push_back(std::make_unique<socket_client>(s.port));
        deaf.back()->send(get("/large"));
    }
    s.until_counters([](auto const& c) { return c.cut >= 7; }); // two or three are left, with 8 MiB each
    BOOST_TEST(ask(s, get("/")).status == 200);
}

BOOST_AUTO_TEST_CASE(a_post_is_taken_where_it_may_come_from_who_has_the_token)
{
    net::web_server_options options;
    BOOST_TEST(running(options).token().empty());
    options.max_body_bytes = 1000;
    running s(options);
    auto const post = [](std::string const& more, std::string const& body) {
        return "POST /do HTTP/1.1\r\nHost: localhost:80\r\n" + more +
            "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    };
    auto const token = "X-Quern-Token: " + s.token() + "\r\n";
    auto client = s.connect();
    client.send(post(token, "one") + get("/?a"));
    BOOST_TEST(client.receive().body == "took /do one");
    BOOST_TEST(client.receive().body == "hello a");
    BOOST_TEST(
        ask(s, post(token + "Origin: http://localhost:80\r\nSec-Fetch-Site: same-origin\r\n", "x")).status == 200);
    BOOST_TEST(ask(s, post("", "x")).status == 403);
    BOOST_TEST(ask(s, post(token + "Origin: http://localhost\r\n", "x")).status == 403);
    BOOST_TEST(ask(s, post(token + "Sec-Fetch-Site: none\r\n", "x")).status == 403);
    BOOST_TEST(ask(s, "PUT / HTTP/1.1\r\nHost: localhost\r\n" + token + "\r\n").status == 405);
    BOOST_TEST(ask(s, get("/", "Host: localhost\r\nContent-Length: 3\r\n") + "abc").status == 413);
    BOOST_TEST(ask(s, post(token, std::string(1001, 'x'))).status == 413);
}

BOOST_AUTO_TEST_CASE(a_body_has_the_time_of_its_header)
{
    net::web_server_options options;
    options.max_body_bytes = 1000;
    running s(options);
    auto client = s.connect();
    client.send(
        "POST / HTTP/1.1\r\nHost: localhost\r\nX-Quern-Token: " + s.token() + "\r\nContent-Length: 9\r\n\r\nabc");
    s.until_counters([](auto const& c) { return c.open == 1; });
    s.advance(6s);
    BOOST_TEST(client.is_closed());
}

BOOST_AUTO_TEST_CASE(options_that_cannot_work_are_named)
{
    auto const wrong = [](auto change) {
        net::web_server_options o;
        change(o);
        auto const why = o.validate();
        return why ? why->message : "";
    };
    BOOST_TEST(wrong([](auto&) {}).empty());
    BOOST_TEST(wrong([](auto& o) { o.address = "localhost"; }).find("address") != std::string::npos);
    BOOST_TEST(wrong([](auto& o) { o.max_header_bytes = 10; }).find("max_header_bytes") != std::string::npos);
    BOOST_TEST(wrong([](auto& o) { o.max_connections = 0; }).find("max_connections") != std::string::npos);
    BOOST_TEST(wrong([](auto& o) { o.max_followers = 0; }).find("max_followers") != std::string::npos);
    BOOST_TEST(wrong([](auto& o) { o.write_timeout = 0ms; }).find("write_timeout") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
