#include <quern/sqs/detail/decode.hpp>
#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <support/conformance.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::sqs;
using namespace quern::sqs::detail;
using quern::errc;
using std::string;

namespace {

template <class Response>
quern::result<Response> read(string body)
{
    static decoder shared; // as a client has it
    return shared.read<Response>(body);
}

auto receive(string body)
{
    return read<receive_message_response>(std::move(body));
}

string failed(quern::result<receive_message_response> const& answer)
{
    if (answer) return "no failure";
    BOOST_TEST(answer.error().code == make_error_code(errc::bad_reply));
    return answer.error().message;
}

/// The message's only damage, with what is known of it.
damaged_message damage(string message)
{
    auto const answer =
        receive(R"({"Messages":[)" + message + R"(,{"MessageId":"m2","ReceiptHandle":"r2","Body":"b2"}]})");
    BOOST_REQUIRE_MESSAGE(answer, message + ": " + (answer ? "" : answer.error().message));
    BOOST_REQUIRE_MESSAGE(answer->damaged.size() == 1, message);
    BOOST_REQUIRE(answer->messages.size() == 1);
    BOOST_TEST(answer->messages[0].body == "b2");
    BOOST_TEST(answer->damaged[0].why.code == make_error_code(errc::bad_reply));
    static std::shared_ptr<std::byte[]> kept;
    kept = answer->storage;
    return answer->damaged[0];
}

string const full = R"({
  "Messages": [
    {"Attributes":{"ApproximateReceiveCount":"2","SentTimestamp":"1700000000123","MessageGroupId":"g"},
     "Body":"line one\nline \"two\" \u00e9 \ud83d\ude00 \/","MD5OfBody":"0123","MD5OfMessageAttributes":"4567",
     "MessageAttributes":{"kind":{"DataType":"String","StringValue":"a\tb"},
                          "blob":{"BinaryValue":"AAEC/w==","DataType":"Binary.x"}},
     "MessageId":"m1","ReceiptHandle":"r1"},
    {"MessageId":"m2","ReceiptHandle":"r2","Body":"b2","MD5OfBody":"89ab","Future":{"x":[1,{"y":null}]}}
  ], "ResultMetadata": {"retries": 0}})";

} // namespace

BOOST_AUTO_TEST_SUITE(decode)

BOOST_AUTO_TEST_CASE(a_received_message_is_read_whole)
{
    auto const answer = receive(full);
    BOOST_REQUIRE(answer);
    BOOST_TEST(answer->damaged.empty());
    BOOST_REQUIRE(answer->messages.size() == 2u);
    auto const& m = answer->messages[0];
    BOOST_TEST(m.id == "m1");
    BOOST_TEST(m.receipt_handle == "r1");
    BOOST_TEST(m.body == "line one\nline \"two\" é 😀 /");
    BOOST_TEST(m.md5_of_body == "0123");
    BOOST_TEST(m.md5_of_attributes == "4567");
    BOOST_TEST(m.receive_count() == 2);
    BOOST_TEST(m.group_id() == "g");
    BOOST_REQUIRE(m.attributes.size() == 2u);
    BOOST_TEST(m.attribute("kind")->value == "a\tb");
    BOOST_TEST(m.attribute("blob")->value == std::string_view("\0\1\2\xFF", 4));
    BOOST_TEST(m.attribute("blob")->data_type == "Binary.x");
    BOOST_TEST(answer->messages[1].body == "b2");
}

// What is in flight keeps the storage: in it the messages stand side by side, without the JSON that was around them.
BOOST_AUTO_TEST_CASE(messages_keep_no_more_than_their_bytes)
{
    auto const answer = receive(R"({"Messages":[{"MessageId":"m1","ReceiptHandle":"r1","Body":"b1",
        "Attributes":{"SenderId":"s","New":"n"}},{"MessageId":"m2","ReceiptHandle":"r2","Body":"b2"}]})");
    auto const* const all = reinterpret_cast<char const*>(answer->storage.get());
    BOOST_TEST(std::string_view(all, 17) == "m1r1b1sNewnm2r2b2"); // names that SQS has are not kept
    BOOST_TEST(answer->messages[0].system("SenderId") == "s");
    BOOST_TEST(answer->messages[1].body.data() == all + 15);
}

