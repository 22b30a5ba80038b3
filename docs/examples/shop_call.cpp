// Posts each order to a shop over HTTP, and says how its drain went: shop_call QUEUE_URL HOST PORT
#include <quern/quern.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <csignal>
#include <iostream>
#include <string>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using namespace std::chrono_literals;

namespace {

struct shop {
    std::string host, port;

    /// Completes with the status of the answer; throws when none has come in time.
    asio::awaitable<unsigned> post(std::string body) const
    {
        auto const ex = co_await asio::this_coro::executor;
        asio::ip::tcp::resolver resolver(ex);
        auto const addresses = co_await resolver.async_resolve(host, port, asio::use_awaitable);
        beast::tcp_stream stream(ex);
        stream.expires_after(5s); // for all that follows
        co_await stream.async_connect(addresses, asio::use_awaitable);

        http::request<http::string_body> request(http::verb::post, "/orders", 11);
        request.set(http::field::host, host);
        request.body() = std::move(body);
        request.prepare_payload();
        co_await http::async_write(stream, request, asio::use_awaitable);

        beast::flat_buffer buffer;
        http::response<http::string_body> answer;
        co_await http::async_read(stream, buffer, answer, asio::use_awaitable);
        co_return answer.result_int();
    }

    asio::awaitable<quern::outcome> handle(quern::delivery& order) const
    {
        unsigned status = 503;
        try {
            std::string body(order.body());
            status = co_await post(std::move(body));
        } catch (boost::system::system_error const& e) {
            if (e.code() == asio::error::operation_aborted) throw; // the consumer has cancelled it
            std::cerr << e.what() << '\n';
        }
        std::cout << order.body() << ' ' << status << std::endl;
        if (status < 300) co_return quern::ack();
        if (status >= 500) co_return quern::unavailable(); // the shop's fault: every order would fail now
        co_return quern::reject("the shop said " + std::to_string(status));
    }
};

} // namespace

int main(int argc, char* argv[])
{
    if (argc != 4) return 2;
    shop const ours{argv[2], argv[3]};
    quern::consumer_options options;
    options.limits.max_in_flight = 50; // as many connections as the shop bears
    options.wait_time = 2s;            // for a short drain while the queue is empty

    asio::io_context io;
    quern::consumer orders(
        io, argv[1], [&ours](quern::delivery& order) { return ours.handle(order); }, options);
    orders.drain_on({SIGINT, SIGTERM});
    asio::co_spawn(io, orders.drained(), [](std::exception_ptr, quern::drain_report const& how) {
        std::cout << (how.clean() ? "nothing left behind" : to_json(how)) << std::endl;
    });
    orders.start();
    io.run();
}
