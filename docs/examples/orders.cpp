// Prints orders until SIGINT or SIGTERM: orders QUEUE_URL
#include <quern/quern.hpp>

#include <csignal>
#include <iostream>

boost::asio::awaitable<void> handle(quern::delivery& order)
{
    std::cout << order.body() << std::endl;
    co_return; // the message is deleted; an exception would have it tried again
}

int main(int argc, char* argv[])
{
    if (argc != 2) return 2;

    boost::asio::io_context io;
    quern::consumer orders(io, argv[1], handle);
    orders.drain_on({SIGINT, SIGTERM});
    orders.start();
    io.run();
}
