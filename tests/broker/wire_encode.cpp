#include <quern/broker/detail/wire_encode.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::broker::detail;

namespace {

template <class Response>
std::string json(Response const& r)
{
    std::string out;
    encode({}, r, out);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(wire_encode)

BOOST_AUTO_TEST_CASE(an_operation_without_an_output_has_an_empty_body)
{
    BOOST_TEST(json(sqs::empty_response()).empty());
}

BOOST_AUTO_TEST_CASE(what_is_empty_is_left_out)
{
    BOOST_TEST(json(sqs::receive_message_response()) == "{}");
    BOOST_TEST(json(sqs::delete_message_batch_response()) == "{}");
    BOOST_TEST(json(sqs::queue_urls_response()) == "{}");
    BOOST_TEST(json(sqs::attributes_response()) == "{}");
    BOOST_TEST(json(sqs::tags_response()) == "{}");
    BOOST_TEST(json(sqs::list_message_move_tasks_response()) == "{}");
}

BOOST_AUTO_TEST_CASE(a_send_answers_with_id_and_digests)
{
    sqs::send_message_response r;
    r.message_id = "m";
    r.md5_of_body = "b";
    BOOST_TEST(json(r) == R"({"MessageId":"m","MD5OfMessageBody":"b"})");
    r.md5_of_attributes = "a";
    r.md5_of_system_attributes = "s";
    r.sequence_number = "188";
    BOOST_TEST(json(r) ==
        R"({"MessageId":"m","MD5OfMessageBody":"b","MD5OfMessageAttributes":"a",)"
        R"("MD5OfMessageSystemAttributes":"s","SequenceNumber":"188"})");
}

BOOST_AUTO_TEST_CASE(a_batch_answers_per_entry)
{
    sqs::send_message_batch_response r;
    r.successful.emplace_back().id = "1";
    r.successful[0].message_id = "m";
    r.successful[0].md5_of_body = "b";
    r.failed.push_back({"2", "InvalidParameterValue", "too \"long\"", true});
    BOOST_TEST(json(r) ==
        R"({"Successful":[{"Id":"1","MessageId":"m","MD5OfMessageBody":"b"}],)"
        R"("Failed":[{"Id":"2","SenderFault":true,"Code":"InvalidParameterValue",)"
        R"("Message":"too \"long\""}]})");

    sqs::delete_message_batch_response deleted;
    deleted.successful = {{"1"}, {"2"}};
    BOOST_TEST(json(deleted) == R"({"Successful":[{"Id":"1"},{"Id":"2"}]})");
}

BOOST_AUTO_TEST_CASE(a_message_carries_both_kinds_of_attributes)
{
    sqs::receive_message_response r;
    auto& m = r.messages.emplace_back();
    m.id = "m";
    m.receipt_handle = "h";
    m.body = "x\n\xc3\xa9";
    m.md5_of_body = "d";
    BOOST_TEST(json(r) ==
        R"({"Messages":[{"MessageId":"m","ReceiptHandle":"h","MD5OfBody":"d","Body":"x\n)"
        "\xc3\xa9\"}]}");
    m.system_attributes = {{"SenderId", "s"}, {"ApproximateReceiveCount", "1"}};
    m.attributes = {{"t", "String", "v"}, {"b", "Binary.x", std::string_view("\0\1\xff", 3)}};
    m.md5_of_attributes = "a";
    m.body = "x";
    BOOST_TEST(json(r) ==
        R"({"Messages":[{"MessageId":"m","ReceiptHandle":"h","MD5OfBody":"d","Body":"x",)"
        R"("Attributes":{"SenderId":"s","ApproximateReceiveCount":"1"},"MD5OfMessageAttributes":"a",)"
        R"("MessageAttributes":{"t":{"StringValue":"v","DataType":"String"},)"
        R"("b":{"BinaryValue":"AAH/","DataType":"Binary.x"}}}]})");
}

BOOST_AUTO_TEST_CASE(queues_are_listed_under_the_name_that_the_operation_has_for_it)
{
    sqs::queue_urls_response r;
    r.queue_urls = {"http://h/1/a", "http://h/1/b"};
    r.next_token = "t";
    BOOST_TEST(json(r) == R"({"QueueUrls":["http://h/1/a","http://h/1/b"],"NextToken":"t"})");
    std::string out;
    encode({"ListDeadLetterSourceQueues"}, r, out);
    BOOST_TEST(out == R"({"queueUrls":["http://h/1/a","http://h/1/b"],"NextToken":"t"})");
}

BOOST_AUTO_TEST_CASE(the_others_carry_their_members)
{
    BOOST_TEST(json(sqs::queue_url_response{"http://h/1/a"}) == R"({"QueueUrl":"http://h/1/a"})");
    BOOST_TEST(json(sqs::attributes_response{{{"DelaySeconds", "0"}}}) == R"({"Attributes":{"DelaySeconds":"0"}})");
    BOOST_TEST(json(sqs::tags_response{{{"k", "v"}}}) == R"({"Tags":{"k":"v"}})");
    BOOST_TEST(json(sqs::task_handle_response{"t"}) == R"({"TaskHandle":"t"})");
    BOOST_TEST(json(sqs::moved_response{3}) == R"({"ApproximateNumberOfMessagesMoved":3})");

    sqs::list_message_move_tasks_response tasks;
    auto& t = tasks.tasks.emplace_back();
    t.status = "COMPLETED";
    t.source_arn = "s";
    t.messages_moved = 2;
    t.started_at_ms = 1700000000000;
    BOOST_TEST(json(tasks) ==
        R"({"Results":[{"Status":"COMPLETED","SourceArn":"s",)"
        R"("ApproximateNumberOfMessagesMoved":2,"StartedTimestamp":1700000000000}]})");
    t.task_handle = "h";
    t.destination_arn = "d";
    t.max_messages_per_second = 5;
    t.messages_to_move = 9;
    t.failure_reason = "f";
    BOOST_TEST(json(tasks) ==
        R"({"Results":[{"TaskHandle":"h","Status":"COMPLETED","SourceArn":"s","DestinationArn":"d",)"
        R"("MaxNumberOfMessagesPerSecond":5,"ApproximateNumberOfMessagesMoved":2,)"
        R"("ApproximateNumberOfMessagesToMove":9,"FailureReason":"f","StartedTimestamp":1700000000000}]})");
}

BOOST_AUTO_TEST_CASE(an_error_names_its_type)
{
    std::string out;
    encode_error("com.amazonaws.sqs#QueueDoesNotExist", "The specified queue does not exist.", out);
    BOOST_TEST(out ==
        R"({"__type":"com.amazonaws.sqs#QueueDoesNotExist",)"
        R"("message":"The specified queue does not exist."})");
}

BOOST_AUTO_TEST_SUITE_END()
