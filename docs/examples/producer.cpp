// Sends a thousand orders from a hundred coroutines, which share requests: a hundred and some.
#include <quern/quern.hpp>

#include <boost/asio/co_spawn.hpp>

#include <iostream>

namespace asio = boost::asio;

struct tally {
    int begun = 0, sent = 0;
};

asio::awaitable<void> send_orders(quern::producer& orders, tally& count)
{
    while (count.begun != 1'000) {
        quern::sqs::send_message_entry order("order " + std::to_string(++count.begun));
        auto const sent = co_await orders.send(std::move(order)); // until SQS has confirmed it
        if (sent) {
            ++count.sent;
        } else {
            std::cerr << describe(sent.error()) << '\n';
        }
    }
}

int main(int argc, char* argv[])
try {
    if (argc != 2) return 2;
    asio::io_context io;
    quern::producer orders(io, argv[1]); // region, endpoint and keys: from the environment
    tally count;
    for (int i = 0; i < 100; ++i) {
        asio::co_spawn(io, send_orders(orders, count), [](std::exception_ptr failed) {
            if (failed) std::rethrow_exception(failed);
        });
    }
    io.run(); // until all are done: an idle producer is no work
    std::cout << "sent " << count.sent << " of " << count.begun << '\n';
} catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
