#include <quern/consumer/consumer.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sim/virtual_clock.hpp>
#include <quern/sqs/batch.hpp>

#include "support/stub_api.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <map>

namespace asio = boost::asio;
using namespace quern;
using namespace std::chrono_literals;

namespace {

/// The three operations of a consumer, each preceded by a hook that may fail it.
class hooked_api : public test::stub_api {
public:
    using hook = std::function<std::optional<failure>()>;

    explicit hooked_api(sqs::api& real) : real_(real) {}

    answer<sqs::receive_message_response> receive_message(sqs::receive_message_request r) override
    {
        ++receives;
        if (auto f = on_receive()) co_return *f;
        co_return co_await real_.receive_message(std::move(r));
    }
    answer<sqs::delete_message_batch_response> delete_message_batch(sqs::delete_message_batch_request r) override
    {
        ++deletes;
        if (auto f = on_delete()) co_return *f;
        co_return co_await real_.delete_message_batch(std::move(r));
    }
    answer<sqs::change_message_visibility_batch_response> change_message_visibility_batch(
        sqs::change_message_visibility_batch_request r) override
    {
        ++changes;
        if (auto f = on_change()) co_return *f;
        auto said = co_await real_.change_message_visibility_batch(std::move(r));
        co_await before_answer();
        co_return said;
    }

    hook on_receive = [] { return std::optional<failure>(); }, on_delete = on_receive, on_change = on_receive;
    std::function<asio::awaitable<void>()> before_answer = []() -> asio::awaitable<void> { co_return; };
    int receives = 0, deletes = 0, changes = 0;

private:
    sqs::api& real_;
};

/// A queue, a consumer, and all the time in the world.
struct mill {
    sim::virtual_clock time;
    broker::engine engine;
    asio::io_context io; // last: what it destroys still refers to the clock
    std::optional<sim::local_api> local{std::in_place, engine, time, io.get_executor()};
    hooked_api api{*local};
    std::string url;
    consumer_options options;
    std::vector<std::string> log;
    std::map<std::string, int> runs; // message body -> handlers started
    std::size_t running = 0, most_running = 0;
    std::optional<consumer> it;
    std::optional<drain_report> report;

    mill()
    {
        url = engine.create_queue(sqs::create_queue_request("orders"), time.wall()).value().queue_url;
        options.time = &time;
        options.seed = 7;
        options.log = [this](log_level, std::string_view text) { log.emplace_back(text); };
    }

    void send(int count)
    {
        for (int i = 0; i < count; ++i) {
            sqs::send_message_request request(url, "m" + std::to_string(sent++));
            engine.send_message(std::move(request), time.wall()).value();
        }
    }

    template <class F>
    void consume(F handle)
    {
        auto counted = [this, handle](delivery& d) mutable -> asio::awaitable<outcome> {
            ++runs[std::string(d.body())];
            most_running = std::max(most_running, ++running);
            struct leave {
                std::size_t& count;
                ~leave() { --count; }
            } const left{running};
            auto const said = co_await handle(d);
            co_return said;
        };
        it.emplace(io.get_executor(), api, url, std::move(counted), options);
        it->start();
    }

    asio::awaitable<void> pause(std::chrono::milliseconds d)
    {
        auto const timer = time.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(time.now() + d);
    }

    int count(char const* what)
    {
        sqs::get_queue_attributes_request ask(url);
        return std::stoi(engine.get_queue_attributes(ask, time.wall()).value().attributes.at(what));
    }
    int visible() { return count("ApproximateNumberOfMessages"); }
    int hidden() { return count("ApproximateNumberOfMessagesNotVisible"); }
    bool empty() { return visible() + hidden() == 0; }

    bool until(std::chrono::milliseconds limit, std::function<bool()> done)
    {
        return time.run_until_done(io, limit, done);
    }

    void begin_drain(std::chrono::milliseconds limit)
    {
        asio::co_spawn(io, it->drain(limit), [this](std::exception_ptr e, drain_report r) {
            BOOST_TEST(!e);
            report = r;
        });
    }

    drain_report drained(std::chrono::milliseconds limit = 30s)
    {
        begin_drain(limit);
        BOOST_REQUIRE(until(limit + 1s, [this] { return report.has_value(); }));
        BOOST_TEST(it->in_flight() == report->running + report->stranded + report->at_risk);
        return *report;
    }

