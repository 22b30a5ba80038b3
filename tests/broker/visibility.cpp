#include "service.hpp"

using namespace quern::test;
using boost::test_tools::per_element;

BOOST_AUTO_TEST_SUITE(visibility)

BOOST_AUTO_TEST_CASE(a_received_message_is_hidden_for_the_queues_timeout)
{
    service s;
    auto const url = s.create("q", {{"VisibilityTimeout", "7"}});
    s.send(url, "m");
    BOOST_TEST(s.bodies(url).size() == 1u);
    s.pass(6999ms);
    BOOST_TEST(s.bodies(url).empty());
    s.pass(1ms);
    auto const again = s.receive(url);
    BOOST_REQUIRE(again.messages.size() == 1u);
    BOOST_TEST(again.messages[0].receive_count() == 2);
    BOOST_TEST(again.messages[0].system("ApproximateFirstReceiveTimestamp") == "1700000000000");
}

BOOST_AUTO_TEST_CASE(the_timeout_of_a_receive_counts_for_that_receive_alone)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    s.receive(url, 1, 2);
    s.pass(2s);
    BOOST_TEST(s.bodies(url).size() == 1u);
    s.pass(29s);
    BOOST_TEST(s.bodies(url).empty());
    s.pass(1s);
    BOOST_TEST(s.bodies(url).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_timeout_of_zero_shows_the_message_at_once_and_counts_the_receive)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "a");
    s.send(url, "b");
    BOOST_TEST(s.bodies(url, 10, 0) == strings({"a", "b"}), per_element()); // each once in one receive
    auto const again = s.receive(url, 1);
    BOOST_TEST(again.messages.at(0).receive_count() == 2);
}

BOOST_AUTO_TEST_CASE(an_extension_counts_from_the_call)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    auto const handle = s.handle(url, 10);
    s.pass(9s);
    BOOST_TEST(s.change(url, handle, 10).has_value());
    s.pass(9s);
    BOOST_TEST(s.bodies(url).empty());
    s.pass(1s);
    BOOST_TEST(s.bodies(url).size() == 1u);
}

BOOST_AUTO_TEST_CASE(extensions_end_twelve_hours_after_the_receive)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    auto const handle = s.handle(url);
    s.pass(5s);
    BOOST_TEST(why(s.change(url, handle, 43'200)) ==
        "InvalidParameterValue: Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total "
        "VisibilityTimeout for the message is beyond the limit [43200 seconds].");
    BOOST_TEST(s.change(url, handle, 43'195).has_value());
    s.pass(43'195s);
    BOOST_TEST(s.bodies(url).size() == 1u); // the refused call changed nothing, the horizon was kept
}

BOOST_AUTO_TEST_CASE(timeouts_out_of_range_are_refused)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    auto const handle = s.handle(url);
    for (int const timeout : {-1, 43'201}) {
        BOOST_TEST(why(s.change(url, handle, timeout)) ==
            "InvalidParameterValue: Value " + std::to_string(timeout) +
                " for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and 43200.");
    }
}

BOOST_AUTO_TEST_CASE(a_standard_handle_works_after_its_timeout_until_the_next_receive)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    auto const handle = s.handle(url, 1);
    s.pass(1s);
    BOOST_TEST(s.change(url, handle, 60).has_value());
    BOOST_TEST(s.bodies(url).empty());
    BOOST_TEST(s.counts(url) == "0/0/1");
}

BOOST_AUTO_TEST_CASE(an_older_handle_changes_the_timeout_while_the_message_is_in_flight_again)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    auto const older = s.handle(url, 0);
    s.handle(url, 30);
    BOOST_TEST(s.change(url, older, 0).has_value());
    BOOST_TEST(s.counts(url) == "1/0/0");
    BOOST_TEST(why(s.change(url, older, 10)) ==
        "AWS.SimpleQueueService.MessageNotInflight: The specified message isn't in flight.");
}

BOOST_AUTO_TEST_CASE(a_fifo_handle_expires_with_its_timeout)
{
    service s;
    auto const url = s.create_fifo("q");
    s.send(url, "m", "g");
    auto const handle = s.handle(url, 5);
    s.pass(5s);
    auto const expired = "InvalidParameterValue: Value " + handle +
        " for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.";
    BOOST_TEST(why(s.change(url, handle, 10)) == expired);
    BOOST_TEST(why(s.remove(url, handle)) == expired);
    s.handle(url);
    BOOST_TEST(why(s.remove(url, handle)) == expired);
}

BOOST_AUTO_TEST_CASE(a_deleted_message_cannot_be_changed)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    auto const handle = s.handle(url);
    BOOST_TEST(s.remove(url, handle).has_value());
    BOOST_TEST(why(s.change(url, handle, 42)) ==
        "InvalidParameterValue: Value " + handle +
            " for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for "
            "visibility timeout change.");
}

BOOST_AUTO_TEST_CASE(a_batch_of_changes_reports_each_entry)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "a");
    s.send(url, "b");
    auto const got = s.receive(url);
    std::vector<sqs::change_visibility_entry> entries{{"1", std::string(got.messages[0].receipt_handle), 0s},
        {"2", "garbage", 0s}, {"3", std::string(got.messages[1].receipt_handle), 90'000s}};
    auto const answer = s.engine.change_message_visibility_batch({url, entries}, s.now).value();
    BOOST_REQUIRE(answer.successful.size() == 1u);
    BOOST_TEST(answer.successful[0].id == "1");
    BOOST_REQUIRE(answer.failed.size() == 2u);
    BOOST_TEST(answer.failed[0].id == "2");
    BOOST_TEST(answer.failed[0].code == "ReceiptHandleIsInvalid");
    BOOST_TEST(answer.failed[0].sender_fault);
    BOOST_TEST(answer.failed[1].code == "InvalidParameterValue");
    BOOST_TEST(s.counts(url) == "1/0/1");
}

BOOST_AUTO_TEST_SUITE_END()