BOOST_AUTO_TEST_CASE(messages_outlive_the_body_and_the_answer_that_shared_their_storage)
{
    message m;
    std::shared_ptr<std::byte[]> storage;
    {
        auto answer = receive(full);
        storage = answer->storage;
        m = answer->messages[1];
    }
    (void)receive(full);
    BOOST_TEST(m.receipt_handle == "r2");
}

BOOST_AUTO_TEST_CASE(no_messages_is_an_empty_answer)
{
    for (auto const body :
        {"", " \n", "{}", " { } ", R"({"Messages":[]})", R"({"Messages":null})", R"({"Messages":[null]})"}) {
        auto const answer = receive(body);
        BOOST_REQUIRE_MESSAGE(answer, body);
        BOOST_TEST(answer->messages.empty());
        BOOST_TEST(answer->damaged.empty());
        BOOST_TEST(!answer->storage);
    }
}

BOOST_AUTO_TEST_CASE(null_counts_as_absent)
{
    auto const answer = receive(R"({"Messages":[{"MessageId":"m","ReceiptHandle":"r","Body":"b","MD5OfBody":null,
        "Attributes":null,"MessageAttributes":{"a":null,"b":{"DataType":"String","StringValue":"v","BinaryValue":null}}}]})");
    BOOST_REQUIRE(answer);
    BOOST_REQUIRE(answer->messages.size() == 1u);
    BOOST_TEST(answer->messages[0].attributes.size() == 1u);
    BOOST_TEST(answer->messages[0].attribute("b")->value == "v");
}

BOOST_AUTO_TEST_CASE(names_may_be_written_with_escapes)
{
    auto const answer = receive(R"({"Me\u0073sages":[{"MessageId":"m","ReceiptHandle":"r","\u0042ody":"b"}]})");
    BOOST_REQUIRE(answer);
    BOOST_REQUIRE(answer->messages.size() == 1u);
    BOOST_TEST(answer->messages[0].body == "b");
}

BOOST_AUTO_TEST_CASE(a_message_that_lacks_a_part_is_damaged_and_the_others_are_delivered)
{
    BOOST_TEST(damage(R"({"ReceiptHandle":"r","Body":"b"})").why.message == "Messages[0].MessageId: missing");
    BOOST_TEST(damage(R"({"MessageId":"m","Body":"b"})").why.message == "Messages[0].ReceiptHandle: missing");
    BOOST_TEST(damage(R"({"MessageId":"m","ReceiptHandle":"r"})").why.message == "Messages[0].Body: missing");
    BOOST_TEST(
        damage(R"({"MessageId":"m","ReceiptHandle":"r","Body":null})").why.message == "Messages[0].Body: missing");
    BOOST_TEST(damage("{}").why.message == "Messages[0].MessageId: missing");
}

BOOST_AUTO_TEST_CASE(a_damaged_message_keeps_what_could_be_read)
{
    auto const d = damage(
        R"({"Body":"lone \ud800 surrogate","MessageId":"m","ReceiptHandle":"r","Attributes":{"MessageGroupId":"g"}})");
    BOOST_TEST(d.position == 0u);
    BOOST_TEST(d.known.id == "m");
    BOOST_TEST(d.known.receipt_handle == "r");
    BOOST_TEST(d.known.group_id() == "g");
    BOOST_TEST(d.why.message.find("Messages[0].Body: ") == 0u);
}

BOOST_AUTO_TEST_CASE(positions_count_whole_and_damaged_messages_together)
{
    auto const answer = receive(R"({"Messages":[{"MessageId":"0","ReceiptHandle":"r","Body":"b"},7,
        {"MessageId":"2","ReceiptHandle":"r","Body":"b"},{"MessageId":"3","ReceiptHandle":"r","Body":9}]})");
    BOOST_REQUIRE(answer);
    BOOST_REQUIRE(answer->messages.size() == 2u);
    BOOST_TEST(answer->messages[1].id == "2");
    BOOST_REQUIRE(answer->damaged.size() == 2u);
    BOOST_TEST(answer->damaged[0].position == 1u);
    BOOST_TEST(answer->damaged[1].position == 3u);
    BOOST_TEST(answer->damaged[1].known.id == "3");
}

