// A consumer in a program that has no coroutines but its handlers: tokens QUEUE_URL
#include <quern/quern.hpp>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <csignal>
#include <iostream>
#include <syncstream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> handle(quern::delivery& order)
{
    std::osyncstream(std::cout) << order.body() << std::endl;
    co_return;
}

int main(int argc, char* argv[])
{
    if (argc != 2) return 2;
    asio::thread_pool pool(2);
    quern::consumer_options options;
    options.wait_time = 2s; // for a short drain while the queue is empty
    quern::consumer orders(pool, argv[1], handle, options);

    asio::signal_set signals(pool, SIGINT, SIGTERM);
    signals.async_wait([&](boost::system::error_code, int) {
        orders.drain(30s, [](boost::system::error_code, quern::drain_report const& left) {
            std::osyncstream(std::cerr) << left.stranded << " messages come again" << std::endl;
        });
    });

    quern::result<quern::drain_report> const end = orders.run(asio::use_future).get(); // waits here
    signals.cancel();
    pool.join();
    if (end) return 0;
    std::cerr << describe(end.error()) << '\n';
    return 1;
}
