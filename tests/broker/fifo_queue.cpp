#include "service.hpp"

using namespace quern::test;
using boost::test_tools::per_element;

BOOST_AUTO_TEST_SUITE(fifo_queue)

BOOST_AUTO_TEST_CASE(a_receive_takes_all_it_can_of_one_group_before_the_next)
{
    service s;
    auto const url = s.create_fifo("q");
    s.send(url, "g1-m1", "g1");
    s.send(url, "g2-m1", "g2");
    s.send(url, "g1-m2", "g1");
    s.send(url, "g1-m3", "g1");
    BOOST_TEST(s.bodies(url) == strings({"g1-m1", "g1-m2", "g1-m3", "g2-m1"}), per_element());
}

BOOST_AUTO_TEST_CASE(a_group_with_a_message_in_flight_is_blocked_and_others_are_not)
{
    service s;
    auto const url = s.create_fifo("q", {{"VisibilityTimeout", "1"}});
    for (auto const* body : {"g1-m1", "g1-m2", "g1-m3", "g1-m4"})
        s.send(url, body, "g1");
    s.send(url, "g2-m1", "g2");
    s.send(url, "g3-m1", "g3");
    BOOST_TEST(s.bodies(url, 2) == strings({"g1-m1", "g1-m2"}), per_element());
    BOOST_TEST(s.bodies(url, 1) == strings({"g2-m1"}), per_element());
    s.pass(2s);
    BOOST_TEST(
        s.bodies(url, 10, 0) == strings({"g3-m1", "g1-m1", "g1-m2", "g1-m3", "g1-m4", "g2-m1"}), per_element());
}

BOOST_AUTO_TEST_CASE(with_a_timeout_of_zero_the_order_holds)
{
    service s;
    auto const url = s.create_fifo("q");
    s.send(url, "g1-m1", "g1");
    s.send(url, "g2-m1", "g2");
    s.send(url, "g2-m2", "g2");
    s.send(url, "g3-m1", "g3");
    s.send(url, "g1-m2", "g1");
    BOOST_TEST(s.bodies(url, 3, 0) == strings({"g1-m1", "g1-m2", "g2-m1"}), per_element());
    BOOST_TEST(s.bodies(url, 10, 0) == strings({"g3-m1", "g1-m1", "g1-m2", "g2-m1", "g2-m2"}), per_element());
}

BOOST_AUTO_TEST_CASE(a_released_head_comes_alone_while_its_successor_is_in_flight)
{
    service s;
    auto const url = s.create_fifo("q");
    s.send(url, "g1-m1", "g1");
    s.send(url, "g1-m2", "g1");
    s.send(url, "g2-m1", "g2");
    auto const got = s.receive(url, 2);
    BOOST_TEST(s.change(url, got.messages[0].receipt_handle, 0).has_value());
    BOOST_TEST(s.bodies(url, 3) == strings({"g2-m1", "g1-m1"}), per_element());
}

BOOST_AUTO_TEST_CASE(a_released_tail_stays_behind_its_head)
{
    service s;
    auto const url = s.create_fifo("q");
    for (auto const* body : {"head", "tail", "end"})
        s.send(url, body, "g");
    auto const got = s.receive(url, 2, 10);
    BOOST_TEST(s.change(url, got.messages[1].receipt_handle, 0).has_value());
    BOOST_TEST(s.counts(url) == "2/0/1");
    BOOST_TEST(s.bodies(url).empty());
    s.pass(10s);
    BOOST_TEST(s.bodies(url) == strings({"head", "tail", "end"}), per_element());
}

BOOST_AUTO_TEST_CASE(deleting_what_is_in_flight_unblocks_the_group)
{
    service s;
    auto const url = s.create_fifo("q");
    for (auto const* body : {"m1", "m2", "m3"})
        s.send(url, body, "g");
    auto const got = s.receive(url, 2);
    BOOST_TEST(s.remove(url, got.messages[0].receipt_handle).has_value());
    BOOST_TEST(s.bodies(url).empty());
    BOOST_TEST(s.remove(url, got.messages[1].receipt_handle).has_value());
    BOOST_TEST(s.bodies(url) == strings({"m3"}), per_element());
}

