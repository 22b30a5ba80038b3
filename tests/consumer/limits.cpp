#include "consumer/mill.hpp"

#include <quern/sqs/limits.hpp>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct limited : mill {
    std::size_t bytes = 0, most_bytes = 0; // in handlers
    std::vector<tick> starts;

    void send_large(int count, std::size_t size)
    {
        for (int i = 0; i < count; ++i) {
            auto body = std::to_string(sent++);
            body.resize(size, '.');
            engine.send_message(sqs::send_message_request(url, std::move(body)), time.wall()).value();
        }
    }

    void consume_weighing()
    {
        consume([this](delivery& d) -> asio::awaitable<outcome> {
            auto const size = d.body().size();
            bytes += size;
            most_bytes = std::max(most_bytes, bytes);
            co_await pause(1s);
            bytes -= size;
            co_return ack();
        });
    }

    void consume_timing(std::chrono::milliseconds takes = 0ms)
    {
        consume([this, takes](delivery&) -> asio::awaitable<outcome> {
            starts.push_back(time.now());
            if (takes != 0ms) co_await pause(takes);
            co_return ack();
        });
    }

    std::size_t started_within(tick from, std::chrono::milliseconds d) const
    {
        return static_cast<std::size_t>(
            std::ranges::count_if(starts, [&](tick at) { return at >= from && at < from + d; }));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(limits, limited)

BOOST_AUTO_TEST_CASE(large_messages_fill_the_bytes_before_the_places)
{
    options.limits.max_bytes_in_flight = 2 << 20;
    send_large(40, 300'000);
    consume_weighing();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(runs.size() == 40u);
    BOOST_TEST(most_bytes <= std::size_t(2 << 20));
    BOOST_TEST(most_running == 6u); // of 300 kB and their receipt handles
}

BOOST_AUTO_TEST_CASE(small_messages_do_not_feel_the_limit)
{
    options.limits.max_bytes_in_flight = 1 << 20;
    send(500);
    consume_weighing();
    BOOST_TEST(until(10s, [this] { return empty(); }));
    BOOST_TEST(most_running > 400u);
}

// With its receipt handle it is larger than the limit.
BOOST_AUTO_TEST_CASE(the_largest_message_goes_through_the_smallest_limit)
{
    options.limits.max_bytes_in_flight = 1 << 20;
    send_large(5, sqs::max_message_bytes);
    consume_weighing();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(most_running == 1u);
    BOOST_TEST(runs.size() == 5u);
}

BOOST_AUTO_TEST_CASE(no_limit_of_bytes)
{
    options.limits.max_bytes_in_flight.reset();
    send_large(30, 1'000'000);
    consume_weighing();
    BOOST_TEST(until(10s, [this] { return empty(); }));
    BOOST_TEST(most_running == 30u);
}

BOOST_AUTO_TEST_CASE(handlers_begin_at_the_rate_and_receives_are_full)
{
    options.limits.rate = policy::rate{.count = 20, .burst = 10};
    options.visibility_timeout = 3s;
    send(2'000);
    auto const t0 = time.now();
    consume_timing();
    time.run_for(io, 60s);
    BOOST_TEST(starts.size() <= 10u + 60 * 20);
    BOOST_TEST(starts.size() >= 60u * 20);
    for (auto from = t0 + 1s; from < t0 + 59s; from += 250ms)
        BOOST_TEST(started_within(from, 1s) <= 21u);
    BOOST_TEST(api.receives <= 60 * 20 / 10 + 5);
    BOOST_TEST(it->counters().lost == 0u);
    BOOST_TEST(it->in_flight() <= 30u); // no more than begin within a second are here
    BOOST_TEST(std::ranges::all_of(runs, [](auto const& one) { return one.second == 1; }));
}

// The rate's next receive was due for ever, and the loop never slept.
BOOST_AUTO_TEST_CASE(with_a_rate_it_sleeps_while_keeping_leases_leaves_no_calls_for_more)
{
    options.limits.rate = policy::rate{.count = 20, .burst = 10};
    options.visibility_timeout = 4s;
    options.settle.max_calls = 2;
    api.before_answer = [this] { return pause(3s); };
    send(200);
    bool held_back = false;
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(20s);
        co_return ack();
    });
    for (int i = 0; i < 200; ++i) {
        time.run_for(io, 100ms);
        held_back = held_back || explained().find("leases takes") != std::string::npos;
    }
    BOOST_TEST(held_back);
    BOOST_TEST(!runs.empty());
}

BOOST_AUTO_TEST_CASE(any_rate_is_reached_and_none_exceeded)
{
    for (auto const& r : {policy::rate{.count = 1}, {.count = 5, .burst = 1}, {.count = 7, .per = 13s, .burst = 3},
             {.count = 1'000, .burst = 1}}) {
        limited m;
        m.options.limits.rate = r;
        m.send(3'000);
        m.api.before_received = [&m](auto&) { return m.pause(30ms); }; // a network
        m.consume_timing(200ms);
        m.time.run_for(m.io, 100s);
        auto const due = 100.0 * static_cast<double>(r.count) / std::chrono::duration<double>(r.per).count();
        auto const begun = static_cast<double>(m.starts.size());
        BOOST_TEST(begun <= due + static_cast<double>(r.burst));
        BOOST_TEST(begun >= std::min(3'000.0, 0.97 * due - 1));
        BOOST_TEST(m.it->counters().lost == 0u);
        BOOST_TEST(m.api.receives <= static_cast<int>(begun) + 5);
    }
}

BOOST_AUTO_TEST_CASE(a_group_keeps_its_order_at_a_rate_slower_than_leases)
{
    options.limits.rate = policy::rate{.count = 1, .per = 10s, .burst = 5};
    options.visibility_timeout = 3s;
    sqs::create_queue_request wanted("ledger.fifo");
    wanted.attributes["FifoQueue"] = "true";
    url = engine.create_queue(wanted, time.wall()).value().queue_url;
    for (int i = 0; i < 12; ++i) {
        sqs::send_message_request request(url, std::to_string(i));
        request.group_id = "a";
        request.deduplication_id = std::to_string(i);
        engine.send_message(std::move(request), time.wall()).value();
    }
    std::vector<int> order;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        order.push_back(std::stoi(std::string(d.body())));
        co_return ack();
    });
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(order.size() == 12u);
    BOOST_TEST(std::ranges::is_sorted(order));
    BOOST_TEST(it->counters().lost == 0u);
}

// It waits for better times first, and for its turn when they have come: nothing else wakes the consumer then.
BOOST_AUTO_TEST_CASE(a_probe_takes_its_turn_when_it_comes)
{
    options.limits.rate = policy::rate{.count = 1, .per = 1min, .burst = 1};
    options.visibility_timeout = 1h;
    send(10);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        starts.push_back(time.now());
        co_return unavailable();
    });
    BOOST_TEST(until(20min, [this] { return starts.size() == 8; }));
    for (std::size_t i = 1; i < starts.size(); ++i)
        BOOST_TEST(starts[i] - starts[i - 1] <= 2min, i);
}

// After a pause of the process there is a turn for the first in line, and no lease any more.
BOOST_AUTO_TEST_CASE(a_process_that_stood_still_begins_nothing_whose_lease_is_over)
{
    options.limits.rate = policy::rate{.count = 5, .burst = 1};
    options.visibility_timeout = 3s;
    send(20);
    consume([](delivery& d) -> asio::awaitable<outcome> {
        BOOST_TEST(d.remaining() > 0s);
        co_return ack();
    });
    time.run_for(io, 50ms);
    BOOST_TEST(it->in_flight() >= 4u);
    asio::io_context elsewhere;
    time.run_for(elsewhere, 1min);
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(it->counters().lost >= 3u);
    BOOST_TEST(runs.size() == 20u);
}

BOOST_AUTO_TEST_CASE(an_idle_consumer_with_a_rate_costs_what_one_without_costs)
{
    options.limits.rate = policy::rate{.count = 1, .per = 1min};
    consume_timing();
    time.run_for(io, 10min);
    BOOST_TEST(api.receives <= 31);
}

BOOST_AUTO_TEST_CASE(a_drain_gives_back_what_waits_for_its_turn)
{
    options.limits.rate = policy::rate{.count = 10, .burst = 1};
    send(50);
    consume_timing();
    time.run_for(io, 50ms);
    BOOST_TEST(starts.size() == 1u);
    BOOST_TEST(it->in_flight() >= 9u);
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST(end.released >= 9u);
    BOOST_TEST(end.took.count() < 1'000);
    BOOST_TEST(starts.size() == 1u);
    BOOST_TEST(visible() == 49);
}

BOOST_AUTO_TEST_CASE(paused_it_gives_back_what_waits_for_its_turn)
{
    options.limits.rate = policy::rate{.count = 10, .burst = 1};
    send(50);
    consume_timing();
    time.run_for(io, 50ms);
    it->pause();
    time.run_for(io, 25s);
    BOOST_TEST(starts.size() == 1u);
    BOOST_TEST(it->in_flight() == 0u);
    it->resume();
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(std::ranges::all_of(runs, [](auto const& one) { return one.second == 1; }));
}

// Each answer's messages had a delete of their own, since no handler ran when it was decided.
BOOST_AUTO_TEST_CASE(where_messages_arrive_fast_the_deletes_of_several_answers_share_requests)
{
    consume(fast);
    for (int i = 0; i < 1'000; ++i) {
        send_now(1);
        time.run_for(io, 1ms);
    }
    BOOST_REQUIRE(until(1s, [this] { return empty(); }));
    BOOST_TEST(runs.size() == 1'000u);
    BOOST_TEST(api.deletes < 140);
    BOOST_TEST(api.receives + api.deletes < 400);
}

BOOST_AUTO_TEST_CASE(a_message_that_comes_alone_is_deleted_at_once)
{
    consume(fast);
    for (int i = 1; i <= 10; ++i) {
        time.run_for(io, 1s);
        send_now(1);
        BOOST_TEST(until(1ms, [this] { return empty() && runs.size() == static_cast<std::size_t>(sent); }));
    }
}

BOOST_AUTO_TEST_CASE(a_drain_waits_for_no_company)
{
    options.settle.linger = 2s;
    consume(fast);
    for (int i = 0; i < 100; ++i) {
        send_now(1);
        time.run_for(io, 1ms);
    }
    auto const began = time.now();
    auto const said = drained(30s);
    BOOST_TEST((time.now() - began < 1s));
    BOOST_TEST(said.stranded == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
