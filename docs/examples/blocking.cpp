// A handler that blocks, on threads of its own: blocking QUEUE_URL
#include <quern/quern.hpp>

#include <boost/asio/thread_pool.hpp>

#include <csignal>
#include <iostream>
#include <syncstream>
#include <thread>

using namespace std::chrono_literals;

void handle(quern::delivery& order)
{
    std::this_thread::sleep_for(100ms); // a driver that knows no coroutines
    std::osyncstream(std::cout) << order.body() << std::endl;
}

int main(int argc, char* argv[])
{
    if (argc != 2) return 2;
    boost::asio::thread_pool workers(4);
    quern::consumer_options options;
    options.handler_executor = workers.get_executor();
    options.limits.max_in_flight = 16; // four at work, twelve waiting for a thread
    options.wait_time = 2s;            // for a short drain while the queue is empty

    boost::asio::io_context io; // receives, leases, deletes: never blocked
    quern::consumer orders(io, argv[1], handle, options);
    orders.drain_on({SIGINT, SIGTERM});
    orders.start();
    io.run();
}
