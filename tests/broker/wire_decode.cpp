#include <quern/broker/detail/wire_decode.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::broker;
using namespace quern::broker::detail;
using namespace std::chrono_literals;
using strings = std::vector<std::string>;

namespace {

/// The body stands at the very end of its block: reading beyond the padding that is promised is found by ASan.
template <class Request>
result<Request> decode(std::string const& json)
{
    static wire_decoder shared; // as a server has it
    std::vector<char> block(json.size() + wire_decoder::padding, '"');
    std::copy(json.begin(), json.end(), block.begin());
    return shared.decode<Request>({block.data(), json.size()});
}

template <class Request>
Request read(std::string const& json)
{
    auto out = decode<Request>(json);
    BOOST_REQUIRE_MESSAGE(out, json + ": " + (out ? "" : out.error().message));
    return std::move(*out);
}

/// "code: message"
template <class Request>
std::string refusal(std::string const& json)
{
    auto const out = decode<Request>(json);
    if (out) return "none";
    BOOST_TEST(out.error().http_status == 400);
    BOOST_TEST(out.error().sender_fault);
    return out.error().service_code + ": " + out.error().message;
}

template <class Request>
std::string requires_parameters(std::string json)
{
    auto const why = refusal<Request>(json);
    constexpr std::string_view begin = "MissingParameter: The request must contain the parameter ";
    if (!std::string_view(why).starts_with(begin)) return why;
    return why.substr(begin.size());
}

} // namespace

BOOST_AUTO_TEST_SUITE(wire_decode)

BOOST_AUTO_TEST_CASE(a_send_carries_its_body_attributes_and_fifo_identifiers)
{
    auto const r = read<sqs::send_message_request>(R"({
        "QueueUrl": "http://h/1/q", "MessageBody": "a\"b\u00e9\ud83d\ude00\n", "DelaySeconds": 7,
        "MessageAttributes": {
            "t": {"DataType": "String.x", "StringValue": "v"},
            "b": {"BinaryValue": "AAH/", "DataType": "Binary"},
            "n": {"StringValue": "12", "DataType": "Number"}},
        "MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1"}},
        "MessageDeduplicationId": "d", "MessageGroupId": "g"})");
    BOOST_TEST(r.queue_url == "http://h/1/q");
    BOOST_TEST(r.body == "a\"b\u00e9\U0001F600\n");
    BOOST_TEST(r.delay->count() == 7);
    BOOST_TEST(r.attributes.size() == 3u);
    BOOST_TEST(r.attributes.at("t") == (sqs::attribute_value{"String.x", "v"}));
    BOOST_TEST(r.attributes.at("b") == (sqs::attribute_value{"Binary", std::string("\0\1\xff", 3)}));
    BOOST_TEST(r.attributes.at("n") == (sqs::attribute_value{"Number", "12"}));
    BOOST_TEST(r.system_attributes.at("AWSTraceHeader").value == "Root=1");
    BOOST_TEST(*r.deduplication_id == "d");
    BOOST_TEST(*r.group_id == "g");
}

BOOST_AUTO_TEST_CASE(what_a_send_leaves_out_stays_absent)
{
    auto const r = read<sqs::send_message_request>(R"({"QueueUrl":"q","MessageBody":"b"})");
    BOOST_TEST(!r.delay);
    BOOST_TEST(!r.group_id);
    BOOST_TEST(!r.deduplication_id);
    BOOST_TEST(r.attributes.empty());
}

BOOST_AUTO_TEST_CASE(a_batch_of_sends_carries_every_entry)
{
    auto const r = read<sqs::send_message_batch_request>(R"({"QueueUrl":"q","Entries":[
        {"Id":"1","MessageBody":"one","DelaySeconds":0},
        {"Id":"2","MessageBody":"two","MessageGroupId":"g","MessageDeduplicationId":"d",
         "MessageAttributes":{"a":{"DataType":"String","StringValue":"v"}}}]})");
    BOOST_REQUIRE(r.entries.size() == 2u);
    BOOST_TEST(r.entries[0].id == "1");
    BOOST_TEST(r.entries[0].body == "one");
    BOOST_TEST(r.entries[0].delay->count() == 0);
    BOOST_TEST(*r.entries[1].group_id == "g");
    BOOST_TEST(*r.entries[1].deduplication_id == "d");
    BOOST_TEST(r.entries[1].attributes.at("a").value == "v");
}