    ~mill()
    {
        if (it && !report) {
            begin_drain(1s);
            until(2s, [this] { return report.has_value(); });
        }
        it.reset();
        local.reset();
        time.run_for(io, 0s);
    }

    int sent = 0;
};

/// Acknowledges at once.
asio::awaitable<outcome> fast(delivery&)
{
    co_return ack();
}

} // namespace

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
    options.max_in_flight = 10'000;
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
    options.max_in_flight = 7;
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
    options.max_in_flight = 10;
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
    options.backoff.spread = policy::backoff::jitter::none;
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
    BOOST_TEST((at[1] - at[0] >= 90s)); // rounded up: never early
    BOOST_TEST((at[1] - at[0] <= 91s));
    BOOST_TEST((at[2] - at[1] <= 1s));
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

BOOST_AUTO_TEST_CASE(a_long_handler_keeps_its_lease_and_runs_once)
{
    send(3);
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        for (int i = 0; i < 60; ++i) {
            co_await pause(10s);
            BOOST_TEST((d.remaining() > 0s));
        }
        co_return ack();
    });
    BOOST_TEST(until(11min, [this] { return empty(); }));
    for (auto const& [body, count] : runs)
        BOOST_TEST(count == 1, body);
    BOOST_TEST(it->counters().extended >= 3u * 20);
    BOOST_TEST(api.changes <= 35); // the three leases share their requests
}

// A handler that works on although another consumer has the message would work twice.
BOOST_AUTO_TEST_CASE(a_handler_that_lost_its_lease_is_cancelled_and_its_outcome_dropped)
{
    send(1);
    options.max_in_flight = 1; // no receive is open that could bring the message back here, where it would be adopted
    api.on_change = [] { return std::optional(failure(errc::timed_out, "no answer", true)); };
    std::optional<tick> ended;
    auto const t0 = time.now();
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        auto const again = d.receive_count() > 1;
        if (again) co_await pause(1min);
        if (again) co_return ack();
        struct on_exit {
            std::optional<tick>& at;
            quern::clock& time;
            ~on_exit() { at = time.now(); }
        } const noted{ended, time};
        co_await asio::this_coro::throw_if_cancelled(false);
        co_await pause(10min);
        co_return ack(); // ends, but insists
    });
    BOOST_REQUIRE(until(5min, [&] { return ended.has_value(); }));
    BOOST_TEST((*ended - t0 >= 30s));
    BOOST_TEST((*ended - t0 <= 31s));
    BOOST_TEST(it->counters().lost == 1u);
    BOOST_TEST(api.deletes == 0);
    api.on_change = [] { return std::optional<failure>(); };
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(runs.at("m0") == 2);
}

// SQS may deliver a message twice; and a handle older than the last receive deletes nothing though it is accepted.
BOOST_AUTO_TEST_CASE(a_redelivery_of_a_message_held_here_is_adopted_not_run)
{
    broker::fault_settings faults;
    faults.everywhere.duplicated = 0.3;
    engine.set_faults(faults);
    send(500);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(200ms);
        co_return ack();
    });
    std::size_t twice_at_once = 0;
    BOOST_TEST(until(10min, [&] {
        if (running > it->in_flight()) ++twice_at_once;
        return empty() && running == 0;
    }));
    BOOST_TEST(twice_at_once == 0u);
    BOOST_TEST(it->counters().adopted > 0u);
    BOOST_TEST(runs.size() == 500u);
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
    BOOST_TEST((time.now() - t0 < 3s));
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

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(draining, mill)

BOOST_AUTO_TEST_CASE(an_idle_consumer_ends_with_its_long_poll)
{
    consume(fast);
    time.run_for(io, 5s);
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST((end.took <= 20s));
}

BOOST_AUTO_TEST_CASE(what_arrives_while_draining_is_given_back_at_once)
{
    consume(fast);
    time.run_for(io, 5s);
    begin_drain(30s);
    time.run_for(io, 1s);
    send(3); // the long poll that is still open receives them
    BOOST_TEST(until(30s, [this] { return report.has_value(); }));
    BOOST_TEST(report->clean());
    BOOST_TEST(report->released == 1u); // the others came when the long poll had ended
    BOOST_TEST(runs.empty());
    BOOST_TEST(visible() == 3);
    BOOST_TEST(hidden() == 0);
}

