#include "service.hpp"

using namespace quern::test;
using boost::test_tools::per_element;

namespace {

/// Ids of the polls that have ended, each with the bodies it got: "17:a,b".
strings ended(service& s, std::map<broker::poll_id, std::string> const& names)
{
    strings out;
    while (auto ready = s.engine.take_ready()) {
        auto text = names.at(ready->id) + ':';
        if (!ready->answer) {
            text += ready->answer.error().service_code;
        } else {
            for (auto const& m : ready->answer->messages)
                text += std::string(m.body) + ';';
        }
        out.push_back(text);
    }
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(long_poll)

BOOST_AUTO_TEST_CASE(a_long_poll_finds_what_is_there_without_waiting_for_more)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    sqs::receive_message_request request(url);
    request.wait_time = 20s;
    BOOST_TEST(service::bodies_of(s.receive(request)) == strings({"m"}), per_element());
}

BOOST_AUTO_TEST_CASE(waiting_polls_are_answered_in_the_order_of_their_coming)
{
    service s;
    auto const url = s.create("q");
    auto const first = s.poll(url);
    auto const second = s.poll(url);
    s.send(url, "a");
    s.send(url, "b");
    BOOST_TEST(ended(s, {{first, "1"}, {second, "2"}}) == strings({"1:a;", "2:b;"}), per_element());
}

BOOST_AUTO_TEST_CASE(a_batch_goes_to_the_first_poll_as_far_as_it_asked)
{
    service s;
    auto const url = s.create("q");
    auto const first = s.poll(url, 20, 2);
    auto const second = s.poll(url);
    s.engine.send_message_batch({url, {{"1", "a"}, {"2", "b"}, {"3", "c"}}}, s.now).value();
    BOOST_TEST(ended(s, {{first, "1"}, {second, "2"}}) == strings({"1:a;b;", "2:c;"}), per_element());
}

BOOST_AUTO_TEST_CASE(a_poll_ends_empty_at_its_deadline)
{
    service s;
    auto const url = s.create("q");
    auto const id = s.poll(url, 5);
    BOOST_TEST(s.engine.next_event() == s.now + 5s);
    s.pass(4999ms);
    BOOST_TEST(!s.engine.take_ready().has_value());
    s.pass(1ms);
    BOOST_TEST(ended(s, {{id, "1"}}) == strings({"1:"}), per_element());
    BOOST_TEST(!s.engine.next_event().has_value());
    s.send(url, "later"); // goes to nobody
    BOOST_TEST(s.counts(url) == "1/0/0");
}

BOOST_AUTO_TEST_CASE(a_head_that_expires_lets_its_group_go_on)
{
    service s;
    auto const url = s.create("q.fifo", {{"FifoQueue", "true"}, {"MessageRetentionPeriod", "60"}});
    s.send(url, "head", "g");
    s.receive(url, 1, 3600);
    s.pass(50s);
    s.send(url, "next", "g");
    auto const poll = s.poll(url);
    s.pass(10s);
    BOOST_TEST(ended(s, {{poll, "1"}}) == strings({"1:next;"}), per_element());
}

BOOST_AUTO_TEST_CASE(an_ending_delay_and_an_ending_timeout_wake_a_poll)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "hidden");
    s.receive(url, 1, 3);
    s.send(url, "delayed", 5);
    auto const first = s.poll(url);
    auto const second = s.poll(url);
    s.pass(3s);
    BOOST_TEST(ended(s, {{first, "1"}, {second, "2"}}) == strings({"1:hidden;"}), per_element());
    s.pass(2s);
    BOOST_TEST(ended(s, {{second, "2"}}) == strings({"2:delayed;"}), per_element());
}