BOOST_AUTO_TEST_CASE(a_receive_takes_old_and_new_names_of_system_attributes)
{
    auto const r = read<sqs::receive_message_request>(R"({"QueueUrl":"q","AttributeNames":["SentTimestamp"],
        "MessageSystemAttributeNames":["SenderId","All"],"MessageAttributeNames":["a.*"],"MaxNumberOfMessages":9,
        "VisibilityTimeout":0,"WaitTimeSeconds":20,"ReceiveRequestAttemptId":"x"})");
    BOOST_TEST(
        r.system_attribute_names == (strings{"SentTimestamp", "SenderId", "All"}), boost::test_tools::per_element());
    BOOST_TEST(r.attribute_names == strings{"a.*"}, boost::test_tools::per_element());
    BOOST_TEST(r.max_messages == 9);
    BOOST_TEST(r.visibility_timeout->count() == 0);
    BOOST_TEST(r.wait_time->count() == 20);
    BOOST_TEST(*r.attempt_id == "x");
}

BOOST_AUTO_TEST_CASE(a_receive_asks_for_one_message_unless_it_says_otherwise)
{
    auto const r = read<sqs::receive_message_request>(R"({"QueueUrl":"q"})");
    BOOST_TEST(r.max_messages == 1);
    BOOST_TEST(!r.visibility_timeout);
    BOOST_TEST(!r.wait_time);
}

BOOST_AUTO_TEST_CASE(settling_requests_carry_handles_and_timeouts)
{
    BOOST_TEST(read<sqs::delete_message_request>(R"({"QueueUrl":"q","ReceiptHandle":"h"})").receipt_handle == "h");

    auto const change = read<sqs::change_message_visibility_request>(
        R"({"QueueUrl":"q","ReceiptHandle":"h","VisibilityTimeout":43200})");
    BOOST_TEST(change.receipt_handle == "h");
    BOOST_TEST(change.visibility_timeout.count() == 43200);

    auto const deletes = read<sqs::delete_message_batch_request>(
        R"({"QueueUrl":"q","Entries":[{"Id":"1","ReceiptHandle":"h1"},{"Id":"2","ReceiptHandle":"h2"}]})");
    BOOST_REQUIRE(deletes.entries.size() == 2u);
    BOOST_TEST(deletes.entries[1].id == "2");
    BOOST_TEST(deletes.entries[1].receipt_handle == "h2");

    auto const changes = read<sqs::change_message_visibility_batch_request>(
        R"({"QueueUrl":"q","Entries":[{"Id":"1","ReceiptHandle":"h1","VisibilityTimeout":5}]})");
    BOOST_REQUIRE(changes.entries.size() == 1u);
    BOOST_TEST(changes.entries[0].visibility_timeout.count() == 5);
}