// Given back earlier, a message would only come back through a receive of ours that is still open, and each time
// count as received once more: a step towards the dead-letter queue.
BOOST_AUTO_TEST_CASE(nothing_is_given_back_while_a_receive_of_ours_could_take_it)
{
    send(200);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(2s);
        co_return release();
    });
    BOOST_TEST(until(10s, [this] { return running == 200; }));
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST(end.released == 200u);
    BOOST_TEST(visible() == 200);
}

BOOST_AUTO_TEST_CASE(running_handlers_end_and_are_settled)
{
    send(50);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(5s);
        co_return ack();
    });
    BOOST_TEST(until(10s, [this] { return running == 50; }));
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST(end.finished == 50u);
    BOOST_TEST(empty());
}

BOOST_AUTO_TEST_CASE(handlers_that_take_too_long_are_cancelled_and_their_messages_released)
{
    send(50);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(1h);
        co_await pause(1h);
        co_return ack();
    });
    BOOST_TEST(until(10s, [this] { return running == 50; }));
    auto const end = drained(10s);
    BOOST_TEST(end.clean());
    BOOST_TEST(end.cancelled == 50u);
    BOOST_TEST(end.released >= 50u); // a receive of ours that was still open may have brought some back
    BOOST_TEST((end.took < 10s));
    BOOST_TEST(visible() == 50);
    BOOST_TEST(hidden() == 0);
}

BOOST_AUTO_TEST_CASE(a_second_drain_cancels_at_once_and_both_get_the_report)
{
    send(5);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(1h);
        co_await pause(1h);
        co_return ack();
    });
    BOOST_TEST(until(10s, [this] { return running == 5; }));
    begin_drain(30s);
    time.run_for(io, 1s);
    BOOST_TEST(!report.has_value());
    std::optional<drain_report> second;
    asio::co_spawn(io, it->drain(30s), [&](std::exception_ptr e, drain_report r) {
        BOOST_TEST(!e);
        second = r;
    });
    BOOST_TEST(until(25s, [&] { return report.has_value() && second.has_value(); }));
    BOOST_TEST(report->cancelled == 5u);
    BOOST_TEST(visible() == 5);
}

BOOST_AUTO_TEST_CASE(settlements_that_cannot_be_confirmed_are_reported_not_forgotten)
{
    send(20);
    api.on_delete = api.on_change = [] { return std::optional(failure(errc::connect_failed, "refused", true)); };
    consume([](delivery& d) -> asio::awaitable<outcome> {
        auto const even = (d.body().back() - '0') % 2 == 0;
        co_return even ? ack() : release();
    });
    BOOST_TEST(until(10s, [this] { return runs.size() == 20; }));
    auto const end = drained(10s);
    BOOST_TEST(!end.clean());
    BOOST_TEST(end.at_risk == 10u);
    BOOST_TEST(end.stranded == 10u);
    BOOST_TEST((end.took == 10s));
}

BOOST_AUTO_TEST_CASE(a_consumer_that_never_started_drains_at_once)
{
    it.emplace(io.get_executor(), api, url, fast, options);
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST((end.took == 0s));
    it->start();
    time.run_for(io, 1min);
    BOOST_TEST(api.receives == 0);
}

BOOST_AUTO_TEST_CASE(a_fifo_queue_is_refused_by_name)
{
    url += ".fifo";
    BOOST_CHECK_EXCEPTION(it.emplace(io.get_executor(), api, url, fast, options), boost::system::system_error,
        [](auto const& e) { return std::string(e.what()).find("FIFO") != std::string::npos; });
}

BOOST_AUTO_TEST_CASE(a_drain_at_any_moment_leaves_nothing_hidden)
{
    for (auto at = 0ms; at < 400ms; at += 7ms) {
        BOOST_TEST_CONTEXT("drain after " << at.count() << " ms")
        {
            mill m;
            m.send(100);
            m.options.max_in_flight = 30;
            m.consume([&m](delivery& d) -> asio::awaitable<outcome> {
                co_await m.pause(20ms * d.receive_count());
                auto const odd = d.body().back() % 2 == 1;
                co_return odd&& d.receive_count() == 1 ? release() : ack();
            });
            m.time.run_for(m.io, at);
            auto const end = m.drained();
            BOOST_TEST(end.clean());
            BOOST_TEST(m.hidden() == 0);
            BOOST_TEST(m.visible() + static_cast<int>(m.it->counters().acked) == 100);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
