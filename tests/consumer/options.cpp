#include <quern/consumer/client_options.hpp>
#include <quern/consumer/options.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace quern;
using namespace std::chrono_literals;

namespace {

/// The name of the option that is refused once `change` has been made to the defaults.
template <class Change>
std::string refused(Change change)
{
    consumer_options options;
    change(options);
    auto const wrong = options.validate();
    return wrong ? wrong->message.substr(0, wrong->message.find(' ')) : "";
}

} // namespace

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(silence_is_asked_for)
{
    BOOST_TEST(bool(quern::consumer_options().log));
    BOOST_TEST(!quern::consumer_options().log_bodies);
}

BOOST_AUTO_TEST_CASE(the_defaults_are_valid)
{
    BOOST_TEST(refused([](consumer_options&) {}) == "");
}

BOOST_AUTO_TEST_CASE(what_cannot_work_is_refused_by_its_name)
{
    BOOST_TEST(refused([](auto& o) { o.limits.max_in_flight = 0; }) == "max_in_flight");
    BOOST_TEST(refused([](auto& o) { o.limits.max_in_flight = 120'001; }) == "max_in_flight");
    BOOST_TEST(refused([](auto& o) { o.limits.max_bytes_in_flight = 1'048'575; }) == "max_bytes_in_flight");
    BOOST_TEST(refused([](auto& o) { o.limits.rate = policy::rate{}; }) == "rate.count");
    BOOST_TEST(refused([](auto& o) { o.limits.rate = policy::rate{.count = 1, .per = 25h}; }) == "rate.per");
    BOOST_TEST(refused([](auto& o) { o.limits.rate = policy::rate{.count = 1, .burst = 0}; }) == "rate.burst");
    BOOST_TEST(refused([](auto& o) { o.limits.max_polls = 0; }) == "max_polls");
    BOOST_TEST(refused([](auto& o) { o.limits.max_polls = 1'001; }) == "max_polls");
    BOOST_TEST(refused([](auto& o) { o.limits.handler_concurrency = 120'001; }) == "handler_concurrency");
    BOOST_TEST(refused([](auto& o) { o.wait_time = 21s; }) == "wait_time");
    BOOST_TEST(refused([](auto& o) { o.receive_latency = 1'001ms; }) == "receive_latency");
    BOOST_TEST(refused([](auto& o) { o.receive_latency = -1ms; }) == "receive_latency");
    BOOST_TEST(refused([](auto& o) { o.system_attributes = {"SentTimestmap"}; }) == "system_attributes");
    BOOST_TEST(refused([](auto& o) { o.wait_time = -1s; }) == "wait_time");
    BOOST_TEST(refused([](auto& o) { o.visibility_timeout = 2s; }) == "visibility_timeout");
    BOOST_TEST(refused([](auto& o) { o.visibility_timeout = 12h + 1s; }) == "visibility_timeout");
    BOOST_TEST(refused([](auto& o) { o.settle.linger = -1ms; }) == "settle.linger");
    BOOST_TEST(refused([](auto& o) { o.settle.linger = 11s; }) == "settle.linger");
    BOOST_TEST(refused([](auto& o) { o.settle.max_calls = 1; }) == "settle.max_calls");
    BOOST_TEST(refused([](auto& o) { o.settle.max_calls = 1'001; }) == "settle.max_calls");
    BOOST_TEST(refused([](auto& o) { o.handler_timeout = 12h + 1ms; }) == "handler_timeout");
    BOOST_TEST(refused([](auto& o) { o.max_age = 999ms; }) == "max_age");
    BOOST_TEST(refused([](auto& o) { o.max_tries = 0; }) == "max_tries");
    BOOST_TEST(refused([](auto& o) { o.stall_after = 999ms; }) == "stall_after");
    BOOST_TEST(refused([](auto& o) { o.give_up.after = -1ms; }) == "give_up.after");
    BOOST_TEST(refused([](auto& o) { o.give_up.at_start_after = 25h; }) == "give_up.at_start_after");
    BOOST_TEST(refused([](auto& o) { o.stall_after = 24h + 1ms; }) == "stall_after");
    BOOST_TEST(refused([](auto& o) { o.max_age = 14 * 24h + 1ms; }) == "max_age");
    BOOST_TEST(refused([](auto& o) { o.fifo.park_for = 12h + 1ms; }) == "fifo.park_for");
    BOOST_TEST(refused([](auto& o) { o.drain_deadline = 12h + 1ms; }) == "drain_deadline");
    BOOST_TEST(refused([](auto& o) { o.drain_deadline = 999ms; }) == "drain_deadline");
    BOOST_TEST(refused([](auto& o) { o.backoff = policy::backoff::exponential(-1ms); }) == "backoff.base");
    BOOST_TEST(refused([](auto& o) { o.backoff = policy::backoff::exponential(1s, 2.0, 1ms); }) == "backoff.cap");
    BOOST_TEST(refused([](auto& o) { o.backoff = policy::backoff::exponential(1s, 0.5); }) == "backoff.factor");
}

BOOST_AUTO_TEST_CASE(absent_is_off_and_zero_is_refused)
{
    BOOST_TEST(refused([](auto& o) {
        o.limits.max_bytes_in_flight.reset();
        o.settle.linger.reset();
        o.stall_after.reset();
    }) == "");
    BOOST_TEST(refused([](auto& o) { o.limits.max_bytes_in_flight = 0; }) == "max_bytes_in_flight");
    BOOST_TEST(refused([](auto& o) { o.limits.handler_concurrency = 0; }) == "handler_concurrency");
    BOOST_TEST(refused([](auto& o) { o.handler_timeout = 0ms; }) == "handler_timeout");
    BOOST_TEST(refused([](auto& o) { o.max_age = 0ms; }) == "max_age");
    BOOST_TEST(refused([](auto& o) { o.batch.window = 0ms; }) == "batch.window");
    BOOST_TEST(refused([](auto& o) { o.batch.bytes = 0; }) == "batch.bytes");
    BOOST_TEST(refused([](auto& o) { o.settle.linger = 0ms; }) == "settle.linger");
    BOOST_TEST(refused([](auto& o) { o.stall_after = 0ms; }) == "stall_after");
    BOOST_TEST(refused([](auto& o) { o.outage.flag.emplace(); }) == "outage.flag.source");
    BOOST_TEST(refused([](auto& o) { o.give_up.after = o.give_up.at_start_after = 0ms; }) == ""); // the first refusal
}

// A client with its own defaults tries three times for 10 s: no lease of 30 s survives a server that hangs.
BOOST_AUTO_TEST_CASE(a_client_for_a_consumer_leaves_it_the_time_for_two_attempts_at_an_extension)
{
    consumer_options options;
    options.visibility_timeout = 18s;
    options.limits.max_polls = 100;
    options.settle.max_calls = 70;
    sqs::client_options base;
    base.where.region = "eu-west-1";
    auto const fit = client_options_for(options, base);
    BOOST_TEST(fit.retries.max_attempts == 1);
    BOOST_TEST(fit.request_timeout == 3s);
    BOOST_TEST(fit.connections.data_connections == 100u);
    BOOST_TEST(fit.connections.control_connections == 70u);
    BOOST_TEST(fit.where.region == "eu-west-1");

    base.request_timeout = 1s;
    base.connections.data_connections = 500;
    auto const kept = client_options_for(options, base);
    BOOST_TEST(kept.request_timeout == 1s);
    BOOST_TEST(kept.connections.data_connections == 500u);
}

// Longer than any clock can count: refused by name as well, not by what an addition overflows to.
BOOST_AUTO_TEST_CASE(hostile_values_are_refused_by_name)
{
    using std::chrono::milliseconds, std::chrono::seconds;
    BOOST_TEST(refused([](auto& o) { o.limits.max_in_flight = std::numeric_limits<std::size_t>::max(); }) ==
        "max_in_flight");
    BOOST_TEST(refused([](auto& o) { o.limits.max_polls = std::numeric_limits<std::size_t>::max(); }) == "max_polls");
    BOOST_TEST(
        refused([](auto& o) { o.settle.max_calls = std::numeric_limits<std::size_t>::max(); }) == "settle.max_calls");
    for (auto const n : {std::size_t(0), std::size_t(100'001), std::numeric_limits<std::size_t>::max()})
        BOOST_TEST(refused([n](auto& o) { o.outage.max_dependencies = n; }) == "outage.max_dependencies");
    for (auto const d : {milliseconds::max(), milliseconds::min()}) {
        BOOST_TEST(refused([&](auto& o) { o.handler_timeout = d; }) == "handler_timeout");
        BOOST_TEST(refused([&](auto& o) { o.max_age = d; }) == "max_age");
        BOOST_TEST(refused([&](auto& o) { o.stall_after = d; }) == "stall_after");
        BOOST_TEST(refused([&](auto& o) { o.fifo.park_for = d; }) == "fifo.park_for");
        BOOST_TEST(refused([&](auto& o) { o.settle.linger = d; }) == "settle.linger");
        BOOST_TEST(refused([&](auto& o) { o.drain_deadline = d; }) == "drain_deadline");
    }
    for (auto const share : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
        BOOST_TEST(refused([&](auto& o) { o.outage.breaker->share = share; }) == "breaker.share");
    for (auto const d : {seconds::max(), seconds::min()}) {
        BOOST_TEST(refused([&](auto& o) { o.wait_time = d; }) == "wait_time");
        BOOST_TEST(refused([&](auto& o) { o.visibility_timeout = d; }) == "visibility_timeout");
    }
}

BOOST_AUTO_TEST_SUITE_END()