BOOST_AUTO_TEST_CASE(a_released_message_and_a_delete_that_unblocks_a_group_wake_a_poll)
{
    service s;
    auto const url = s.create_fifo("q");
    s.send(url, "a", "g");
    s.send(url, "b", "g");
    auto handle = s.handle(url);
    auto const first = s.poll(url, 20, 1);
    s.change(url, handle, 0).value();
    auto ready = s.engine.take_ready();
    BOOST_REQUIRE(ready.has_value());
    BOOST_TEST(ready->id == first);
    handle = ready->answer->messages.at(0).receipt_handle;

    auto const second = s.poll(url);
    s.remove(url, handle).value();
    BOOST_TEST(ended(s, {{second, "2"}}) == strings({"2:b;"}), per_element());
}

BOOST_AUTO_TEST_CASE(the_wait_is_the_requests_or_else_the_queues)
{
    service s;
    auto const url = s.create("q", {{"ReceiveMessageWaitTimeSeconds", "7"}});
    sqs::receive_message_request request(url);
    auto const parked = s.try_receive(request);
    BOOST_TEST(parked->parked.has_value());
    BOOST_TEST(s.engine.next_event() == s.now + 7s);

    request.wait_time = 0s;
    BOOST_TEST(!s.try_receive(request)->parked.has_value());
}

BOOST_AUTO_TEST_CASE(a_cancelled_poll_takes_nothing)
{
    service s;
    auto const url = s.create("q");
    auto const id = s.poll(url);
    s.engine.cancel_poll(id);
    s.engine.cancel_poll(id);
    s.send(url, "m");
    BOOST_TEST(!s.engine.take_ready().has_value());
    BOOST_TEST(s.counts(url) == "1/0/0");
    s.pass(20s);
    BOOST_TEST(!s.engine.take_ready().has_value());
}

BOOST_AUTO_TEST_CASE(deleting_the_queue_ends_its_polls)
{
    service s;
    auto const url = s.create("q");
    auto const id = s.poll(url);
    s.engine.delete_queue(sqs::delete_queue_request(url), s.now).value();
    BOOST_TEST(ended(s, {{id, "1"}}) == strings({"1:AWS.SimpleQueueService.NonExistentQueue"}), per_element());
}

BOOST_AUTO_TEST_CASE(a_poll_of_a_dead_letter_queue_is_woken_by_a_receive_of_its_source)
{
    service s;
    auto const [source, dead] = s.create_pair("q", 1);
    s.send(source, "m");
    s.receive(source, 1, 0);
    auto const id = s.poll(dead);
    BOOST_TEST(s.receive(source).messages.empty());
    BOOST_TEST(ended(s, {{id, "1"}}) == strings({"1:m;"}), per_element());
}

BOOST_AUTO_TEST_CASE(waits_out_of_range_are_refused)
{
    service s;
    auto const url = s.create("q");
    sqs::receive_message_request request(url);
    for (int const wait : {-1, 21}) {
        request.wait_time = std::chrono::seconds(wait);
        BOOST_TEST(why(s.try_receive(request)) ==
            "InvalidParameterValue: Value " + std::to_string(wait) +
                " for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.");
    }
}

BOOST_AUTO_TEST_CASE(dead_letter_queues_in_a_circle_do_not_spin)
{
    service s;
    auto const a = s.create("a");
    auto const b = s.create("b");
    auto const policy = [](std::string const& arn) {
        return R"({"deadLetterTargetArn":")" + arn + R"(","maxReceiveCount":1})";
    };
    s.set(a, {{"RedrivePolicy", policy(s.arn(b))}, {"VisibilityTimeout", "0"}}).value();
    s.set(b, {{"RedrivePolicy", policy(s.arn(a))}, {"VisibilityTimeout", "0"}}).value();
    s.send(a, "m");
    BOOST_TEST(s.bodies(a).size() == 1u);
    s.poll(b);
    BOOST_TEST(s.bodies(a).empty());
    auto const ready = s.engine.take_ready();
    BOOST_REQUIRE(ready.has_value());
    BOOST_TEST(ready->answer->messages.size() == 1u);
    BOOST_TEST(s.counts(b) == "1/0/0");
}

BOOST_AUTO_TEST_SUITE_END()
