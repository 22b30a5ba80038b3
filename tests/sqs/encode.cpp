#include <quern/sqs/detail/encode.hpp>

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

using namespace quern::sqs;
using namespace quern::sqs::detail;
using namespace std::chrono_literals;
using boost::json::parse;
using std::string;

BOOST_AUTO_TEST_SUITE(encode_request)

BOOST_AUTO_TEST_CASE(what_is_absent_is_left_out)
{
    BOOST_TEST(encode(receive_message_request("u")) == R"({"QueueUrl":"u","MaxNumberOfMessages":10})");
    BOOST_TEST(encode(send_message_request("u", "b")) == R"({"QueueUrl":"u","MessageBody":"b"})");
    BOOST_TEST(encode(list_queues_request()) == "{}");
    BOOST_TEST(encode(create_queue_request("q")) == R"({"QueueName":"q"})");
    BOOST_TEST(encode(get_queue_attributes_request("u")) == R"({"QueueUrl":"u","AttributeNames":["All"]})");
}

BOOST_AUTO_TEST_CASE(a_wait_and_a_timeout_of_zero_are_no_absence)
{
    receive_message_request request("u");
    request.max_messages = 1;
    request.wait_time = 0s;
    request.visibility_timeout = 0s;
    BOOST_TEST(
        encode(request) == R"({"QueueUrl":"u","MaxNumberOfMessages":1,"VisibilityTimeout":0,"WaitTimeSeconds":0})");
}

BOOST_AUTO_TEST_CASE(a_message_goes_out_with_all_it_has)
{
    send_message_request request("u", "tab\t \"quoted\" \\ é 😀");
    request.delay = 900s;
    request.attributes["n"] = {"Number.int", "1"};
    request.attributes["b"] = {"Binary.x", string("\0\xFF\1\2", 4)};
    request.system_attributes["AWSTraceHeader"] = {"String", "Root=1"};
    request.group_id = "g";
    request.deduplication_id = "d";
    BOOST_TEST(parse(encode(request)) == parse(R"({"QueueUrl":"u","MessageBody":"tab\t \"quoted\" \\ é 😀",
        "DelaySeconds":900,"MessageGroupId":"g","MessageDeduplicationId":"d",
        "MessageAttributes":{"n":{"DataType":"Number.int","StringValue":"1"},
                             "b":{"DataType":"Binary.x","BinaryValue":"AP8BAg=="}},
        "MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"Root=1"}}})"));
}

BOOST_AUTO_TEST_CASE(batches_list_their_entries_in_order)
{
    BOOST_TEST(encode(delete_message_batch_request("u", {{"0", "h0"}, {"1", "h1"}})) ==
        R"({"QueueUrl":"u","Entries":[{"Id":"0","ReceiptHandle":"h0"},{"Id":"1","ReceiptHandle":"h1"}]})");
    BOOST_TEST(encode(change_message_visibility_batch_request("u", {{"0", "h0", 30s}, {"1", "h1", 0s}})) ==
        R"({"QueueUrl":"u","Entries":[{"Id":"0","ReceiptHandle":"h0","VisibilityTimeout":30},)"
        R"({"Id":"1","ReceiptHandle":"h1","VisibilityTimeout":0}]})");
    send_message_batch_request sent("u", {{"0", "b0"}, {"1", "b1"}});
    sent.entries[1].delay = 5s;
    BOOST_TEST(encode(sent) ==
        R"({"QueueUrl":"u","Entries":[{"Id":"0","MessageBody":"b0"},)"
        R"({"Id":"1","MessageBody":"b1","DelaySeconds":5}]})");
}

BOOST_AUTO_TEST_SUITE_END()
