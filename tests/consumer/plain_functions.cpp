#include "consumer/mill.hpp"
#include "support/wait_until.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <future>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

/// Virtual time, but for what handlers take.
struct working_clock final : clock {
    tick now() const override { return idle->now() + worked; }
    wall_time wall() const override { return idle->wall(); }
    std::unique_ptr<timer> make_timer(asio::any_io_executor ex) override { return idle->make_timer(std::move(ex)); }

    clock* idle = nullptr;
    tick::duration worked{};
};

struct slow_hands {
    working_clock busy; // outlives the context
};

struct mill_with_slow_handlers : slow_hands, mill {
    mill_with_slow_handlers()
    {
        busy.idle = &time;
        options.time = &busy;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(plain_functions, mill)

BOOST_AUTO_TEST_CASE(returning_acknowledges)
{
    send(25);
    auto const handle = [this](delivery& d) { ++runs[std::string(d.body())]; };
    it.emplace(io.get_executor(), api, url, handle, options);
    it->start();
    BOOST_TEST(until(10s, [this] { return empty(); }));
    BOOST_TEST(runs.size() == 25u);
    BOOST_TEST(it->counters().acked == 25u);
}

BOOST_AUTO_TEST_CASE(throwing_retries_and_an_outcome_is_obeyed)
{
    send(3);
    auto const handle = [this](delivery& d) {
        auto const first = ++runs[std::string(d.body())] == 1;
        if (first && d.body() == "m0") throw std::runtime_error("as told by the test");
        return first && d.body() == "m1" ? retry_after(5s) : ack();
    };
    it.emplace(io.get_executor(), api, url, handle, options);
    it->start();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(runs["m0"] == 2);
    BOOST_TEST(runs["m1"] == 2);
    BOOST_TEST(runs["m2"] == 1);
    BOOST_TEST(it->counters().retried == 2u);
}

BOOST_AUTO_TEST_CASE(in_a_fifo_group_one_runs_after_the_other)
{
    sqs::create_queue_request fifo("orders.fifo");
    fifo.attributes["FifoQueue"] = "true";
    url = engine.create_queue(fifo, time.wall()).value().queue_url;
    std::string order;
    for (auto const c : {'a', 'b', 'c', 'd'}) {
        sqs::send_message_request letter(url, std::string(1, c));
        letter.group_id = "g";
        letter.deduplication_id = std::string(1, c);
        engine.send_message(std::move(letter), time.wall()).value();
    }
    auto const handle = [&](delivery& d) {
        if (order.empty() && d.receive_count() == 1) throw std::runtime_error("as told by the test");
        order += d.body();
    };
    it.emplace(io.get_executor(), api, url, handle, options);
    it->start();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(order == "abcd");
}

BOOST_FIXTURE_TEST_CASE(whatever_else_waits_for_their_thread_has_its_turn_between_them, mill_with_slow_handlers)
{
    send(10);
    int in_a_row = 0, most = 0;
    auto const handle = [&](delivery&) {
        busy.worked += 60us;
        most = std::max(most, ++in_a_row);
        asio::post(io, [&] { in_a_row = 0; });
    };
    it.emplace(io.get_executor(), api, url, handle, options);
    it->start();
    BOOST_TEST(until(10s, [this] { return empty(); }));
    BOOST_TEST(it->counters().acked == 10u);
    BOOST_TEST(most <= 4);
}

BOOST_AUTO_TEST_CASE(one_that_has_ended_is_settled_while_the_next_one_blocks_their_thread)
{
    asio::thread_pool one(1);
    options.handler_executor = one.get_executor();
    std::promise<void> may_end;
    std::atomic<int> begun{0};
    send(2);
    auto const handle = [&](delivery&) {
        if (++begun == 2) may_end.get_future().wait();
    };
    it.emplace(io.get_executor(), api, url, handle, options);
    it->start();
    BOOST_TEST(until(1s, [this] { return it->in_flight() == 2; }));
    wait_until([&] { return begun == 2; });
    BOOST_TEST(until(1s, [this] { return it->counters().acked == 1; }));
    may_end.set_value();
    one.join();
    BOOST_TEST(until(10s, [this] { return empty(); }));
}

BOOST_AUTO_TEST_SUITE_END()