BOOST_AUTO_TEST_CASE(a_member_of_the_wrong_type_is_named)
{
    auto const with = [](string name, string value) {
        return damage(R"({"MessageId":"m","ReceiptHandle":"r","Body":"b",")" + name + "\":" + value + '}')
            .why.message;
    };
    for (string const name : {"MessageId", "ReceiptHandle", "Body", "MD5OfBody", "MD5OfMessageAttributes"}) {
        for (string const value : {"1", "true", "{}", "[]", "[\"x\"]", "{\"x\":\"y\"}", "1e400", "-", "nul", "truth",
                 "123456789012345678901234567890", "\"\\x\"", "\"\\u12\"", "\"\\uD800\""}) {
            BOOST_TEST(with(name, value).find("Messages[0]." + name + ": ") == 0u, name + value);
        }
    }
    for (string const name : {"Attributes", "MessageAttributes"}) {
        for (string const value : {"1", "false", "[]", "\"text\"", "[{}]"}) {
            BOOST_TEST(with(name, value).find("Messages[0]." + name + ": ") == 0u, name + value);
        }
    }
    BOOST_TEST(
        with("Attributes", R"({"a":"1","SentTimestamp":2})").find("Messages[0].Attributes.SentTimestamp: ") == 0u);
    string const attribute = "Messages[0].MessageAttributes.a";
    BOOST_TEST(with("MessageAttributes", R"({"a":"b"})").find(attribute + ": ") == 0u);
    BOOST_TEST(with("MessageAttributes", R"({"a":{"StringValue":"b"}})") == attribute + ".DataType: missing");
    BOOST_TEST(with("MessageAttributes", R"({"a":{"DataType":1}})").find(attribute + ".DataType: ") == 0u);
    BOOST_TEST(with("MessageAttributes", R"({"a":{"DataType":"String","StringValue":[]}})")
                   .find(attribute + ".StringValue: ") == 0u);
    for (string const value : {"A", "AA=A", "====", "A===", "A-_A", "AAA\\n", "AAAA="}) {
        auto const text = R"({"a":{"DataType":"Binary","BinaryValue":")" + value + R"("}})";
        BOOST_TEST(with("MessageAttributes", text).find(attribute + ".BinaryValue: ") == 0u, value);
    }
}

BOOST_AUTO_TEST_CASE(of_duplicate_members_the_last_one_counts)
{
    auto const answer =
        receive(R"({"Messages":[{"MessageId":"m","ReceiptHandle":"r","Body":"first","Body":"second"}]})");
    BOOST_REQUIRE(answer);
    BOOST_TEST(answer->messages.at(0).body == "second");
}

BOOST_AUTO_TEST_CASE(duplicate_lists_of_messages_lose_none)
{
    auto const answer = receive(R"({"Messages":[{"MessageId":"1","ReceiptHandle":"r","Body":"b"}],
                                    "Messages":[{"MessageId":"2","ReceiptHandle":"r","Body":"b"}]})");
    BOOST_REQUIRE(answer);
    BOOST_TEST(answer->messages.size() == 2u);
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_no_object_fails)
{
    for (auto const body :
        {"null", "[]", "1", "\"text\"", "true", "<html></html>", "{}{}", "{} x", "{}]", "[{}]", "\x1f\x8b"}) {
        BOOST_TEST(failed(receive(body)) != "no failure", body);
    }
    BOOST_TEST(failed(receive(R"({"Messages":{}})")).find("Messages: ") == 0u);
    BOOST_TEST(failed(receive(R"({"Messages":"none"})")).find("Messages: ") == 0u);
}

BOOST_AUTO_TEST_CASE(more_than_ten_messages_fail)
{
    auto const body = [](int count) {
        string text = R"({"Messages":[)";
        for (int i = 0; i != count; ++i)
            text += (i ? "," : "") + string(R"({"MessageId":"m","ReceiptHandle":"r","Body":"b"})");
        return text + "]}";
    };
    BOOST_TEST(receive(body(10))->messages.size() == 10u);
    BOOST_TEST(failed(receive(body(11))).find("Messages[10]: ") == 0u);
}

BOOST_AUTO_TEST_CASE(an_answer_cut_off_anywhere_fails)
{
    for (std::size_t size = 1; size < full.size(); ++size) {
        BOOST_TEST(failed(receive(full.substr(0, size))) != "no failure", size);
    }
}

