#include "consumer/mill.hpp"

#include <quern/metrics/collection.hpp>
#include <quern/telemetry/prometheus.hpp>

#include <atomic>
#include <stdexcept>
#include <thread>

using namespace quern;
using namespace quern::test;
using telemetry::id;
using telemetry::part;

namespace {

/// A mill whose consumer is measured, and its messages watched all the same.
struct measured_mill : mill {
    metrics::collection all{"1.2", time};
    std::shared_ptr<metrics::consumer_metrics> its = all.consumer(url);

    measured_mill() { options.observer = its; }

    template <class F>
    void consume_measured(F handle)
    {
        consume(std::move(handle));
        its->follow(*it);
    }

    telemetry::reading of(part wanted) const
    {
        for (auto const& r : all.snapshot().sources)
            if (r.of == wanted) return r;
        throw std::logic_error("no such source");
    }
    std::uint64_t count(id which, std::size_t series = 0) const { return of(part::consumer).count(which, series); }
    std::optional<double> gauge(id which, std::size_t series = 0) const
    {
        return of(part::consumer).gauge(which, series);
    }
    telemetry::histogram spread(id which, std::size_t series = 0) const
    {
        return of(part::consumer).distribution(which, series);
    }
};

observed_message said(std::string_view name)
{
    observed_message out;
    out.id = name;
    return out;
}

/// A flag that is raised until it cannot be read any more.
struct raised_flag : policy::flag_source {
    std::string name() const override { return "test:halt"; }
    asio::awaitable<result<policy::flag_reading>> read() override
    {
        if (is_gone) co_return failure(errc::connect_failed, "nobody there", true);
        policy::flag_reading out;
        out.text = "open";
        co_return out;
    }
    bool is_gone = false;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(measuring, measured_mill)

BOOST_AUTO_TEST_CASE(what_was_received_handled_and_settled_is_counted_with_its_durations)
{
    send(7);
    consume_measured([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(40ms);
        co_return ack();
    });
    BOOST_REQUIRE(until(10s, [this] { return it->counters().acked == 7; }));
    BOOST_TEST(count(id::messages_received) == 7u);
    BOOST_TEST(count(id::messages_settled, 0) == 7u);
    BOOST_TEST(spread(id::process_duration, 1).count() == 7u);
    BOOST_TEST(spread(id::process_duration, 1).buckets[3] == 7u); // 25 to 50 ms
    BOOST_TEST(spread(id::process_duration, 1).sum == 0.28, boost::test_tools::tolerance(1e-4));
    BOOST_TEST(spread(id::wait).count() == 7u);
    BOOST_TEST(spread(id::dwell).count() == 7u);
    BOOST_TEST(spread(id::settle).count() == 7u);
    BOOST_TEST(count(id::receives, 0) >= 1u);
    BOOST_TEST(gauge(id::in_flight_messages).value() == 0.0);
    BOOST_TEST(gauge(id::saturation).value() == 0.0);
    auto const text = telemetry::prometheus_text(all.snapshot());
    BOOST_TEST(text.find("quern_messages_received_total{queue=\"orders\"} 7\n") != text.npos);
    BOOST_TEST(text.find("quern_build_info{version=\"1.2\"} 1\n") != text.npos);
}

BOOST_AUTO_TEST_CASE(what_is_held_and_what_runs_is_known_at_any_time)
{
    send(5);
    options.limits.max_in_flight = 10;
    consume_measured([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(10s);
        co_return ack();
    });
    BOOST_REQUIRE(until(5s, [this] { return running == 5; }));
    BOOST_TEST(gauge(id::in_flight_messages).value() == 5.0);
    BOOST_TEST(gauge(id::handlers_running).value() == 5.0);
    BOOST_TEST(gauge(id::limit, 0).value() == 10.0);
    BOOST_TEST(gauge(id::saturation).value() == 0.5);
    BOOST_REQUIRE(until(20s, [this] { return it->counters().acked == 5; }));
    BOOST_TEST(gauge(id::in_flight_messages).value() == 0.0);
    BOOST_TEST(gauge(id::handlers_running).value() == 0.0);
}

// Messages that a drain had to leave were in flight for ever.
BOOST_AUTO_TEST_CASE(after_a_drain_that_leaves_something_behind_nothing_is_in_flight)
{
    send(3);
    consume_measured([this](delivery&) -> asio::awaitable<outcome> {
        co_await asio::this_coro::throw_if_cancelled(false);
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        co_await pause(1h);
        co_return ack();
    });
    BOOST_REQUIRE(until(5s, [this] { return running == 3; }));
    BOOST_TEST(drained(5s).running == 3u);
    BOOST_TEST(gauge(id::in_flight_messages).value() == 0.0);
    BOOST_TEST(gauge(id::handlers_running).value() == 0.0);
}

BOOST_AUTO_TEST_CASE(handlers_that_fail_are_told_apart)
{
    send(4);
    options.handler_timeout = 1s;
    options.visibility_timeout = 30s;
    consume_measured([this](delivery& d) -> asio::awaitable<outcome> {
        auto const what = d.body();
        if (d.receive_count() > 1) co_return ack();
        if (what == "m0") throw std::runtime_error("no eggs");
        if (what == "m1") throw parse_error("no cake");
        if (what == "m2") {
            co_await pause(1min);
            throw std::runtime_error("too late");
        }
        co_return unavailable();
    });
    BOOST_REQUIRE(until(10min, [this] { return it->counters().acked == 4; }));
    BOOST_TEST(count(id::handler_failures, 0) == 1u); // threw
    BOOST_TEST(count(id::handler_failures, 1) == 1u); // timed_out
    BOOST_TEST(count(id::handler_failures, 3) >= 1u); // unavailable
    BOOST_TEST(count(id::messages_malformed) == 1u);
    BOOST_TEST(count(id::messages_settled, 0) == 4u);
    BOOST_TEST(count(id::messages_settled, 1) == it->counters().retried);
}

BOOST_AUTO_TEST_CASE(what_only_a_look_can_tell_is_told_by_a_look)
{
    send(2);
    options.limits.max_in_flight = 2;
    consume_measured([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(1min);
        co_return ack();
    });
    BOOST_REQUIRE(until(5s, [this] { return running == 2; }));
    BOOST_TEST(!gauge(id::in_flight_bytes).has_value());
    asio::co_spawn(
        io, it->explain(), [this](std::exception_ptr, explanation const& e) { its->explained(e, time.wall()); });
    time.run_for(io, 0s);
    BOOST_TEST(gauge(id::in_flight_bytes).value() > 0.0);
    BOOST_TEST(gauge(id::receives_open).value() == 0.0);
    BOOST_TEST(gauge(id::obstacle, 0).value() == 1.0); // max_in_flight
    BOOST_TEST(gauge(id::obstacle, 8).value() == 0.0);
    BOOST_TEST(gauge(id::oldest_in_flight).has_value());
    BOOST_TEST(gauge(id::last_progress).has_value());
    BOOST_TEST(!gauge(id::flag_halted).has_value());
}

BOOST_AUTO_TEST_CASE(the_busiest_tenants_have_labels_and_go_when_they_are_idle)
{
    explanation said;
    said.tenants = {{"acme", 3, 2, true}, {"", 0, 1, false}};
    its->explained(said, time.wall());
    std::vector<std::string> seen;
    for (auto const& r : all.snapshot().sources) {
        if (r.of != part::tenant) continue;
        auto const number = [&](id which, std::size_t series) { return static_cast<int>(*r.gauge(which, series)); };
        seen.push_back(r.labels.back().second + ": " + std::to_string(number(id::tenant_messages, 0)) + " run, " +
            std::to_string(number(id::tenant_messages, 1)) + " wait, " +
            std::to_string(number(id::tenant_capped, 0)));
    }
    BOOST_TEST((seen == std::vector<std::string>{"acme: 2 run, 3 wait, 1", ": 1 run, 0 wait, 0"}));
    BOOST_TEST(telemetry::prometheus_text(all.snapshot())
                   .find("quern_tenant_messages{queue=\"orders\",tenant=\"acme\",state=\"waiting\"} 3") !=
        std::string::npos);
    its->explained(explanation(), time.wall());
    BOOST_TEST(std::ranges::count(all.snapshot().sources, part::tenant, &telemetry::reading::of) == 0);
}

BOOST_AUTO_TEST_CASE(the_time_at_which_a_flag_was_read_stands_still_while_it_cannot_be_read)
{
    auto const flag = std::make_shared<raised_flag>();
    options.outage.flag.emplace().source = flag;
    consume_measured([](delivery&) -> asio::awaitable<outcome> { co_return ack(); });
    auto const look = [this] {
        asio::co_spawn(
            io, it->explain(), [this](std::exception_ptr, explanation const& e) { its->explained(e, time.wall()); });
        time.run_for(io, 0s);
        return gauge(id::flag_read).value();
    };
    time.run_for(io, 1min);
    auto const at = look();
    BOOST_TEST(gauge(id::flag_halted).value() == 1.0);
    flag->is_gone = true;
    time.run_for(io, 2min);
    auto const since = look() - at;
    bool const stands_still = since >= 0.0 && since <= 13.0; // of the last reading, give or take a second
    BOOST_TEST(stands_still);
    time.run_for(io, 5min);
    look();
    BOOST_TEST(gauge(id::flag_halted).value() == 1.0); // a halt stands until something else is read
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(two_consumers_of_one_queue_have_numbers_of_their_own)
{
    metrics::collection all;
    auto const first = all.consumer("https://a/1/orders"), second = all.consumer("https://b/2/orders"),
               other = all.consumer("https://a/1/mails");
    first->received(said("m"));
    second->received(said("m"));
    second->received(said("n"));
    auto const text = telemetry::prometheus_text(all.snapshot());
    BOOST_TEST(text.find("quern_messages_received_total{queue=\"orders\"} 1\n") != text.npos);
    BOOST_TEST(text.find("quern_messages_received_total{queue=\"orders\",consumer=\"2\"} 2\n") != text.npos);
    BOOST_TEST(text.find("quern_messages_received_total{queue=\"mails\"} 0\n") != text.npos);
}

BOOST_AUTO_TEST_CASE(two_clients_have_numbers_of_their_own)
{
    metrics::collection all;
    auto const first = all.client(), second = all.client();
    sqs::observed_request r;
    r.operation = "SendMessage";
    first->request_done(r);
    second->request_done(r);
    auto const text = telemetry::prometheus_text(all.snapshot());
    BOOST_TEST(text.find("quern_requests_total{operation=\"SendMessage\",result=\"ok\"} 1\n") != text.npos);
    BOOST_TEST(
        text.find("quern_requests_total{client=\"2\",operation=\"SendMessage\",result=\"ok\"} 1\n") != text.npos);
}

BOOST_AUTO_TEST_CASE(breakers_of_several_dependencies_add_up)
{
    using phase = policy::breaker::phase;
    metrics::collection all;
    auto const its = all.consumer("orders");
    auto const states = [&] {
        std::string out;
        for (std::size_t s = 0; s < 3; ++s)
            out += std::to_string(static_cast<int>(all.snapshot().sources.at(1).gauge(id::breaker_state, s).value()));
        return out;
    };
    BOOST_TEST(states() == "100");
    its->breaker_changed("shop", phase::closed, phase::open);
    BOOST_TEST(states() == "010");
    its->breaker_changed("bank", phase::closed, phase::open);
    BOOST_TEST(states() == "020");
    its->breaker_changed("shop", phase::open, phase::half_open);
    BOOST_TEST(states() == "011");
    its->breaker_changed("shop", phase::half_open, phase::closed);
    its->breaker_changed("bank", phase::open, phase::closed);
    BOOST_TEST(states() == "100");
    BOOST_TEST(all.snapshot().sources.at(1).count(id::breaker_transitions, 1) == 2u);
}

BOOST_AUTO_TEST_CASE(requests_are_counted_by_operation_and_by_how_they_ended)
{
    metrics::collection all;
    auto const client = all.client();
    failure const throttled(errc::throttled, "slower"), late(errc::timed_out, "late"), odd(errc::bad_reply, "odd");
    struct {
        char const* operation;
        failure const* why;
        std::size_t series;
    } const table[] = {
        {"ReceiveMessage", nullptr, 0},
        {"ReceiveMessage", &throttled, 1},
        {"DeleteMessageBatch", &odd, 6},
        {"SendMessage", &late, 23},
        {"TagQueue", nullptr, 28},
    };
    for (auto const& row : table) {
        sqs::observed_request r;
        r.operation = row.operation;
        r.why = row.why;
        r.took = 3ms;
        client->request_done(r);
        BOOST_TEST(all.snapshot().sources.at(1).count(id::requests, row.series) == 1u, row.operation);
    }
    BOOST_TEST(all.snapshot().sources.at(1).distribution(id::request_duration, 0).count() == 2u);
}

// For the thread sanitizer; and a reader that has to wait between two numbers must not see what was never so.
BOOST_AUTO_TEST_CASE(numbers_are_read_while_they_change)
{
    metrics::collection all;
    auto const its = all.consumer("orders");
    std::atomic<bool> over = false;
    std::thread reader([&] {
        while (!over) {
            auto const s = all.snapshot();
            auto const held = s.sources.at(1).gauge(id::in_flight_messages, 0).value();
            if (held != 0 && held != 1) over = true;
        }
    });
    observed_message m = said("m");
    m.queued = 20ms;
    for (int i = 0; i < 20'000 && !over; ++i) {
        its->received(m);
        its->began(m);
        its->ended(m, handler_end::returned, outcome::kind::ack);
        its->settled(m, message_end::deleted, 0s);
    }
    BOOST_TEST(!over.exchange(true));
    reader.join();
    BOOST_TEST(all.snapshot().sources.at(1).gauge(id::in_flight_messages, 0).value() == 0.0);
}
