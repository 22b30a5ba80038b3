// Writes orders to a database that likes many rows at once: batches QUEUE_URL
#include <quern/quern.hpp>

#include <csignal>
#include <iostream>
#include <vector>

using namespace std::chrono_literals;
using outcomes = std::vector<quern::outcome>;

boost::asio::awaitable<outcomes> insert(quern::deliveries orders)
{
    outcomes said;
    for (quern::delivery& order : orders) {
        std::cout << order.body() << '\n'; // one statement for all of them, in earnest
        said.push_back(order.body().empty() ? quern::reject("empty") : quern::ack());
    }
    std::cout << std::flush;
    co_return said; // one for each, in the same order; an exception has all of them tried again
}

int main(int argc, char* argv[])
{
    if (argc != 2) return 2;
    quern::consumer_options options;
    options.batch.size = 100;
    options.batch.window = 500ms;

    boost::asio::io_context io;
    quern::consumer orders(io, argv[1], insert, options);
    orders.drain_on({SIGINT, SIGTERM});
    orders.start();
    io.run();
}
