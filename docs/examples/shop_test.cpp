// A handler that waits and calls a shop, under virtual time: it is given the clock, and the call.
#include <quern/quern.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/this_coro.hpp>

#include <functional>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// In production `time` is quern::real_clock(), and `post` speaks HTTP.
struct seller {
    quern::clock& time;
    std::function<asio::awaitable<unsigned>(std::string)> post;

    asio::awaitable<quern::outcome> handle(quern::delivery& order) const
    {
        auto const timer = time.make_timer(co_await asio::this_coro::executor);
        bool const waited = co_await timer->wait_until(time.now() + 1min); // in which customers change their minds
        if (!waited) co_return quern::release();                           // cancelled
        std::string body(order.body());
        auto const status = co_await post(std::move(body));
        if (status >= 500) co_return quern::retry();
        co_return quern::ack();
    }
};

} // namespace

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

    int calls = 0;
    seller const subject{time, [&](std::string) -> asio::awaitable<unsigned> { // a shop that is slow, and fails twice
                             auto const timer = time.make_timer(io.get_executor());
                             co_await timer->wait_until(time.now() + 2min);
                             co_return ++calls < 3 ? 503u : 204u;
                         }};

    quern::consumer_options options;
    options.time = &time;
    options.seed = 1;
    options.visibility_timeout = 30s;
    quern::consumer consumer(
        io.get_executor(), sqs, url, [&](quern::delivery& d) { return subject.handle(d); }, options);
    consumer.start();
    bool const handled = time.run_until_done(io, 1h, [&] { return consumer.counters().acked == 1; });
    auto const done = consumer.counters();
    std::cout << (handled ? "handled" : "not handled") << " after " << calls
              << " calls; leases extended: " << (done.extended > 0 ? "yes" : "no") << ", lost: " << done.lost << '\n';
    return handled && calls == 3 && done.extended > 0 && done.lost == 0 ? 0 : 1;
}
