#include "service.hpp"

#include <quern/broker/faults.hpp>

#include <map>
#include <set>

using namespace quern::test;
using boost::test_tools::per_element;
using broker::fault_plan;
using broker::fault_rates;
using broker::fault_settings;
using broker::transport_fault;

namespace {

fault_settings only(std::string operation, fault_rates rates)
{
    fault_settings out;
    out.by_operation.emplace(std::move(operation), rates);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(faults)

BOOST_AUTO_TEST_CASE(a_plan_without_rates_does_nothing)
{
    fault_plan plan;
    for (int i = 0; i != 100; ++i) {
        BOOST_TEST(plan.on_request("SendMessage").what == transport_fault::none);
        BOOST_TEST(plan.on_request("SendMessage").latency == 0ms);
        BOOST_TEST(!plan.fails_entry("SendMessageBatch"));
        BOOST_TEST(!plan.duplicates_message());
        BOOST_TEST(!plan.expires_receipt("DeleteMessage"));
    }
}

BOOST_AUTO_TEST_CASE(the_same_seed_draws_the_same_faults)
{
    auto const draw = [](std::uint64_t seed) {
        fault_settings settings;
        settings.seed = seed;
        settings.everywhere.throttled = 0.2;
        settings.everywhere.truncated = 0.2;
        settings.everywhere.latency = 0.5;
        fault_plan plan(settings);
        std::vector<long> out;
        for (int i = 0; i != 200; ++i) {
            auto const fault = plan.on_request("SendMessage");
            out.push_back(static_cast<long>(fault.what) * 1000 + fault.latency.count());
        }
        return out;
    };
    BOOST_TEST(draw(1) == draw(1), per_element());
    BOOST_TEST(draw(1) != draw(2));
}

BOOST_AUTO_TEST_CASE(rates_are_met_roughly)
{
    fault_settings settings;
    settings.everywhere.throttled = 0.1;
    settings.everywhere.dropped_after = 0.3;
    fault_plan plan(settings);
    std::map<transport_fault, int> seen;
    for (int i = 0; i != 10'000; ++i)
        ++seen[plan.on_request("SendMessage").what];
    BOOST_TEST(seen.size() == 3u);
    BOOST_TEST(std::abs(seen[transport_fault::throttled] - 1000) < 150);
    BOOST_TEST(std::abs(seen[transport_fault::dropped_after] - 3000) < 200);
}

BOOST_AUTO_TEST_CASE(details_come_with_the_fault)
{
    fault_rates rates;
    rates.server_error = 1;
    rates.latency = 1;
    rates.latency_min = 5ms;
    rates.latency_max = 7ms;
    fault_plan plan(only("SendMessage", rates));
    std::set<int> statuses;
    std::set<long> latencies;
    for (int i = 0; i != 200; ++i) {
        auto const fault = plan.on_request("SendMessage");
        statuses.insert(fault.http_status);
        latencies.insert(fault.latency.count());
    }
    BOOST_TEST(statuses == (std::set<int>{500, 503}), per_element());
    BOOST_TEST(latencies == (std::set<long>{5, 6, 7}), per_element());
    BOOST_TEST(plan.on_request("DeleteMessage").what == transport_fault::none);

    fault_rates slow;
    slow.slow = 1;
    slow.slow_bytes_per_second = 9;
    BOOST_TEST(fault_plan(only("x", slow)).on_request("x").bytes_per_second == 9);
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_named)
{
    auto const said = [](auto change) {
        fault_settings settings = only("ReceiveMessage", {});
        change(settings.by_operation.at("ReceiveMessage"));
        auto const bad = settings.validate();
        return bad ? bad->message : "";
    };
    BOOST_TEST(said([](auto&) {}) == "");
    BOOST_TEST(said([](auto& r) { r.throttled = 1; }) == "");
    BOOST_TEST(said([](auto& r) { r.slow = 1.5; }) == "faults.ReceiveMessage.slow: a chance is from 0 to 1");
    BOOST_TEST(said([](auto& r) { r.latency = -0.1; }) == "faults.ReceiveMessage.latency: a chance is from 0 to 1");
    BOOST_TEST(said([](auto& r) { r.duplicated = 0.0 / 0.0; }) != "");
    BOOST_TEST(said([](auto& r) { r.throttled = r.slow = 0.6; }) != "");
    BOOST_TEST(said([](auto& r) { r.latency_min = 200ms; }) != "");
    BOOST_TEST(said([](auto& r) { r.slow_bytes_per_second = 0; }) != "");
    fault_settings everywhere;
    everywhere.everywhere.half_open = 2;
    BOOST_TEST(everywhere.validate()->message == "faults.everywhere.half_open: a chance is from 0 to 1");
}

BOOST_AUTO_TEST_CASE(entries_of_a_batch_fail_one_by_one)
{
    service s;
    auto const url = s.create("q");
    s.engine.set_faults(only("SendMessageBatch", {.entry_failed = 0.5}));
    std::size_t done = 0;
    std::size_t failed = 0;
    for (int i = 0; i != 50; ++i) {
        auto const answer = s.engine.send_message_batch({url, {{"1", "a"}, {"2", "b"}}}, s.now).value();
        BOOST_TEST(answer.successful.size() + answer.failed.size() == 2u);
        done += answer.successful.size();
        failed += answer.failed.size();
        for (auto const& entry : answer.failed) {
            BOOST_TEST(entry.code == "InternalError");
            BOOST_TEST(!entry.sender_fault);
        }
    }
    BOOST_TEST(failed > 20u);
    BOOST_TEST(done > 20u);
    BOOST_TEST(s.counts(url) == std::to_string(done) + "/0/0");

    s.engine.set_faults(only("DeleteMessageBatch", {.entry_failed = 1}));
    auto const handle = s.handle(url);
    auto const answer = s.engine.delete_message_batch({url, {{"1", handle}}}, s.now).value();
    BOOST_TEST(answer.failed.at(0).code == "InternalError");
    BOOST_TEST(s.remove(url, handle).has_value()); // it was still there
    BOOST_TEST(s.counts(url) == std::to_string(done - 1) + "/0/0");
}

BOOST_AUTO_TEST_CASE(a_duplicated_message_stays_visible_on_standard_queues_alone)
{
    service s;
    s.engine.set_faults(only("ReceiveMessage", {.duplicated = 1}));
    auto const standard = s.create("q");
    s.send(standard, "m");
    auto const first = s.receive(standard);
    auto const second = s.receive(standard);
    BOOST_TEST(first.messages.at(0).id == second.messages.at(0).id);
    BOOST_TEST(first.messages.at(0).receipt_handle != second.messages.at(0).receipt_handle);
    auto const fifo = s.create_fifo("q");
    s.send(fifo, "m", "g");
    BOOST_TEST(s.bodies(fifo).size() == 1u);
    BOOST_TEST(s.bodies(fifo).empty());
}

BOOST_AUTO_TEST_CASE(a_short_answer_brings_fewer_than_it_might_and_at_least_one)
{
    service s;
    auto const url = s.create("q");
    for (int i = 0; i != 500; ++i)
        s.send(url, "m");
    s.engine.set_faults(only("ReceiveMessage", {.short_answer = 1}));
    std::map<std::size_t, int> sizes;
    for (int i = 0; i != 50; ++i)
        ++sizes[s.receive(url).messages.size()];
    BOOST_TEST(!sizes.contains(0));
    BOOST_TEST(!sizes.contains(10));
    BOOST_TEST(sizes.size() > 5u);
}

BOOST_AUTO_TEST_CASE(an_expired_receipt_deletes_and_extends_nothing)
{
    service s;
    auto const standard = s.create("q");
    auto const fifo = s.create_fifo("q");
    s.send(standard, "m");
    s.send(fifo, "m", "g");
    auto const one = s.handle(standard);
    auto const two = s.handle(fifo);
    fault_settings settings;
    settings.everywhere.receipt_expired = 1;
    s.engine.set_faults(settings);
    BOOST_TEST(s.remove(standard, one).has_value()); // a standard queue does not say so
    BOOST_TEST(s.counts(standard) == "0/0/1");
    BOOST_TEST(s.change(standard, one, 100).error().service_code == "InvalidParameterValue");
    BOOST_TEST(s.remove(fifo, two).error().message.ends_with("The receipt handle has expired."));
    BOOST_TEST(s.change(fifo, two, 100).error().message.ends_with("The receipt handle has expired."));
    s.pass(30s);
    BOOST_TEST(s.counts(standard) == "1/0/0");
    BOOST_TEST(s.counts(fifo) == "1/0/0");
}

BOOST_AUTO_TEST_SUITE_END()
