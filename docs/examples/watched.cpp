// Prints orders until SIGINT or SIGTERM, and shows on a port what it does: watched QUEUE_URL
#include <quern/admin/host.hpp>
#include <quern/quern.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <csignal>
#include <exception>
#include <iostream>

boost::asio::awaitable<void> handle(quern::delivery& order)
{
    std::cout << order.body() << std::endl;
    co_return;
}

boost::asio::awaitable<void> consume(std::string url)
{
    auto const here = co_await boost::asio::this_coro::executor;
    quern::admin::host page(here, {.program = "orders"}); // {.web = {.port = 9090}, …}: not any free port

    quern::consumer_options options;
    options.observer = page.observe(url); // a second argument: an observer of yours
    quern::consumer orders(here, url, handle, options);
    page.watch(url, orders);
    page.begin().value();
    std::cout << page.url() << std::endl;

    orders.drain_on({SIGINT, SIGTERM});
    co_await orders.run();
    co_await page.end(); // before the consumer goes
}

int main(int argc, char* argv[])
{
    if (argc != 2) return 2;

    boost::asio::io_context io;
    boost::asio::co_spawn(io, consume(argv[1]), [](std::exception_ptr wrong) {
        if (wrong) std::rethrow_exception(wrong);
    });
    io.run();
}
