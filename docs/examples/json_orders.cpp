// Orders as JSON, {"item":"rolls","count":3}; what is none goes to another queue: json_orders QUEUE_URL BAD_URL
#include <quern/quern.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>

#include <csignal>
#include <iostream>
#include <string>

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

struct order {
    std::string item;
    std::int64_t count = 0;
};

order parse(std::string_view body)
{
    try {
        auto const fields = json::parse(json::string_view(body.data(), body.size()));
        return {json::value_to<std::string>(fields.at("item")), fields.at("count").to_number<std::int64_t>()};
    } catch (std::exception const& e) {
        throw quern::parse_error(e.what()); // no failure that may pass: see on_malformed
    }
}

asio::awaitable<void> handle(quern::delivery& message)
{
    auto const wanted = parse(message.body());
    std::cout << wanted.count << ' ' << wanted.item << std::endl;
    co_return;
}

} // namespace

int main(int argc, char* argv[])
{
    if (argc != 3) return 2;
    quern::consumer_options options;
    options.on_malformed = quern::malformed_policy::reject;
    options.poison_queue = argv[2];
    options.wait_time = std::chrono::seconds(2); // for a short drain while the queue is empty

    asio::io_context io;
    quern::consumer orders(io, argv[1], handle, options);
    orders.drain_on({SIGINT, SIGTERM});
    orders.start();
    io.run();
}
