#include "consumer/mill.hpp"

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
