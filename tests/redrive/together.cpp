// Several at once on one dead-letter queue: redrivers, a move task that somebody began in the console, a consumer of
// the source; and what a queue in order makes of copies.

#include "redrive/yard.hpp"

#include <boost/asio/this_coro.hpp>

using namespace quern;
using namespace quern::test;

namespace {

/// A consumer of the source that handles what comes.
struct crowd : yard {
    std::map<std::string, int> handled;
    bool over = false;

    crowd()
    {
        asio::co_spawn(io, consume(), [](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
        });
    }
    ~crowd() { over = true; }

    asio::awaitable<void> consume()
    {
        auto const here = co_await asio::this_coro::executor;
        auto const timer = time.make_timer(here);
        while (!over) {
            for (auto const& m : take(orders))
                ++handled[m.body];
            auto const next = time.now() + 200ms;
            co_await timer->wait_until(next);
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(redriver_together, crowd)

BOOST_AUTO_TEST_CASE(two_redrivers_a_move_task_and_a_consumer_lose_nothing_and_handle_each_once)
{
    constexpr int messages = 2'000;
    for (int i = 0; i < messages; ++i) {
        auto m = letter(orders, "m" + std::to_string(i));
        send(orders, m);
    }
    fail_all(orders);
    BOOST_REQUIRE(all(dead) == messages);
    options.speed.rate = 40;
    start();
    start();
    time.run_for(io, 3s);
    sqs::start_message_move_task_request task("arn:aws:sqs:us-east-1:000000000000:dead");
    task.max_messages_per_second = 40;
    BOOST_REQUIRE(engine.start_message_move_task(task, time.wall()).has_value());
    finish(1h, 2);
    BOOST_REQUIRE(until(5min, [&] { return all(dead) == 0 && all(orders) == 0; }));
    std::size_t by_us = 0;
    for (auto const& r : reports) {
        BOOST_TEST(r.redriven > 100u);
        BOOST_TEST(r.maybe_twice == 0u);
        BOOST_TEST(r.left == 0u);
        by_us += r.redriven;
    }
    BOOST_TEST(by_us < std::size_t(messages)); // the task had its share
    BOOST_TEST(handled.size() == std::size_t(messages));
    for (auto const& [body, times] : handled)
        BOOST_TEST(times == 1, body);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(redriver_order, fifo_yard)

// Movers that keep the deduplication id have their message accepted, and swallowed: then they delete it.
BOOST_AUTO_TEST_CASE(a_copy_with_the_old_deduplication_id_is_swallowed_and_ours_is_not)
{
    auto const m = letter(orders, "m");
    send(orders, m);
    fail_all(orders);
    BOOST_REQUIRE(all(dead) == 1);
    send(orders, m); // as a mover would that keeps it
    BOOST_TEST(all(orders) == 0);
    auto const got = run();
    BOOST_TEST(got.redriven == 1u);
    BOOST_TEST(all(orders) == 1);
    BOOST_TEST(all(dead) == 0);
}

// Attempts within the five minutes of a deduplication id, and beyond them.
BOOST_AUTO_TEST_CASE(a_group_that_fails_again_and_again_keeps_its_order_and_its_number)
{
    kill(30);
    for (int attempt = 1; attempt <= 4; ++attempt) {
        start();
        auto const got = finish(1h, static_cast<std::size_t>(attempt));
        BOOST_TEST(got.redriven == 30u);
        if (attempt < 4) fail_all(orders);
        if (attempt == 2) time.run_for(io, 10min);
    }
    std::map<std::string, std::vector<int>> groups;
    for (auto const& m : take(orders)) {
        BOOST_TEST(m.attributes.at("x-redrive-attempt").value == "4");
        groups[m.system.at("MessageGroupId")].push_back(std::stoi(m.body.substr(1)));
    }
    BOOST_TEST(groups.size() == 3u);
    for (auto const& [group, numbers] : groups) {
        BOOST_TEST(numbers.size() == 10u);
        BOOST_TEST(std::ranges::is_sorted(numbers), group);
    }
}

BOOST_AUTO_TEST_SUITE_END()