BOOST_AUTO_TEST_CASE(the_queues_delay_is_the_only_one_and_a_change_counts_for_messages_that_are_there)
{
    service s;
    auto const url = s.create_fifo("q", {{"DelaySeconds", "60"}});
    sqs::send_message_request request(url, "m1");
    request.group_id = "g";
    request.deduplication_id = "1";
    request.delay = 0s; // means the queue's
    BOOST_TEST(s.engine.send_message(request, s.now).has_value());
    request.delay = 2s;
    request.deduplication_id = "2";
    BOOST_TEST(why(s.engine.send_message(request, s.now)) ==
        "InvalidParameterValue: Value 2 for parameter DelaySeconds is invalid. Reason: The request include "
        "parameter that is not valid for this queue type.");
    BOOST_TEST(s.counts(url) == "0/1/0");
    BOOST_TEST(s.set(url, {{"DelaySeconds", "5"}}).has_value());
    s.pass(5s);
    BOOST_TEST(s.bodies(url) == strings({"m1"}), per_element());
}

BOOST_AUTO_TEST_CASE(a_delayed_message_blocks_its_group)
{
    service s;
    auto const url = s.create_fifo("q", {{"DelaySeconds", "5"}});
    s.send(url, "m1", "g");
    s.pass(2s);
    BOOST_TEST(s.set(url, {{"DelaySeconds", "0"}}).has_value());
    s.pass(0s);
    s.send(url, "m2", "g");
    BOOST_TEST(s.bodies(url) == strings({"m1", "m2"}), per_element());
}

BOOST_AUTO_TEST_CASE(sequence_numbers_grow_and_are_received)
{
    service s;
    auto const url = s.create_fifo("q");
    sqs::send_message_request request(url, "a");
    request.group_id = "g";
    request.deduplication_id = "1";
    auto const first = s.engine.send_message(request, s.now).value();
    request.deduplication_id = "2";
    auto const second = s.engine.send_message(request, s.now).value();
    BOOST_TEST(first.sequence_number.size() == 20u);
    BOOST_TEST(first.sequence_number < second.sequence_number);
    auto const got = s.receive(url);
    BOOST_TEST(got.messages.at(0).system("SequenceNumber") == first.sequence_number);
    BOOST_TEST(got.messages.at(1).system("MessageDeduplicationId") == "2");
    BOOST_TEST(got.messages.at(1).group_id() == "g");
    auto const standard = s.create("standard");
    BOOST_TEST(s.engine.send_message({standard, "a"}, s.now)->sequence_number.empty());
}

