// The relay between a broker and a web service, over real sockets.

#include <quern/consumer/consumer.hpp>
#include <quern/net/web_hook_client.hpp>
#include <quern/relay/relay.hpp>

#include "support/live_broker.hpp"
#include "support/loopback.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <map>
#include <set>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

/// A web service: a status for the body of a request, as often as a connection asks.
struct web_service {
    explicit web_service(asio::io_context& context) : io(context), server(context) { play(context, accept_all()); }

    asio::awaitable<void> accept_all()
    {
        for (;;) {
            auto socket = co_await server.accept();
            asio::co_spawn(io, serve(std::move(socket)), [](std::exception_ptr) {}); // it hangs up when it likes
        }
    }

    asio::awaitable<void> serve(loopback::socket socket)
    {
        for (;;) {
            auto const request = co_await read_lower(socket);
            auto const body = request.substr(request.find("\r\n\r\n") + 4);
            requests.insert(request);
            auto const said = answer(body, ++times[body]);
            co_await say(socket, said);
        }
    }

    /// The support reads "content-length: ".
    asio::awaitable<std::string> read_lower(loopback::socket& socket)
    {
        std::string text;
        auto const buffer = asio::dynamic_buffer(text);
        auto const head = co_await asio::async_read_until(socket, buffer, "\r\n\r\n", asio::use_awaitable);
        auto at = text.find("Content-Length: ");
        if (at == text.npos) at = text.find("content-length: ");
        auto const length = at < head ? std::stoul(text.substr(at + 16)) : 0;
        if (auto const have = text.size() - head; have < length) {
            auto const rest = asio::transfer_exactly(length - have);
            co_await asio::async_read(socket, buffer, rest, asio::use_awaitable);
        }
        co_return text;
    }

    asio::io_context& io;
    loopback server;
    std::multiset<std::string> requests;
    std::map<std::string, int> times; // by body
    std::function<std::string(std::string const& body, int time)> answer = [](auto const&, int) {
        return http_reply("done");
    };
};

struct live {
    live_broker broker;
    std::string url = broker.create("orders");
    asio::io_context io;
    web_service web{io};
    relay::relay_options how;

    live()
    {
        how.request.url = relay::url_template::parse(web.server.url() + "/hook?id={{id}}").value();
        how.log = nullptr;
    }

    /// Relays until so many messages are acknowledged.
    drain_report run(std::uint64_t count, consumer_options options = {})
    {
        net::web_hook_client client(io.get_executor());
        relay::relay to(client, relay::queue_name::from_url(url, "us-east-1"), how);
        options.system_attributes = relay::system_attributes_for(how.request);
        options.wait_time = 1s;
        options.backoff = policy::backoff::fixed({0ms});
        options.log = nullptr;
        consumer c(io, url, to.handler(), options);
        c.start();
        while (c.counters().acked < count)
            io.run_one();
        std::optional<drain_report> report;
        asio::co_spawn(io, c.drain(10s), [&](std::exception_ptr, drain_report r) { report = r; });
        while (!report)
            io.run_one();
        client.close();
        return *report;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(relay_live, live)

BOOST_AUTO_TEST_CASE(each_message_is_posted_once_and_the_queue_is_empty)
{
    broker.send(url, 200);
    auto const report = run(200);
    BOOST_TEST(report.clean());
    BOOST_TEST(web.times.size() == 200u);
    BOOST_TEST(web.requests.size() == 200u);
    BOOST_TEST(broker.depth(url) == 0u);
    auto const& one = *web.requests.begin();
    BOOST_TEST(one.starts_with("POST /hook?id="));
    BOOST_TEST(one.find("\r\nQuern-Queue: orders\r\n") != one.npos);
}

BOOST_AUTO_TEST_CASE(whatever_the_service_answers_nothing_is_lost)
{
    web.answer = [](std::string const& body, int time) -> std::string {
        if (time > 1) return http_reply("done");
        switch (std::stoi(body.substr(1)) % 8) {
        case 0: return http_reply("", "HTTP/1.1 500 Oh");
        case 1: return http_reply("", "HTTP/1.1 303 See\r\nlocation: http://127.0.0.1:1/");
        case 2: return http_reply("", "HTTP/1.1 404 Not Found");
        case 3: return "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\ncut";
        case 4: return http_reply("", "HTTP/1.1 429 Slow\r\nretry-after: 0");
        default: return http_reply("done");
        }
    };
    how.timeout = 500ms; // ends those whose answer is never whole
    broker.send(url, 80);
    consumer_options options;
    options.outage.breaker.reset();
    auto const report = run(80, options);
    BOOST_TEST(report.clean());
    BOOST_TEST(web.times.size() == 80u);
    BOOST_TEST(broker.depth(url) == 0u);
    BOOST_TEST(web.requests.size() == 120u); // four in eight came twice; nobody reads the body that was cut
}

BOOST_AUTO_TEST_SUITE_END()
