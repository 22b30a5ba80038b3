#include "service.hpp"

#include <quern/broker/detail/move_task.hpp>

using namespace quern::test;
using boost::test_tools::per_element;

namespace {

/// A dead-letter queue with messages, where they came from, and a queue to move them to.
struct redrive : service {
    std::string source;
    std::string dead;
    std::string other = create("other");

    explicit redrive(int messages)
    {
        auto const pair = create_pair("q", 1);
        source = pair.source;
        dead = pair.dead;
        for (int i = 0; i != messages; ++i)
            send(source, "m" + std::to_string(i));
        for (int i = 0; i != 2 * messages; ++i)
            receive(source, 1, 0);
        BOOST_REQUIRE(counts(dead) == std::to_string(messages) + "/0/0");
    }

    quern::result<sqs::task_handle_response> try_start(
        std::string from, std::string to = {}, std::optional<int> rate = {})
    {
        sqs::start_message_move_task_request request(std::move(from));
        if (!to.empty()) request.destination_arn = std::move(to);
        request.max_messages_per_second = rate;
        return engine.start_message_move_task(request, now);
    }
    std::string start(std::string to = {}, std::optional<int> rate = {})
    {
        return try_start(arn(dead), std::move(to), rate).value().task_handle;
    }
    std::vector<sqs::message_move_task> tasks(std::optional<int> most = {})
    {
        sqs::list_message_move_tasks_request request(arn(dead));
        request.max_results = most;
        return engine.list_message_move_tasks(request, now).value().tasks;
    }
    sqs::message_move_task task() { return tasks().at(0); }
    quern::result<sqs::moved_response> cancel(std::string handle)
    {
        return engine.cancel_message_move_task(sqs::cancel_message_move_task_request(std::move(handle)), now);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(move_tasks)

BOOST_AUTO_TEST_CASE(messages_go_to_the_destination_as_new_ones)
{
    redrive s(2);
    auto const before = s.receive(s.dead, 10, 0);
    auto const old_id = std::string(before.messages.at(0).id);
    s.start(s.arn(s.other));
    s.pass(10s);
    auto const got = s.receive(s.other);
    BOOST_TEST(service::bodies_of(got) == strings({"m0", "m1"}), per_element());
    auto const& m = got.messages.at(0);
    BOOST_TEST(m.id != old_id);
    BOOST_TEST(m.receive_count() == 1);
    BOOST_TEST(m.system("DeadLetterQueueSourceArn").empty());
    BOOST_TEST(m.sent_at() == s.now - 10s);
    BOOST_TEST(s.counts(s.dead) == "0/0/0");

    auto const task = s.task();
    BOOST_TEST(task.status == "COMPLETED");
    BOOST_TEST(task.messages_moved == 2);
    BOOST_TEST(task.messages_to_move.value() == 2);
    BOOST_TEST(task.task_handle.empty());
    BOOST_TEST(task.destination_arn == s.arn(s.other));
    BOOST_TEST(task.started_at_ms == 1'700'000'000'000);
}

BOOST_AUTO_TEST_CASE(without_a_destination_each_message_goes_back_where_it_came_from)
{
    redrive s(1);
    auto const second = s.create("second", {{"RedrivePolicy", s.attributes(s.source).at("RedrivePolicy")}});
    s.send(second, "other");
    s.receive(second, 1, 0);
    s.receive(second, 1, 0);
    s.start();
    s.pass(1s);
    BOOST_TEST(s.bodies(s.source) == strings({"m0"}), per_element());
    BOOST_TEST(s.bodies(second) == strings({"other"}), per_element());
    BOOST_TEST(s.task().destination_arn.empty());
}

BOOST_AUTO_TEST_CASE(a_message_sent_to_the_dead_letter_queue_itself_fails_the_task)
{
    redrive s(0);
    s.send(s.dead, "direct");
    s.start();
    s.pass(1s);
    BOOST_TEST(s.task().status == "FAILED");
    BOOST_TEST(s.task().failure_reason == "CouldNotDetermineMessageSource");
    BOOST_TEST(s.counts(s.dead) == "1/0/0");
}

BOOST_AUTO_TEST_CASE(the_rate_is_kept)
{
    redrive s(4);
    auto const handle = s.start(s.arn(s.other), 1);
    s.pass(0s);
    for (int moved = 1; moved <= 4; ++moved) {
        auto const task = s.task();
        BOOST_TEST(task.status == "RUNNING");
        BOOST_TEST(task.messages_moved == moved);
        BOOST_TEST(task.task_handle == handle);
        BOOST_TEST(task.max_messages_per_second.value() == 1);
        s.pass(1s);
    }
    BOOST_TEST(s.task().status == "COMPLETED");
}

// The pause between two messages was counted in whole seconds: none, from a rate of 2 on.
BOOST_AUTO_TEST_CASE(a_rate_of_many_a_second_is_kept_too)
{
    for (int const rate : {2, 3, 10}) {
        redrive s(rate + 1);
        s.start(s.arn(s.other), rate);
        s.pass(999ms);
        BOOST_TEST(s.task().messages_moved == rate);
        BOOST_TEST(s.task().status == "RUNNING");
        s.pass(10ms);
        BOOST_TEST(s.task().messages_moved == rate + 1);
    }
    redrive s(5);
    s.start(s.arn(s.other)); // 500 a second
    s.pass(3ms);
    BOOST_TEST(s.task().messages_moved == 2);
}

BOOST_AUTO_TEST_CASE(a_cancelled_task_stops_at_its_next_step)
{
    redrive s(10);
    auto const handle = s.start(s.arn(s.other), 1);
    s.pass(1500ms);
    BOOST_TEST(s.cancel(handle)->messages_moved == 2);
    BOOST_TEST(s.task().status == "CANCELLING");
    s.pass(1s);
    BOOST_TEST(s.task().status == "CANCELLED");
    s.pass(60s);
    BOOST_TEST(s.counts(s.dead) == "8/0/0");
    BOOST_TEST(s.cancel(handle).error().service_code == "InvalidParameterValue");
}

BOOST_AUTO_TEST_CASE(a_destination_that_goes_away_fails_the_task)
{
    redrive s(10);
    s.start(s.arn(s.other), 1);
    s.pass(2500ms);
    s.engine.delete_queue(sqs::delete_queue_request(s.other), s.now).value();
    s.pass(1s);
    BOOST_TEST(s.task().status == "FAILED");
    BOOST_TEST(s.task().failure_reason == "AWS.SimpleQueueService.NonExistentQueue");
    BOOST_TEST(s.task().messages_moved == 3);
    BOOST_TEST(s.counts(s.dead) == "7/0/0");
}

BOOST_AUTO_TEST_CASE(messages_in_flight_are_left_alone)
{
    redrive s(2);
    s.receive(s.dead, 1, 3600);
    s.start(s.arn(s.other));
    s.pass(1s);
    BOOST_TEST(s.counts(s.dead) == "0/0/1");
    BOOST_TEST(s.counts(s.other) == "1/0/0");
}

BOOST_AUTO_TEST_CASE(one_task_at_a_time_and_the_newest_are_listed_first)
{
    redrive s(1);
    s.start(s.arn(s.other), 1);
    BOOST_TEST(why(s.try_start(s.arn(s.dead), s.arn(s.other))) ==
        "InvalidParameterValue: There is already a task running. Only one active task is allowed for a source "
        "queue arn at a given time.");
    s.pass(5s);
    for (int i = 0; i != 12; ++i) {
        s.start(s.arn(s.other), 10 + i);
        s.pass(5s);
    }
    BOOST_TEST(s.tasks().size() == 1u);
    auto const all = s.tasks(10);
    BOOST_REQUIRE(all.size() == 10u);
    BOOST_TEST(all[0].max_messages_per_second.value() == 21);
    BOOST_TEST(all[9].max_messages_per_second.value() == 12);
}

BOOST_AUTO_TEST_CASE(wrong_requests_are_refused)
{
    redrive s(1);
    auto const dead = s.arn(s.dead);
    BOOST_TEST(why(s.try_start(s.arn(s.other))) ==
        "InvalidParameterValue: Source queue must be configured as a Dead Letter Queue.");
    BOOST_TEST(why(s.try_start(dead + "x")) ==
        "ResourceNotFoundException: The resource that you specified for the "
        "SourceArn parameter doesn't exist.");
    BOOST_TEST(why(s.try_start(dead, dead + "x")) ==
        "ResourceNotFoundException: The resource that you specified for the DestinationArn parameter doesn't "
        "exist.");
    BOOST_TEST(s.try_start(dead, dead + "x").error().http_status == 404);
    // It went round and round, for as many messages as there were.
    BOOST_TEST(why(s.try_start(dead, dead)) ==
        "InvalidParameterValue: The destination queue must be another one than the source queue.");
    BOOST_TEST(s.try_start("dummy").error().service_code == "InvalidParameterValue");
    BOOST_TEST(s.try_start(dead, s.arn(s.create_fifo("f"))).error().service_code == "InvalidParameterValue");
    for (int const rate : {0, 501})
        BOOST_TEST(s.try_start(dead, "", rate).error().service_code == "InvalidParameterValue");

    BOOST_TEST(why(s.cancel("foobared")) == "InvalidParameterValue: Value for parameter TaskHandle is invalid.");
    BOOST_TEST(why(s.cancel(broker::detail::encode(broker::detail::task_handle{"10f57157", dead}))) ==
        "ResourceNotFoundException: Task does not exist.");
    BOOST_TEST(
        s.cancel(broker::detail::encode(broker::detail::task_handle{"10f57157", dead + "x"})).error().http_status ==
        404);
    sqs::list_message_move_tasks_request list(dead);
    list.max_results = 11;
    BOOST_TEST(s.engine.list_message_move_tasks(list, s.now).error().service_code == "InvalidParameterValue");
}

BOOST_AUTO_TEST_CASE(a_task_handle_names_the_task_and_the_source)
{
    auto const text =
        broker::detail::encode(broker::detail::task_handle{"id", "arn:aws:sqs:us-east-1:000000000000:q"});
    auto const read = broker::detail::decode_task_handle(text);
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(read->task_id == "id");
    BOOST_TEST(read->source_arn == "arn:aws:sqs:us-east-1:000000000000:q");
    for (auto const* bad : {"", "e30=", "bm8=", "%%%"})
        BOOST_TEST(!broker::detail::decode_task_handle(bad).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
