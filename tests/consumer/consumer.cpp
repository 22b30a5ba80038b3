#include "consumer/mill.hpp"

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(consuming, mill)

BOOST_AUTO_TEST_CASE(every_message_is_handled_once_and_deleted)
{
    send(1'000);
    consume(fast);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(runs.size() == 1'000u);
    for (auto const& [body, count] : runs)
        BOOST_TEST(count == 1, body);
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST(it->counters().acked == 1'000u);
}

BOOST_AUTO_TEST_CASE(a_saturated_consumer_needs_hardly_more_than_two_requests_for_ten_messages)
{
    send(5'000);
    consume(fast);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(api.receives + api.deletes + api.changes <= 1'100);
}

BOOST_AUTO_TEST_CASE(an_idle_consumer_costs_one_request_every_twenty_seconds_whatever_it_did_before)
{
    send(500);
    consume(fast);
    time.run_for(io, 1min);
    BOOST_TEST(empty());
    auto const before = api.receives;
    time.run_for(io, 10min);
    BOOST_TEST(api.receives - before <= 31);
    BOOST_TEST(api.receives - before >= 29);
}

BOOST_AUTO_TEST_CASE(ten_thousand_messages_are_in_flight_at_once_on_one_thread)
{
    options.limits.max_in_flight = 10'000;
    send(10'050);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(2min); // several leases long
        co_return ack();
    });
    BOOST_TEST(until(1min, [this] { return running == 10'000; }));
    BOOST_TEST(until(10min, [this] { return empty(); }));
    BOOST_TEST(most_running == 10'000u);
    for (auto const& [body, count] : runs)
        BOOST_TEST(count == 1, body);
}

BOOST_AUTO_TEST_CASE(no_more_than_the_limit_is_ever_held)
{
    options.limits.max_in_flight = 7;
    send(200);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(50ms);
        co_return ack();
    });
    auto most_hidden = 0;
    BOOST_TEST(until(5min, [&] {
        most_hidden = std::max(most_hidden, hidden());
        return empty();
    }));
    BOOST_TEST(most_running == 7u);
    BOOST_TEST(most_hidden == 7);
}

BOOST_AUTO_TEST_CASE(one_slow_message_does_not_hold_up_the_others)
{
    options.limits.max_in_flight = 10;
    send(101);
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        std::chrono::milliseconds const time_taken = d.body() == "m0" ? 1h : 10ms;
        co_await pause(time_taken);
        co_return ack();
    });
    BOOST_TEST(until(30s, [this] { return runs.size() == 101; }));
}

BOOST_AUTO_TEST_CASE(a_handler_may_return_nothing_and_then_throwing_means_retry)
{
    send(1);
    int tries = 0;
    auto handle = [&](delivery& d) -> asio::awaitable<void> {
        BOOST_TEST(d.receive_count() == ++tries);
        if (tries < 3) throw std::runtime_error("the shop is closed");
        co_return;
    };
    it.emplace(io.get_executor(), api, url, handle, options);
    it->start();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(tries == 3);
    BOOST_TEST(it->counters().retried == 2u);
    BOOST_REQUIRE(!log.empty());
    BOOST_TEST(log[0].find("the shop is closed") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(retries_wait_for_the_backoff_of_their_receive_count)
{
    options.backoff = options.backoff.with(policy::jitter::none);
    send(1);
    std::vector<tick> at;
    consume([&](delivery&) -> asio::awaitable<outcome> {
        at.push_back(time.now());
        auto const enough = at.size() == 5;
        co_return enough ? ack() : retry();
    });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_REQUIRE(at.size() == 5u);
    for (std::size_t i = 1; i < at.size(); ++i) {
        auto const gap = std::chrono::duration_cast<std::chrono::milliseconds>(at[i] - at[i - 1]).count();
        BOOST_TEST(gap >= 1'000 << (i - 1));
        BOOST_TEST(gap <= (1'000 << (i - 1)) + 200);
    }
}

BOOST_AUTO_TEST_CASE(retry_after_and_release_decide_when_a_message_returns)
{
    send(1);
    std::vector<tick> at;
    consume([&](delivery&) -> asio::awaitable<outcome> {
        at.push_back(time.now());
        if (at.size() == 1) co_return retry_after(89'500ms);
        if (at.size() == 2) co_return release();
        co_return ack();
    });
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_REQUIRE(at.size() == 3u);
    BOOST_TEST(at[1] - at[0] >= 90s); // rounded up: never early
    BOOST_TEST(at[1] - at[0] <= 91s);
    BOOST_TEST(at[2] - at[1] <= 1s);
}

BOOST_AUTO_TEST_CASE(a_retry_beyond_the_twelve_hours_is_cut_to_what_the_service_accepts)
{
    send(1);
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        auto const first = d.receive_count() == 1;
        if (first) co_await pause(1h);
        co_return first ? retry_after(24h) : ack();
    });
    BOOST_TEST(until(13h, [this] { return empty(); }));
    BOOST_TEST(it->counters().retried == 1u);
}

// A message that is given back may come back through another receive before the answer to the giving arrives.
BOOST_AUTO_TEST_CASE(a_message_given_back_that_returns_before_the_answer_is_run_again_not_given_back_twice)
{
    send(1);
    api.before_answer = [this]() -> asio::awaitable<void> { co_await pause(3s); };
    auto const t0 = time.now();
    consume([](delivery& d) -> asio::awaitable<outcome> {
        auto const first = d.receive_count() == 1;
        co_return first ? release() : ack();
    });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(time.now() - t0 < 3s);
    BOOST_TEST(runs.at("m0") == 2);
    BOOST_TEST(api.changes == 1);
    BOOST_TEST(drained().clean());
}

BOOST_AUTO_TEST_CASE(entries_of_a_batch_that_fail_are_tried_again_one_by_one)
{
    broker::fault_settings faults;
    faults.everywhere.entry_failed = 0.5;
    engine.set_faults(faults);
    send(300);
    consume(fast);
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(it->counters().acked == 300u);
    for (auto const& [body, count] : runs)
        BOOST_TEST(count == 1, body);
}

BOOST_AUTO_TEST_CASE(deletes_that_fail_for_a_minute_keep_their_lease_and_succeed_then)
{
    send(20);
    auto const t0 = time.now();
    api.on_delete = [&]() -> std::optional<failure> {
        if (time.now() - t0 > 1min) return {};
        return failure(errc::connection_lost, "closed", true);
    };
    consume(fast);
    BOOST_TEST(until(2min, [this] { return empty(); }));
    for (auto const& [body, count] : runs)
        BOOST_TEST(count == 1, body);
    BOOST_TEST(it->counters().acked == 20u);
}

BOOST_AUTO_TEST_CASE(receives_that_fail_are_paced_logged_sparingly_and_recovered_from)
{
    send(10);
    auto const t0 = time.now();
    api.on_receive = [&]() -> std::optional<failure> {
        if (time.now() - t0 > 10min) return {};
        return failure(errc::connect_failed, "refused", true);
    };
    consume(fast);
    BOOST_TEST(until(11min, [this] { return empty(); }));
    BOOST_TEST(api.receives < 150);
    BOOST_TEST(log.size() < 130u);
    BOOST_TEST(log.size() > 10u);
}

// Short polls, a drain budget too small for long ones, or a server that does not wait: all answer at once.
BOOST_AUTO_TEST_CASE(empty_answers_that_come_at_once_are_asked_for_once_a_second)
{
    options.wait_time = 0s;
    api.on_receive = [this]() -> std::optional<failure> {
        if (api.receives < 1'000) return {};
        return failure(errc::stopped, "enough");
    };
    consume(fast);
    time.run_for(io, 1min);
    BOOST_TEST(api.receives <= 61);
    BOOST_TEST(api.receives >= 59);
}

BOOST_AUTO_TEST_SUITE_END()