BOOST_AUTO_TEST_CASE(an_answer_with_any_byte_changed_neither_crashes_nor_invents_messages)
{
    for (std::size_t at = 0; at != full.size(); ++at) {
        for (char const c : {'\0', '"', '\\', '{', '}', '[', ']', ',', ':', '\xff', '0', 'n', ' '}) {
            string body = full;
            body[at] = c;
            auto const answer = receive(body);
            if (!answer) continue;
            BOOST_TEST(answer->messages.size() <= 2u);
            for (auto const& m : answer->messages)
                BOOST_TEST((!m.id.empty() && !m.receipt_handle.empty() && !m.body.empty()));
        }
        string shorter = full;
        (void)receive(shorter.erase(at, 1));
    }
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_utf8_fail_the_answer)
{
    for (string const bytes : {"\xff", "\xc3", "\xed\xa0\x80", "\xc0\x80", "\xf5\x80\x80\x80"}) {
        BOOST_TEST(failed(receive(R"({"Messages":[{"Body":")" + bytes + "\"}]}")) != "no failure");
    }
    BOOST_TEST(failed(receive("{\"Messages\":[{\"Body\":\"raw \x01 control\"}]}")) != "no failure");
}

BOOST_AUTO_TEST_CASE(deep_nesting_and_huge_numbers_in_unknown_members_are_passed_over)
{
    for (int const depth : {10, 1'023, 1'024, 5'000, 200'000}) {
        auto const deep = R"({"X":)" + string(depth, '[') + string(depth, ']') + ",\"Y\":" + string(400, '9') + '}';
        BOOST_TEST(receive(deep).has_value(), depth);
        BOOST_TEST(!receive(R"({"X":)" + string(depth, '[') + '}'), depth);
        string objects;
        for (int i = 0; i != depth; ++i)
            objects += R"({"Messages":)";
        BOOST_TEST(!receive(objects));
    }
}

BOOST_AUTO_TEST_CASE(a_body_without_spare_capacity_is_read_as_well)
{
    decoder own;
    for (std::size_t spaces = 0; spaces != 70; ++spaces) {
        string body = string(spaces, ' ') + R"({"QueueUrl":"u"})";
        body.shrink_to_fit();
        BOOST_TEST(own.read<queue_url_response>(body)->queue_url == "u");
    }
}

BOOST_AUTO_TEST_CASE(a_large_answer_does_not_leave_the_decoder_large_or_broken)
{
    string const big(3 * 1024 * 1024, 'x');
    auto const answer = receive(R"({"Messages":[{"MessageId":"m","ReceiptHandle":"r","Body":")" + big + "\"}]}");
    BOOST_REQUIRE(answer);
    BOOST_TEST(answer->messages.at(0).body.size() == big.size());
    BOOST_TEST(receive(full)->messages.size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_answer_of_a_batch_has_both_lists_or_one)
{
    auto const both =
        read<send_message_batch_response>(R"({"Successful":[{"Id":"0","MessageId":"m","MD5OfMessageBody":"d",
        "MD5OfMessageAttributes":"a","MD5OfMessageSystemAttributes":"s","SequenceNumber":"18849496460467696128"}],
        "Failed":[{"Id":"1","SenderFault":true,"Code":"InvalidParameterValue","Message":"no"}]})");
    BOOST_REQUIRE(both);
    auto const& sent = both->successful.at(0);
    BOOST_TEST(
        sent.id + sent.message_id + sent.md5_of_body + sent.md5_of_attributes + sent.md5_of_system_attributes ==
        "0mdas");
    BOOST_TEST(sent.sequence_number == "18849496460467696128");
    auto const& refused = both->failed.at(0);
    BOOST_TEST(refused.id + refused.code + refused.message == "1InvalidParameterValueno");
    BOOST_TEST(refused.sender_fault);

    auto const done = read<delete_message_batch_response>(R"({"Successful":[{"Id":"0"},{"Id":"1"}]})");
    BOOST_TEST(done->successful.size() == 2u);
    BOOST_TEST(done->failed.empty());
    BOOST_TEST(read<delete_message_batch_response>("{}")->successful.empty());
}

BOOST_AUTO_TEST_CASE(an_entry_without_an_id_fails_the_answer_of_a_batch)
{
    auto const why = [](string body) { return read<delete_message_batch_response>(body).error().message; };
    BOOST_TEST(why(R"({"Successful":[{"Id":"0"},{}]})") == "Successful[1].Id: missing");
    BOOST_TEST(why(R"({"Failed":[{"Code":"x"}]})") == "Failed[0].Id: missing");
    BOOST_TEST(why(R"({"Failed":[{"Id":"0","SenderFault":"true"}]})").find("Failed[0].SenderFault: ") == 0u);
    BOOST_TEST(why(R"({"Failed":{}})").find("Failed: ") == 0u);
}

