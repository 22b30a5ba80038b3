// Orders as JSON, through two functions around their handler: middleware QUEUE_URL
#include <quern/consumer/json.hpp>
#include <quern/consumer/middleware.hpp>
#include <quern/quern.hpp>

#include <csignal>
#include <iostream>
#include <set>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

struct order {
    std::string item;
    std::int64_t count = 0;
};

order decode(quern::json_document& body)
{
    return {quern::json_member<std::string>(body, "item"), quern::json_member<std::int64_t>(body, "count")};
}

asio::awaitable<void> handle(order const& wanted, quern::delivery&)
{
    std::cout << wanted.count << ' ' << wanted.item << std::endl;
    co_return;
}

/// Says how each message ended. An exception passes: it is no end that this one judges.
asio::awaitable<quern::outcome> told(quern::delivery& d, quern::handler const& next)
{
    auto const said = co_await next(d);
    if (said.what() == quern::outcome::kind::ack) std::cout << "done" << std::endl;
    co_return said;
}

/// Handles what has the same text once, as far as this process knows.
struct once {
    std::set<std::string, std::less<>> done;

    asio::awaitable<quern::outcome> operator()(quern::delivery& d, quern::handler const& next)
    {
        if (done.contains(d.body())) co_return quern::ack(); // the rest of the chain never sees it
        auto const said = co_await next(d);
        if (said.what() == quern::outcome::kind::ack) done.emplace(d.body());
        co_return said;
    }
};

} // namespace

int main(int argc, char* argv[])
{
    if (argc != 2) return 2;
    quern::consumer_options options;
    options.limits.max_in_flight = 1; // or two of the same text would be in the chain at once
    options.wait_time = 2s;           // for a short drain while the queue is empty
    options.on_malformed = quern::malformed_policy::discard;

    asio::io_context io;
    auto const handler = quern::chain(told, once(), quern::json<order>(decode, handle));
    quern::consumer orders(io, argv[1], handler, options);
    orders.drain_on({SIGINT, SIGTERM});
    orders.start();
    io.run();
}