BOOST_AUTO_TEST_CASE(the_limit_in_flight_gives_no_error)
{
    service s(broker::engine_options{.max_in_flight = 2});
    auto const url = s.create_fifo("q");
    for (auto const* group : {"1", "2", "3"})
        s.send(url, group, group);
    BOOST_TEST(s.bodies(url).size() == 2u);
    BOOST_TEST(s.bodies(url).empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(receive_attempts)

namespace {

sqs::receive_message_request with_attempt(std::string const& url, std::string id)
{
    sqs::receive_message_request request(url);
    request.attempt_id = std::move(id);
    request.visibility_timeout = 10s;
    request.system_attribute_names = {"All"};
    return request;
}

strings handles(sqs::receive_message_response const& got)
{
    strings out;
    for (auto const& m : got.messages)
        out.emplace_back(m.receipt_handle);
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_same_attempt_gets_the_same_messages_and_handles_and_a_fresh_timeout)
{
    service s;
    auto const url = s.create_fifo("q");
    s.send(url, "a", "g");
    s.send(url, "b", "h");
    auto const first = s.receive(with_attempt(url, "try-1"));
    BOOST_REQUIRE(first.messages.size() == 2u);
    s.pass(8s);
    auto const again = s.receive(with_attempt(url, "try-1"));
    BOOST_TEST(handles(again) == handles(first), per_element());
    BOOST_TEST(again.messages[0].receive_count() == 1);
    BOOST_TEST(s.receive(with_attempt(url, "try-2")).messages.empty());
    s.pass(8s);
    BOOST_TEST(s.remove(url, first.messages[0].receipt_handle).has_value());
}

BOOST_AUTO_TEST_CASE(a_delete_or_a_change_makes_the_attempt_an_id_like_any_other)
{
    service s;
    auto const url = s.create_fifo("q");
    s.send(url, "a", "g");
    s.send(url, "b", "h");
    auto got = s.receive(with_attempt(url, "1"));
    s.remove(url, got.messages[0].receipt_handle).value();
    BOOST_TEST(s.receive(with_attempt(url, "1")).messages.empty());

    s.change(url, got.messages[1].receipt_handle, 0).value();
    got = s.receive(with_attempt(url, "1"));
    BOOST_REQUIRE(got.messages.size() == 1u);
    BOOST_TEST(got.messages[0].receive_count() == 2);
    s.change(url, got.messages[0].receipt_handle, 10).value();
    BOOST_TEST(s.receive(with_attempt(url, "1")).messages.empty());
}

BOOST_AUTO_TEST_CASE(an_attempt_is_known_for_five_minutes_and_while_its_messages_are_hidden)
{
    service s;
    auto const url = s.create_fifo("q");
    s.send(url, "a", "g");
    auto request = with_attempt(url, "1");
    request.visibility_timeout = 600s;
    auto const first = s.receive(request);
    s.pass(299s);
    BOOST_TEST(handles(s.receive(request)) == handles(first), per_element());
    s.pass(1s);
    BOOST_TEST(s.receive(request).messages.empty());

    s.pass(599s); // the timeout began anew with the second call
    auto const later = s.receive(request);
    BOOST_REQUIRE(later.messages.size() == 1u);
    BOOST_TEST(later.messages[0].receive_count() == 2);
    BOOST_TEST(later.messages[0].receipt_handle != first.messages[0].receipt_handle);
}

// The first poll's connection was lost: the message went to it, and the second ended empty.
BOOST_AUTO_TEST_CASE(a_poll_that_is_repeated_while_the_first_waits_gets_the_same_messages)
{
    service s;
    auto const url = s.create_fifo("q");
    auto request = with_attempt(url, "try-1");
    request.wait_time = 20s;
    auto const first = s.try_receive(request)->parked;
    auto const second = s.try_receive(request)->parked;
    request.attempt_id = "try-2";
    auto const other = s.try_receive(request)->parked;
    s.send(url, "a", "g");
    std::map<broker::poll_id, strings> got;
    while (auto ready = s.engine.take_ready())
        got[ready->id] = handles(ready->answer.value());
    BOOST_TEST(got.size() == 2u);
    BOOST_TEST(got[*first].size() == 1u);
    BOOST_TEST(got[*second] == got[*first], per_element());
    BOOST_TEST(!got.contains(*other));
    s.remove(url, got[*second].at(0)).value();
    BOOST_TEST(s.counts(url) == "0/0/0");
}

BOOST_AUTO_TEST_CASE(standard_queues_and_malformed_ids_are_refused)
{
    service s;
    auto const standard = s.create("q");
    auto const fifo = s.create_fifo("q");
    BOOST_TEST(s.try_receive(with_attempt(standard, "1")).error().service_code == "InvalidParameterValue");
    BOOST_TEST(why(s.try_receive(with_attempt(fifo, "a b"))) ==
        "InvalidParameterValue: Value a b for parameter ReceiveRequestAttemptId is invalid. Reason: "
        "ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to 128 in length.");
}

BOOST_AUTO_TEST_SUITE_END()
