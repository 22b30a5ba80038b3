#include "consumer/mill.hpp"

#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

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

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// Functions on threads of their own, each of which waits until it is told to end.
struct blocking : mill {
    std::atomic<int> begun{0};

    void begin(int messages, std::size_t threads)
    {
        workers.emplace(threads);
        options.handler_executor = workers->get_executor();
        options.drain_deadline = 10s; // for which the receive under way is short enough
        send(messages);
        auto const handle = [this](delivery&) {
            ++begun;
            until_told.wait();
        };
        it.emplace(io.get_executor(), api, url, handle, options);
        it->start();
        BOOST_TEST(until(1s, [&] { return it->in_flight() == static_cast<std::size_t>(messages); }));
        while (begun != static_cast<int>(threads))
            std::this_thread::yield();
    }

    void let_them_end()
    {
        may_end.set_value();
        workers->join();
    }

private:
    std::promise<void> may_end;
    std::shared_future<void> until_told = may_end.get_future().share();
    std::optional<asio::thread_pool> workers;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(plain_functions_that_block, blocking)

// Nothing can stop one, and what it returns still counts.
BOOST_AUTO_TEST_CASE(a_drain_waits_for_those_on_their_own_threads)
{
    begin(2, 2);
    begin_drain(10s);
    io.poll();
    BOOST_TEST(!report);
    let_them_end();
    BOOST_REQUIRE(until(10s, [this] { return report.has_value(); }));
    BOOST_TEST(report->finished == 2u);
    BOOST_TEST(report->stranded == 0u);
    BOOST_TEST(it->counters().acked == 2u);
}

// They would run for messages that others hold by then.
BOOST_AUTO_TEST_CASE(those_that_wait_for_a_thread_are_called_off_by_a_drain)
{
    begin(3, 1);
    begin_drain(10s);
    io.poll();
    let_them_end();
    BOOST_REQUIRE(until(10s, [this] { return report.has_value(); }));
    BOOST_TEST(begun == 1);
    BOOST_TEST(report->finished == 1u);
    BOOST_TEST(report->released == 2u);
    BOOST_TEST(visible() == 2);
}

BOOST_AUTO_TEST_CASE(those_that_wait_for_a_thread_until_their_lease_is_lost_do_not_begin)
{
    api.on_change = [] { return failure(errc::service_error, "no extension today"); };
    options.max_in_flight = 2;
    begin(2, 1);
    it->pause();
    BOOST_TEST(until(1min, [this] { return it->counters().lost == 2; }));
    let_them_end();
    BOOST_TEST(until(1s, [this] { return it->in_flight() == 0; }));
    BOOST_TEST(begun == 1);
    BOOST_TEST(it->counters().acked == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