BOOST_AUTO_TEST_CASE(an_operation_without_output_answers_nothing_or_an_object)
{
    BOOST_TEST(read<empty_response>("").has_value());
    BOOST_TEST(read<empty_response>("{}").has_value());
    BOOST_TEST(read<empty_response>(R"({"anything":[1]})").has_value());
    BOOST_TEST(!read<empty_response>("<html>welcome to the hotel</html>"));
}

BOOST_AUTO_TEST_CASE(what_an_answer_is_for_must_be_in_it)
{
    BOOST_TEST(read<queue_url_response>("{}").error().message == "QueueUrl: missing");
    BOOST_TEST(read<queue_url_response>("").error().message == "QueueUrl: missing");
    BOOST_TEST(read<send_message_response>(R"({"MD5OfMessageBody":"d"})").error().message == "MessageId: missing");
    BOOST_TEST(read<task_handle_response>("{}").error().message == "TaskHandle: missing");
}

BOOST_AUTO_TEST_CASE(the_answers_about_queues_are_read)
{
    BOOST_TEST(read<queue_url_response>(R"({"QueueUrl":"http://h/1/q"})")->queue_url == "http://h/1/q");
    auto const queues = read<queue_urls_response>(R"({"NextToken":"t","QueueUrls":["a","b"]})");
    BOOST_TEST(queues->queue_urls == (std::vector<string>{"a", "b"}), boost::test_tools::per_element());
    BOOST_TEST(queues->next_token == "t");
    BOOST_TEST(read<queue_urls_response>(R"({"queueUrls":["a"]})")->queue_urls.size() == 1u);
    BOOST_TEST(read<queue_urls_response>("{}")->queue_urls.empty());
    BOOST_TEST(read<attributes_response>(R"({"Attributes":{"QueueArn":"arn","DelaySeconds":"0"}})")
                   ->attributes["QueueArn"] == "arn");
    BOOST_TEST(read<attributes_response>(R"({"Attributes":{"DelaySeconds":0}})")
                   .error()
                   .message.find("Attributes.DelaySeconds: ") == 0u);
    BOOST_TEST(read<tags_response>(R"({"Tags":{"team":"mill"}})")->tags["team"] == "mill");
}

BOOST_AUTO_TEST_CASE(the_answers_about_move_tasks_are_read)
{
    BOOST_TEST(read<task_handle_response>(R"({"TaskHandle":"h"})")->task_handle == "h");
    BOOST_TEST(
        read<moved_response>(R"({"ApproximateNumberOfMessagesMoved":5000000000})")->messages_moved == 5'000'000'000);
    auto const list = read<list_message_move_tasks_response>(R"({"Results":[
        {"TaskHandle":"h","Status":"RUNNING","SourceArn":"s","MaxNumberOfMessagesPerSecond":50,
         "ApproximateNumberOfMessagesMoved":3,"ApproximateNumberOfMessagesToMove":9,"StartedTimestamp":1700000000123},
        {"Status":"FAILED","SourceArn":"s","DestinationArn":"d","FailureReason":"gone"}]})");
    BOOST_REQUIRE(list);
    BOOST_REQUIRE(list->tasks.size() == 2u);
    auto const& running = list->tasks[0];
    BOOST_TEST(running.max_messages_per_second.value() == 50);
    BOOST_TEST(running.messages_to_move.value() == 9);
    BOOST_TEST(running.started_at_ms == 1'700'000'000'123);
    BOOST_TEST(list->tasks[1].failure_reason == "gone");
    BOOST_TEST(!list->tasks[1].messages_to_move);

    auto const why = [](string value) {
        return read<list_message_move_tasks_response>(
            R"({"Results":[{"MaxNumberOfMessagesPerSecond":)" + value + "}]}")
            .error()
            .message;
    };
    for (auto const value : {"1.5", "\"50\"", "99999999999", "999999999999999999999999", "1e2", "[]", "-"}) {
        BOOST_TEST(why(value).find("Results[0].MaxNumberOfMessagesPerSecond: ") == 0u, value);
    }
}

BOOST_AUTO_TEST_SUITE_END()
