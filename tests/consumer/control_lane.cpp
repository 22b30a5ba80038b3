// Acknowledgements beside idle long polls.

#include <quern/consumer/consumer.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sim/network.hpp>
#include <quern/sim/virtual_clock.hpp>

#include "support/live_broker.hpp"
#include "support/stub_api.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <unordered_map>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t idle_polls = 64;

/// Receives and deletes, as the consumer sees them: how many polls are open, how long an acknowledgement takes.
class stopwatch : public stub_api {
public:
    stopwatch(sqs::api& real, quern::clock& time) : real_(real), time_(time) {}

    answer<sqs::receive_message_response> receive_message(sqs::receive_message_request r) override
    {
        ++open_polls;
        auto said = co_await real_.receive_message(std::move(r));
        --open_polls;
        co_return said;
    }
    answer<sqs::delete_message_batch_response> delete_message_batch(sqs::delete_message_batch_request r) override
    {
        std::vector<std::string> handles;
        for (auto const& entry : r.entries)
            handles.push_back(entry.receipt_handle);
        ++deletes;
        auto said = co_await real_.delete_message_batch(std::move(r));
        for (auto const& handle : handles)
            took.push_back(time_.now() - outcome_at.at(handle));
        co_return said;
    }

    std::size_t open_polls = 0, deletes = 0;
    std::unordered_map<std::string, tick> outcome_at; // by receipt handle
    std::vector<tick::duration> took;

private:
    sqs::api& real_;
    quern::clock& time_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(control_lane)

BOOST_AUTO_TEST_CASE(twenty_thousand_acknowledgements_a_second_do_not_wait_for_idle_long_polls)
{
    constexpr std::size_t messages = 40'000;
    constexpr auto between = 50us; // outcomes: 20,000 a second
    sim::virtual_clock time;
    broker::engine engine{broker::engine_options{.seed = 1}};
    asio::io_context io;
    sim::local_api service(engine, time, io.get_executor());
    sim::network network({service, time, io.get_executor(), nullptr, {}}, 10s);
    broker::fault_settings distance;
    distance.everywhere.latency = 1;
    distance.everywhere.latency_min = distance.everywhere.latency_max = 2ms; // 1 ms there, 1 ms back
    network.set_faults(distance);
    auto const url = engine.create_queue(sqs::create_queue_request("orders"), time.wall()).value().queue_url;
    for (std::size_t i = 0; i < messages; ++i)
        engine.send_message(sqs::send_message_request(url, std::to_string(i)), time.wall()).value();

    consumer_options options;
    options.time = &time;
    options.seed = 7;
    options.limits.max_polls = idle_polls;
    options.limits.max_in_flight = messages + 10 * idle_polls;
    stopwatch api(network, time);
    auto const first = time.now() + 5s; // by then all are here, and the polls found nothing more
    std::size_t running = 0;
    auto handle = [&](delivery& d) -> asio::awaitable<void> {
        ++running;
        auto const timer = time.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(first + std::stol(std::string(d.body())) * between);
        api.outcome_at[std::string(d.message().receipt_handle)] = time.now();
    };
    consumer it(io.get_executor(), api, url, handle, options);
    it.start();

    time.run_until(io, first - 1ms);
    BOOST_TEST(running == messages);
    BOOST_TEST(api.open_polls == idle_polls);
    auto const polls = it.counters().polls;
    BOOST_TEST(time.run_until_done(io, 10s, [&] { return it.counters().acked == messages; }));
    BOOST_TEST(api.open_polls == idle_polls);
    BOOST_TEST(it.counters().polls == polls);

    BOOST_REQUIRE(api.took.size() == messages); // each once
    auto const p99 = api.took.begin() + messages * 99 / 100;
    std::ranges::nth_element(api.took, p99);
    BOOST_TEST_MESSAGE("p99 of outcome to confirmation: " << *p99 /
            1us << " us, entries a request: " << static_cast<double>(messages) / static_cast<double>(api.deletes));
    BOOST_TEST(*p99 < 50ms);
    BOOST_TEST(static_cast<double>(messages) / static_cast<double>(api.deletes) >= 9.5);

    it.pause();
    time.run_for(io, 25s); // the polls end
    BOOST_TEST(api.open_polls == 0u);
}

BOOST_AUTO_TEST_CASE(acknowledgements_reach_the_service_while_every_connection_of_the_polls_hangs)
{
    constexpr int messages = 2'000;
    live_broker broker;
    auto const url = broker.create("orders");
    broker.send(url, messages);

    asio::io_context io(1);
    consumer_options options;
    options.limits.max_polls = idle_polls; // and as many connections
    options.limits.max_in_flight = messages + 10 * idle_polls;
    std::vector<asio::steady_timer*> handlers;
    auto handle = [&](delivery&) -> asio::awaitable<void> {
        auto const ex = co_await asio::this_coro::executor;
        asio::steady_timer told(ex, 1h);
        handlers.push_back(&told);
        co_await told.async_wait(asio::as_tuple(asio::use_awaitable));
    };
    consumer it(io, url, handle, options);
    it.start();
    while (handlers.size() != messages || broker.parked_polls() != idle_polls)
        io.poll();

    auto const polls = it.counters().polls;
    for (auto* const each : handlers)
        each->cancel();
    while (it.counters().acked != messages)
        io.poll();
    BOOST_TEST(it.counters().polls == polls); // none has been answered
    BOOST_TEST(broker.parked_polls() == idle_polls);
    BOOST_TEST(broker.depth(url) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
