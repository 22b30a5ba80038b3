// A handler under virtual time: a failing shop, 28 hours of patience, a fraction of a second to run.
#include <quern/quern.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/co_spawn.hpp>

#include <iostream>
#include <optional>

namespace asio = boost::asio;
using namespace std::chrono_literals;

int main()
{
    quern::sim::virtual_clock time;
    quern::broker::engine broker;
    asio::io_context io; // after the clock: its coroutines refer to it
    quern::sim::local_api sqs(broker, time, io.get_executor());

    quern::sqs::create_queue_request wanted("orders");
    auto const url = broker.create_queue(wanted, time.wall()).value().queue_url;
    quern::sqs::send_message_request order(url, "a dozen rolls");
    broker.send_message(order, time.wall()).value();

    int tries = 0;
    auto const opens_at = time.now() + 28h;
    auto handle = [&](quern::delivery&) -> asio::awaitable<quern::outcome> {
        ++tries;
        if (time.now() < opens_at) co_return quern::retry_after(10h);
        co_return quern::ack();
    };

    quern::consumer_options options;
    options.time = &time;
    options.seed = 1; // the same run every time
    quern::consumer consumer(io.get_executor(), sqs, url, handle, options);
    consumer.start();

    auto const began = time.now();
    bool const handled = time.run_until_done(io, 48h, [&] { return consumer.counters().acked == 1; });
    auto const hours = std::chrono::floor<std::chrono::hours>(time.now() - began).count();
    std::cout << (handled ? "handled" : "not handled") << " after " << tries << " tries and " << hours << " h\n";

    std::optional<quern::drain_report> report;
    asio::co_spawn(io, consumer.drain(30s), [&](std::exception_ptr, quern::drain_report r) { report = r; });
    time.run_until_done(io, 31s, [&] { return report.has_value(); });
    std::cout << to_json(*report) << '\n';
    return handled && tries == 4 && hours == 30 && report->clean() ? 0 : 1;
}