BOOST_AUTO_TEST_CASE(queue_requests_carry_names_attributes_and_tags)
{
    auto const create =
        read<sqs::create_queue_request>(R"({"QueueName":"q","Attributes":{"DelaySeconds":"1"},"tags":{"k":"v"}})");
    BOOST_TEST(create.queue_name == "q");
    BOOST_TEST(create.attributes.at("DelaySeconds") == "1");
    BOOST_TEST(create.tags.at("k") == "v");

    auto const url = read<sqs::get_queue_url_request>(R"({"QueueName":"q","QueueOwnerAWSAccountId":"1"})");
    BOOST_TEST(url.queue_name == "q");
    BOOST_TEST(*url.owner_account_id == "1");

    auto const set = read<sqs::set_queue_attributes_request>(R"({"QueueUrl":"q","Attributes":{"Policy":""}})");
    BOOST_TEST(set.queue_url == "q");
    BOOST_TEST(set.attributes.at("Policy").empty());

    auto const list = read<sqs::list_queues_request>(R"({"QueueNamePrefix":"p","NextToken":"t","MaxResults":3})");
    BOOST_TEST(*list.name_prefix == "p");
    BOOST_TEST(*list.next_token == "t");
    BOOST_TEST(*list.max_results == 3);

    auto const sources =
        read<sqs::list_dead_letter_source_queues_request>(R"({"QueueUrl":"q","NextToken":"t","MaxResults":3})");
    BOOST_TEST(sources.queue_url == "q");
    BOOST_TEST(*sources.next_token == "t");
    BOOST_TEST(*sources.max_results == 3);

    BOOST_TEST(read<sqs::delete_queue_request>(R"({"QueueUrl":"q"})").queue_url == "q");
    BOOST_TEST(read<sqs::purge_queue_request>(R"({"QueueUrl":"q"})").queue_url == "q");
    BOOST_TEST(read<sqs::list_queue_tags_request>(R"({"QueueUrl":"q"})").queue_url == "q");
    BOOST_TEST(read<sqs::tag_queue_request>(R"({"QueueUrl":"q","Tags":{"k":"v"}})").tags.at("k") == "v");
    BOOST_TEST(read<sqs::untag_queue_request>(R"({"QueueUrl":"q","TagKeys":["k"]})").tag_keys == strings{"k"},
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(attributes_that_are_not_asked_for_are_not_all_attributes)
{
    BOOST_TEST(read<sqs::get_queue_attributes_request>(R"({"QueueUrl":"q"})").attribute_names.empty());
    BOOST_TEST(
        read<sqs::get_queue_attributes_request>(R"({"QueueUrl":"q","AttributeNames":["All"]})").attribute_names ==
            strings{"All"},
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(permissions_and_move_tasks_carry_their_members)
{
    auto const add = read<sqs::add_permission_request>(
        R"({"QueueUrl":"q","Label":"l","AWSAccountIds":["1","2"],"Actions":["*"]})");
    BOOST_TEST(add.label == "l");
    BOOST_TEST(add.account_ids == (strings{"1", "2"}), boost::test_tools::per_element());
    BOOST_TEST(add.actions == strings{"*"}, boost::test_tools::per_element());
    BOOST_TEST(read<sqs::remove_permission_request>(R"({"QueueUrl":"q","Label":"l"})").label == "l");

    auto const start = read<sqs::start_message_move_task_request>(
        R"({"SourceArn":"s","DestinationArn":"d","MaxNumberOfMessagesPerSecond":500})");
    BOOST_TEST(start.source_arn == "s");
    BOOST_TEST(*start.destination_arn == "d");
    BOOST_TEST(*start.max_messages_per_second == 500);
    BOOST_TEST(read<sqs::cancel_message_move_task_request>(R"({"TaskHandle":"t"})").task_handle == "t");
    auto const list = read<sqs::list_message_move_tasks_request>(R"({"SourceArn":"s","MaxResults":10})");
    BOOST_TEST(list.source_arn == "s");
    BOOST_TEST(*list.max_results == 10);
}

BOOST_AUTO_TEST_CASE(null_is_absent_unknown_members_are_skipped_and_an_empty_body_is_an_object)
{
    auto const r = read<sqs::receive_message_request>(
        R"({"Future":{"a":[1,{"b":null}],"QueueUrl":"no"},"QueueUrl":"q","WaitTimeSeconds":null,"AttributeNames":null})");
    BOOST_TEST(r.queue_url == "q");
    BOOST_TEST(!r.wait_time);
    BOOST_TEST(r.system_attribute_names.empty());

    BOOST_TEST(!read<sqs::list_queues_request>("").name_prefix);
    BOOST_TEST(!read<sqs::list_queues_request>(" { } ").name_prefix);
    BOOST_TEST(requires_parameters<sqs::delete_queue_request>("") == "QueueUrl.");
    BOOST_TEST(requires_parameters<sqs::delete_queue_request>(R"({"QueueUrl":null})") == "QueueUrl.");
}

BOOST_AUTO_TEST_CASE(a_required_member_that_is_missing_is_named)
{
    BOOST_TEST(requires_parameters<sqs::send_message_request>(R"({"QueueUrl":"q"})") == "MessageBody.");
    BOOST_TEST(requires_parameters<sqs::send_message_request>(R"({"MessageBody":"b"})") == "QueueUrl.");
    BOOST_TEST(requires_parameters<sqs::send_message_batch_request>(R"({"QueueUrl":"q"})") == "Entries.");
    BOOST_TEST(requires_parameters<sqs::send_message_batch_request>(R"({"QueueUrl":"q","Entries":[{"Id":"1"}]})") ==
        "MessageBody.");
    BOOST_TEST(requires_parameters<sqs::change_message_visibility_request>(
                   R"({"QueueUrl":"q","ReceiptHandle":"h"})") == "VisibilityTimeout.");
    BOOST_TEST(requires_parameters<sqs::create_queue_request>("{}") == "QueueName.");
    BOOST_TEST(requires_parameters<sqs::set_queue_attributes_request>(R"({"QueueUrl":"q"})") == "Attributes.");
    BOOST_TEST(requires_parameters<sqs::add_permission_request>(
                   R"({"QueueUrl":"q","Label":"l","AWSAccountIds":["1"]})") == "Actions.");
    BOOST_TEST(requires_parameters<sqs::start_message_move_task_request>("{}") == "SourceArn.");
}

BOOST_AUTO_TEST_CASE(a_member_of_another_type_is_named_with_what_it_should_be)
{
    auto const of = [](std::string const& member) {
        return refusal<sqs::receive_message_request>(R"({"QueueUrl":"q",)" + member + "}");
    };
    std::string const begin = "MalformedInput: The member ";
    BOOST_TEST(of(R"("WaitTimeSeconds":"20")") == begin + "WaitTimeSeconds must be an integer, not a string.");
    BOOST_TEST(of(R"("WaitTimeSeconds":true)") == begin + "WaitTimeSeconds must be an integer, not a boolean.");
    BOOST_TEST(of(R"("WaitTimeSeconds":1.5)") == begin + "WaitTimeSeconds must be an integer, not a number.");
    BOOST_TEST(of(R"("WaitTimeSeconds":4294967296)") == begin + "WaitTimeSeconds is out of range.");
    BOOST_TEST(of(R"("WaitTimeSeconds":-4294967296)") == begin + "WaitTimeSeconds is out of range.");
    BOOST_TEST(
        of(R"("ReceiveRequestAttemptId":1)") == begin + "ReceiveRequestAttemptId must be a string, not a number.");
    BOOST_TEST(
        of(R"("MessageAttributeNames":"All")") == begin + "MessageAttributeNames must be an array, not a string.");
    BOOST_TEST(
        of(R"("MessageAttributeNames":[[]])") == begin + "MessageAttributeNames must be a string, not an array.");
    BOOST_TEST(refusal<sqs::create_queue_request>(R"({"QueueName":"q","Attributes":[]})") ==
        begin + "Attributes must be an object, not an array.");
    BOOST_TEST(refusal<sqs::create_queue_request>(R"({"QueueName":"q","Attributes":{"DelaySeconds":1}})") ==
        begin + "Attributes must be a string, not a number.");
    BOOST_TEST(refusal<sqs::send_message_batch_request>(R"({"QueueUrl":"q","Entries":{}})") ==
        begin + "Entries must be an array, not an object.");
    BOOST_TEST(refusal<sqs::send_message_batch_request>(R"({"QueueUrl":"q","Entries":["x"]})") ==
        begin + "Entries must be an object, not a string.");
    BOOST_TEST(
        refusal<sqs::send_message_request>(R"({"QueueUrl":"q","MessageBody":"b","MessageAttributes":{"a":"v"}})") ==
        begin + "MessageAttributes must be an object, not a string.");
    BOOST_TEST(refusal<sqs::send_message_request>(R"({"QueueUrl":"q","MessageBody":"b",
        "MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"AA=A"}}})") ==
        begin + "BinaryValue is not valid base64.");
}

BOOST_AUTO_TEST_CASE(list_values_of_message_attributes_are_not_supported_even_empty)
{
    auto const one = [](std::string const& lists) {
        return R"({"QueueUrl":"q","MessageBody":"b","MessageAttributes":{"a":{"DataType":"String","StringValue":"v",)" +
            lists + "}}}";
    };
    auto const text = [](std::string const& operation) {
        return "AWS.SimpleQueueService.UnsupportedOperation: Message attribute list values in " + operation +
            " operation are not supported.";
    };
    for (auto const* lists : {R"("StringListValues":[])", R"("BinaryListValues":[])", R"("StringListValues":["x"])"})
        BOOST_TEST(refusal<sqs::send_message_request>(one(lists)) == text("SendMessage"));
    BOOST_TEST(refusal<sqs::send_message_request>(one(R"("StringListValues":null)")) == "none");
    BOOST_TEST(refusal<sqs::send_message_batch_request>(
                   R"({"QueueUrl":"q","Entries":[{"Id":"1","MessageBody":"b",)"
                   R"("MessageAttributes":{"a":{"DataType":"String","StringValue":"v","StringListValues":[]}}}]})") ==
        text("SendMessageBatch"));
}

BOOST_AUTO_TEST_CASE(what_is_no_json_object_is_refused)
{
    for (std::string const body : {"[]", "\"x\"", "1", "null", "{", "}", "{]", "{\"a\"", "{\"a\":}", "{\"a\":1,}",
             "{}{}", "{} x", "{\"QueueNamePrefix\":\"\xff\"}", "{\"QueueNamePrefix\":\"a\nb\"}",
             "{\"QueueNamePrefix\":\"\\x\"}", "{\"QueueNamePrefix\":\"\\ud800\"}", "{\"QueueNamePrefix\":nul}",
             "{\"MaxResults\":01}", "{1:2}", "{a:1}", "Action=SendMessage"}) {
        auto const why = refusal<sqs::list_queues_request>(body);
        BOOST_TEST(why.starts_with("MalformedInput: "), body << " -> " << why);
    }
}

BOOST_AUTO_TEST_CASE(every_cut_of_a_good_body_is_refused_and_crashes_nothing)
{
    std::string const whole = R"({"QueueUrl":"q","Entries":[{"Id":"1","MessageBody":"b\u00e9","DelaySeconds":12,)"
                              R"("MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"AAEC"}}}]})";
    BOOST_TEST(read<sqs::send_message_batch_request>(whole).entries.size() == 1u);
    for (std::size_t size = 1; size != whole.size(); ++size)
        BOOST_TEST(!decode<sqs::send_message_batch_request>(whole.substr(0, size)), whole.substr(0, size));
}

