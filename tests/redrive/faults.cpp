// What goes wrong between the queues: nothing is lost, and what may be there twice is counted.

#include "redrive/yard.hpp"

using namespace quern;
using namespace quern::test;

namespace {

/// True for the calls of these numbers, counted from 1.
struct at_calls {
    std::vector<int> which;
    int seen = 0;
    bool operator()() { return std::ranges::count(which, ++seen) != 0; }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(redriver_faults, yard)

// A mover that deletes the whole batch loses the entries that the service refused.
BOOST_AUTO_TEST_CASE(entries_that_a_batch_refuses_are_sent_again_and_the_others_are_not)
{
    kill(300);
    broker::fault_settings faults;
    faults.by_operation["SendMessageBatch"].entry_failed = 0.3;
    faults.by_operation["DeleteMessageBatch"].entry_failed = 0.3;
    engine.set_faults(faults);
    auto const got = run();
    engine.set_faults({});
    BOOST_TEST(got.redriven == 300u);
    BOOST_TEST(got.deleted == 300u);
    BOOST_TEST(got.failures > 50u);
    BOOST_TEST(all(dead) == 0);
    auto const there = bodies(orders);
    BOOST_TEST(there.size() == 300u);
    for (auto const& [body, times] : there)
        BOOST_TEST(times == 1, body);
}

BOOST_AUTO_TEST_CASE(throttled_sends_are_tried_again)
{
    kill(50);
    int calls = 0;
    api.before = fails("SendMessageBatch", errc::throttled, [&] { return ++calls <= 8; });
    auto const got = run();
    BOOST_TEST(got.redriven == 50u);
    BOOST_TEST(got.failures >= 8u);
    BOOST_TEST(got.maybe_twice == 0u);
    BOOST_TEST(all(orders) == 50);
}

BOOST_AUTO_TEST_CASE(a_send_whose_answer_is_lost_is_counted_as_maybe_twice)
{
    kill(20);
    at_calls lost{{2}};
    api.after = fails("SendMessageBatch", errc::connection_lost, [&] { return lost(); });
    auto const got = run();
    BOOST_TEST(got.redriven == 20u);
    auto const there = bodies(orders);
    BOOST_TEST(there.size() == 20u);
    std::size_t twice = 0;
    for (auto const& [body, times] : there)
        twice += static_cast<std::size_t>(times - 1);
    BOOST_TEST(twice > 0u);
    BOOST_TEST(got.maybe_twice == twice);
}

// Deletes fail for longer than the lease lasts: the message comes again, and must not be sent a second time.
BOOST_AUTO_TEST_CASE(what_was_sent_and_could_not_be_deleted_is_only_deleted_at_its_next_sight)
{
    kill(20);
    auto const began = time.now();
    api.before = [&](std::string_view operation, std::string_view queue) {
        std::optional<failure> out;
        bool const changes = operation == "ChangeMessageVisibilityBatch" || operation == "DeleteMessageBatch";
        if (changes && queue == "dead" && time.now() - began < 3min)
            out = failure(errc::connection_lost, "down", true);
        return out;
    };
    auto const got = run();
    BOOST_TEST(got.redriven == 20u);
    BOOST_TEST(got.deleted == 20u);
    BOOST_TEST(got.maybe_twice == 0u);
    BOOST_TEST(all(dead) == 0);
    BOOST_TEST(all(orders) == 20);
}

BOOST_AUTO_TEST_CASE(deletes_that_are_never_confirmed_are_counted)
{
    kill(5);
    api.before = fails("DeleteMessageBatch", errc::connection_lost);
    auto& driver = start();
    time.run_for(io, 1min);
    driver.stop();
    BOOST_REQUIRE(until(2min, [&] { return !reports.empty(); }));
    BOOST_TEST(reports[0].redriven == 5u);
    BOOST_TEST(reports[0].deleted == 0u);
    BOOST_TEST(reports[0].maybe_twice == 5u);
}

BOOST_AUTO_TEST_CASE(a_right_that_is_missing_ends_the_run_with_its_cause)
{
    kill(200);
    api.before = [&](std::string_view operation, std::string_view) {
        std::optional<failure> out;
        if (operation != "SendMessageBatch") return out;
        out = failure(errc::service_error, "not allowed to send");
        out->service_code = "AccessDenied";
        out->sender_fault = true;
        return out;
    };
    auto const got = run(5min);
    BOOST_TEST(got.redriven == 0u);
    BOOST_REQUIRE(got.stopped.has_value());
    BOOST_TEST(got.stopped->find("AccessDenied") != std::string::npos);
    BOOST_TEST(count(dead) == 200);
}

BOOST_AUTO_TEST_CASE(a_message_that_the_queue_refuses_is_isolated_with_what_it_said)
{
    options.poison_url = poison;
    kill(10);
    sqs::set_queue_attributes_request smaller;
    smaller.queue_url = orders;
    smaller.attributes["MaximumMessageSize"] = "1024";
    send(orders, letter(orders, std::string(1'000, 'x'))); // too large together with our attributes
    fail_all(orders);
    engine.set_queue_attributes(smaller, time.wall()).value();
    auto const got = run();
    BOOST_TEST(got.redriven == 10u);
    BOOST_TEST(got.isolated == 1u);
    auto const there = take(poison);
    BOOST_REQUIRE(there.size() == 1u);
    BOOST_TEST(there[0].attributes.at("QuernReason").value.starts_with("refused by orders: "));
}

// It went on until all of them were in the poison queue.
BOOST_AUTO_TEST_CASE(a_fault_that_the_queue_finds_with_every_message_ends_the_run)
{
    options.poison_url = poison;
    kill(200);
    api.before = [&](std::string_view operation, std::string_view queue) {
        std::optional<failure> out;
        if (operation != "SendMessageBatch" || queue != "orders") return out;
        out = failure(errc::service_error, "whatever it is");
        out->service_code = "InvalidParameterValue";
        out->sender_fault = true;
        return out;
    };
    auto const got = run(5min);
    BOOST_REQUIRE(got.stopped.has_value());
    BOOST_TEST(*got.stopped == "every message was refused: InvalidParameterValue: whatever it is");
    BOOST_TEST(got.isolated <= 20u);
    BOOST_TEST(all(dead) + all(poison) == 200);
}

BOOST_AUTO_TEST_CASE(too_many_failed_sends_end_the_run)
{
    kill(100);
    options.speed.stop_on_failure = redrive::failure_limit{10, 1min};
    api.before = fails("SendMessageBatch", errc::service_error);
    auto const got = run(5min);
    BOOST_REQUIRE(got.stopped.has_value());
    BOOST_TEST(got.stopped->ends_with("sends failed within 60 s"));
    BOOST_TEST(all(dead) == 100);
    BOOST_TEST(count(dead) == 100);
}

BOOST_AUTO_TEST_CASE(a_queue_that_is_gone_is_a_failure_and_no_wait)
{
    options.dlq_url = dead + "-absent";
    start();
    BOOST_REQUIRE(until(1min, [&] { return !refused.empty(); }));
    BOOST_TEST(refused[0].find("NonExistentQueue") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(redriver_fifo_faults, fifo_yard)

BOOST_AUTO_TEST_CASE(an_answer_that_is_lost_leaves_order_and_number_as_they_were)
{
    kill(60);
    at_calls lost{{3, 4, 9, 10, 11}};
    api.after = fails("SendMessageBatch", errc::connection_lost, [&] { return lost(); });
    auto const got = run();
    BOOST_TEST(got.redriven == 60u);
    BOOST_TEST(got.maybe_twice == 0u);
    std::map<std::string, std::vector<int>> groups;
    for (auto const& m : take(orders))
        groups[m.system.at("MessageGroupId")].push_back(std::stoi(m.body.substr(1)));
    for (auto const& [group, numbers] : groups) {
        BOOST_TEST(numbers.size() == 20u);
        BOOST_TEST(std::ranges::is_sorted(numbers), group);
    }
}

// The queue takes a second copy after five minutes, and nobody was told.
BOOST_AUTO_TEST_CASE(a_send_that_is_tried_again_after_five_minutes_is_counted_as_maybe_twice)
{
    kill(6);
    auto const began = time.now();
    api.before = fails(
        "SendMessageBatch", errc::throttled, [&] { return time.now() - began > 1s && time.now() - began < 7min; });
    api.after = fails("SendMessageBatch", errc::timed_out, [&] { return time.now() - began <= 1s; });
    auto const got = run();
    std::size_t twice = 0;
    auto const there = bodies(orders);
    for (auto const& [body, times] : there)
        twice += static_cast<std::size_t>(times - 1);
    BOOST_TEST(there.size() == 6u);
    BOOST_TEST(twice == 3u); // the head of each group
    BOOST_TEST(got.maybe_twice == 3u);
}

BOOST_AUTO_TEST_CASE(a_send_in_doubt_when_the_run_ends_is_counted_as_maybe_twice)
{
    kill(3);
    options.speed.stop_on_failure = redrive::failure_limit{3, 1min};
    api.after = fails("SendMessageBatch", errc::timed_out);
    auto const got = run();
    BOOST_TEST(got.redriven == 0u);
    BOOST_TEST(got.maybe_twice == 3u);
}

// All the others were received and hidden, as fast as the queue gave them out.
BOOST_AUTO_TEST_CASE(a_place_in_the_limit_that_is_in_doubt_has_no_more_passed_over_than_are_held)
{
    for (int i = 0; i < 200; ++i) {
        auto m = letter(dead, "m");
        m.group_id = "g" + std::to_string(i);
        send(dead, m);
    }
    options.speed.limit = 1;
    auto const began = time.now();
    api.after = fails("SendMessageBatch", errc::timed_out, [&] { return time.now() - began < 3s; });
    start();
    time.run_for(io, 2s);
    BOOST_TEST(in_flight(dead) <= 40);
    auto const got = finish();
    BOOST_TEST(got.redriven == 1u);
    BOOST_TEST(count(dead) == 199);
}

// It could not be received while one of its group is hidden: so none is before it is deleted.
BOOST_AUTO_TEST_CASE(what_was_sent_is_deleted_though_a_message_behind_it_stays)
{
    send_a_head_and_one_that_stays();
    auto const began = time.now();
    api.before = fails("DeleteMessageBatch", errc::connection_lost, [&] { return time.now() - began < 90s; });
    auto const got = run();
    BOOST_TEST(got.redriven == 1u);
    BOOST_TEST(got.deleted == 1u);
    BOOST_TEST(got.maybe_twice == 0u);
    BOOST_TEST(got.skipped == 1u);
    BOOST_TEST(count(dead) == 1);
}

// The place of the first was free while nobody knew whether it was there, and another message took it.
BOOST_FIXTURE_TEST_CASE(a_message_that_may_be_there_keeps_its_place_in_the_limit, yard)
{
    kill(2);
    options.speed.limit = 1;
    at_calls lost{{1, 2, 3, 4, 5}};
    api.after = fails("SendMessageBatch", errc::connection_lost, [&] { return lost(); });
    auto const got = run();
    BOOST_TEST(got.redriven == 1u);
    BOOST_TEST(got.maybe_twice == 5u);
    BOOST_TEST(bodies(orders).size() == 1u);
    BOOST_TEST(count(dead) == 1);
}

// Each of the calls waited for its time to be over, for hours.
BOOST_FIXTURE_TEST_CASE(giving_back_ends_when_sqs_is_gone, yard)
{
    kill(500);
    options.which.id = "nobody's";
    bool gone = false;
    options.ends = [&]() -> asio::awaitable<void> {
        gone = true;
        co_return;
    };
    int vain = 0;
    api.before = fails("ChangeMessageVisibilityBatch", errc::timed_out, [&] { return gone && ++vain > 0; });
    auto const got = run();
    BOOST_TEST(got.skipped == 500u);
    BOOST_TEST(got.still_hidden == 500u);
    BOOST_TEST(vain == 2);
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_was_not_given_back_is_tried_once_more, yard)
{
    kill(100);
    options.which.id = "nobody's";
    int calls = 0;
    bool ends = false;
    options.ends = [&]() -> asio::awaitable<void> {
        ends = true;
        co_return;
    };
    api.before = fails("ChangeMessageVisibilityBatch", errc::throttled, [&] { return ends && ++calls % 2 == 1; });
    auto const got = run();
    BOOST_TEST(got.still_hidden == 0u);
    BOOST_TEST(count(dead) == 100);
}

BOOST_FIXTURE_TEST_CASE(what_lies_behind_messages_that_were_not_chosen_is_told, fifo_yard)
{
    for (int i = 0; i < 3; ++i) {
        auto m = letter(dead, "m" + std::to_string(i));
        m.group_id = "g";
        send(dead, m);
    }
    options.which.where.push_back(redrive::parse_where("attr.type = \"x\"").value());
    auto const got = run();
    BOOST_TEST(got.skipped >= 1u);
    BOOST_TEST(got.skipped + got.behind == 3u);
}

BOOST_FIXTURE_TEST_CASE(a_run_that_was_ended_early_says_so, yard)
{
    kill(20);
    options.speed.rate = 1;
    auto& driver = start();
    time.run_for(io, 5s);
    driver.stop();
    BOOST_TEST(finish().interrupted);
    options.speed.rate.reset();
    start();
    BOOST_TEST(!finish(1h, 2).interrupted);
}

// Kill -9 left what was passed over hidden for a quarter of an hour.
BOOST_FIXTURE_TEST_CASE(what_is_passed_over_is_hidden_for_a_lease_at_a_time_and_received_once, yard)
{
    kill(40);
    options.which.id = "nobody's";
    options.speed.depth_lag = 10min; // goes on for so long: one more is held by somebody else
    sqs::receive_message_request other(dead);
    other.max_messages = 1;
    other.visibility_timeout = 20min;
    other.wait_time = 0s;
    BOOST_TEST(engine.receive_message(other, time.wall()).value().answer.messages.size() == 1u);
    auto const& driver = start();
    for (int minute = 0; minute < 5; ++minute) {
        time.run_for(io, 1min);
        BOOST_TEST(in_flight(dead) == 40);
    }
    BOOST_TEST(driver.so_far().skipped == 39u);
    BOOST_TEST(api.calls["ReceiveMessage"] < 350); // none of them by a message that came to light
    api.before = [](auto, auto) { return std::optional(failure(errc::timed_out, "killed", true)); };
    time.run_for(io, 31s);
    BOOST_TEST(in_flight(dead) == 1);
}

// Receives never came back empty, and the run had no end.
BOOST_FIXTURE_TEST_CASE(a_run_ends_though_a_hidden_message_comes_to_light_every_few_seconds, yard)
{
    options.which.id = "nobody's";
    options.wait_time = 20s;
    api.forgets_changes = true; // each comes to light when its first lease ends
    start();
    for (int i = 0; i < 13; ++i) {
        send(dead, letter(dead, "m" + std::to_string(i)));
        time.run_for(io, 5s);
    }
    auto const got = finish(10min);
    BOOST_TEST(got.skipped == 13u);
    time.run_for(io, 31s);
    BOOST_TEST(count(dead) == 13);
}

BOOST_AUTO_TEST_SUITE_END()
