// A consumer over real sockets, whose context somebody else's library runs on four threads.

#include <quern/broker/server.hpp>
#include <quern/quern.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void run_threads(asio::io_context&, int how_many);

namespace {

constexpr int all = 500;
std::atomic<int> handled{0};

asio::awaitable<void> look_up(int n)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(n % 3));
    co_await timer.async_wait(asio::use_awaitable);
}

} // namespace

int main()
{
    asio::io_context apart;
    quern::broker::server broker(apart.get_executor(), quern::broker::server_options{.port = 0});
    broker.listen().value();
    auto const url =
        broker.queues().create_queue(quern::sqs::create_queue_request("orders"), broker.now()).value().queue_url;
    for (int i = 0; i < all; ++i) {
        quern::sqs::send_message_request order(url, std::to_string(i));
        broker.queues().send_message(std::move(order), broker.now()).value();
    }
    auto const where = broker.url();
    std::thread serves([&] { apart.run(); });

    ::setenv("AWS_ACCESS_KEY_ID", "quern", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "quern", 1);
    ::setenv("AWS_ENDPOINT_URL", where.c_str(), 1);
    ::setenv("AWS_REGION", "us-east-1", 1);

    asio::io_context io;
    quern::consumer_options options;
    options.wait_time = 1s;
    quern::consumer* running = nullptr;
    auto handle = [&running](quern::delivery&) -> asio::awaitable<void> {
        for (int i = 0; i < 5; ++i)
            co_await look_up(i);
        if (++handled == all) running->stop();
    };
    quern::consumer consumer(io, where + "/000000000000/orders", handle, options);
    running = &consumer;
    consumer.start();
    run_threads(io, 4);

    asio::co_spawn(apart, broker.stop(), [](std::exception_ptr) {});
    serves.join();
    std::printf("handled %d of %d\n", handled.load(), all);
    return handled == all ? 0 : 1;
}
