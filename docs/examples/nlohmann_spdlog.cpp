// Orders as JSON, read by nlohmann-json, and Quern's log in yours by spdlog: nlohmann_spdlog QUEUE_URL BAD_URL
#include <quern/consumer/typed.hpp>
#include <quern/quern.hpp>

#include <nlohmann/json.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdint>
#include <iostream>
#include <string>

namespace asio = boost::asio;

namespace {

struct order {
    std::string item;
    std::int64_t count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(order, item, count)

asio::awaitable<void> handle(order& wanted, quern::delivery&)
{
    std::cout << wanted.count << ' ' << wanted.item << std::endl;
    co_return;
}

order read_order(std::string_view body)
{
    try {
        return nlohmann::json::parse(body).get<order>();
    } catch (nlohmann::json::exception const& e) {
        throw quern::parse_error(e.what()); // no failure that may pass: see on_malformed
    }
}

void to_spdlog(quern::log_level level, std::string_view text)
{
    constexpr spdlog::level::level_enum levels[] = {
        spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};
    spdlog::log(levels[static_cast<int>(level)], "{}", text);
}

} // namespace

int main(int argc, char* argv[])
{
    if (argc != 3) return 2;
    spdlog::set_default_logger(spdlog::stderr_color_mt("orders"));
    quern::consumer_options options;
    options.log = to_spdlog;
    options.on_malformed = quern::malformed_policy::reject;
    options.poison_queue = argv[2];
    options.wait_time = std::chrono::seconds(2); // for a short drain while the queue is empty

    asio::io_context io;
    quern::consumer orders(io, argv[1], quern::typed(read_order, handle), options);
    orders.drain_on({SIGINT, SIGTERM});
    orders.start();
    io.run();
}