BOOST_AUTO_TEST_CASE(deep_nesting_is_refused_or_skipped_without_recursion)
{
    std::string const deep(100'000, '[');
    BOOST_TEST(!decode<sqs::list_queues_request>(R"({"x":)" + deep));
    BOOST_TEST(!decode<sqs::list_queues_request>(deep));
}

BOOST_AUTO_TEST_CASE(a_large_body_escaped_to_ascii_is_decoded_whole)
{
    std::string escaped;
    for (int i = 0; i != 500'000; ++i)
        escaped += "\\u00e9";
    auto const r = read<sqs::send_message_request>(R"({"QueueUrl":"q","MessageBody":")" + escaped + "\"}");
    BOOST_TEST(r.body.size() == 1'000'000u);
}

// They stayed as large as for the largest body ever.
BOOST_AUTO_TEST_CASE(the_buffers_for_a_large_body_are_given_back)
{
    wire_decoder one;
    auto const body_of = [](std::size_t size) {
        auto out = R"({"QueueUrl":"q","MessageBody":")" + std::string(size, 'x') + "\"}";
        out.reserve(out.size() + wire_decoder::padding);
        return out;
    };
    BOOST_TEST(one.decode<sqs::send_message_request>(body_of(10'000)).has_value());
    auto const usual = one.capacity();
    BOOST_TEST(usual >= 10'000u);
    auto const large = one.decode<sqs::send_message_request>(body_of(1'000'000));
    BOOST_TEST(large.value().body.size() == 1'000'000u);
    BOOST_TEST(one.capacity() <= wire_decoder::kept);
    BOOST_TEST(one.decode<sqs::send_message_request>(body_of(20'000)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
