#include "server_fixture.hpp"

#include <quern/broker/detail/move_task.hpp>

#include <support/conformance.hpp>

// What real SQS has answered, byte for byte on the wire, replayed against the broker.

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;
namespace json = boost::json;

namespace {

broker::engine_options of_the_recordings()
{
    broker::engine_options out;
    out.region = "us-west-2";
    out.account_id = "111122223333";
    return out;
}

std::string after_last(std::string const& text, char mark)
{
    return text.substr(text.rfind(mark) + 1);
}

/// Names for what differs from run to run, by which both sides agree on what is meant.
class masks {
public:
    json::value masked(json::value const& in)
    {
        if (auto const* list = in.if_array()) {
            json::array out;
            for (auto const& item : *list)
                out.push_back(masked(item));
            return out;
        }
        auto const* object = in.if_object();
        if (!object) return in;
        std::map<std::string, json::value> sorted; // the order of members says nothing
        for (auto const& [key, value] : *object)
            sorted[key] = value.is_string() ? masked(key, value) : masked(value);
        return json::object(sorted.begin(), sorted.end());
    }

private:
    json::value masked(std::string_view key, json::value const& value)
    {
        std::string const text(value.as_string());
        if (key == "MessageId") { // which of the messages, in the order in which they were sent
            BOOST_TEST(text.size() == 36u);
            return messages_.try_emplace(text, messages_.size()).first->second;
        }
        if (key == "ReceiptHandle") return !text.empty();
        if (key == "QueueUrl") return json::string(after_last(text, '/'));
        if (key == "QueueArn") return json::string(after_last(text, ':'));
        if (key == "SenderId") return !text.empty();
        if (key.ends_with("Timestamp")) return text.size();
        return value;
    }

    std::map<std::string, std::size_t> messages_;
};

std::vector<json::value> list_of(json::value const& answer, std::string_view member)
{
    auto const* list = answer.is_object() ? answer.as_object().if_contains(member) : nullptr;
    if (!list) return {};
    return {list->as_array().begin(), list->as_array().end()};
}

json::value parsed(std::string const& body)
{
    return body.empty() ? json::value() : json::parse(body);
}

/// One recorded session. Standard queues promise no order, so what was received is compared when all of it is here.
class session {
public:
    explicit session(std::string const& file)
    {
        for (auto const& exchange : conformance_lines(file))
            replay(exchange.as_object());
        std::sort(expected_.begin(), expected_.end());
        std::sort(received_.begin(), received_.end());
        BOOST_TEST(received_ == expected_, boost::test_tools::per_element());
        BOOST_TEST(exchanges_ > 3u);
    }

private:
    void replay(json::object const& exchange)
    {
        ++exchanges_;
        auto const& headers = exchange.at("RequestHeaders").as_object();
        auto const operation = after_last(std::string(headers.at("X-Amz-Target").as_string()), '.');
        std::string request(exchange.at("RequestBody").as_string());
        for (auto const& [theirs, ours] : handles_) {
            if (auto const at = request.find(theirs); at != request.npos) request.replace(at, theirs.size(), ours);
        }
        auto const answer = client_.call(operation, request, "X-Amzn-Query-Mode: true\r\nAccept-Encoding: gzip\r\n");

        BOOST_TEST(exchange.at("StatusCode").as_string() == "OK");
        BOOST_TEST(answer.status == 200);
        auto const& fields = exchange.at("ResponseHeaders").as_object();
        auto const has_type = fields.if_contains("Content-Type") != nullptr;
        if (has_type)
            BOOST_TEST(answer.fields.at("content-type") == std::string_view(fields.at("Content-Type").as_string()));
        BOOST_TEST(answer.fields.count("x-amzn-query-error") == (fields.contains("X-Amzn-Query-Error") ? 1u : 0u));
        BOOST_TEST(answer.fields.at("x-amzn-requestid").size() == fields.at("X-Amzn-Requestid").as_string().size());

        std::string const recorded(exchange.at("ResponseBody").as_string());
        BOOST_TEST(answer.body.empty() == recorded.empty());
        auto const theirs = parsed(recorded), ours = parsed(answer.body);
        if (operation == "ReceiveMessage") {
            for (auto const& m : list_of(theirs, "Messages"))
                expected_.push_back(json::serialize(their_masks_.masked(m)));
            for (auto const& m : list_of(ours, "Messages"))
                received_.push_back(json::serialize(our_masks_.masked(m)));
            remember_handles(list_of(theirs, "Messages"), list_of(ours, "Messages"));
        } else {
            auto const expected = their_masks_.masked(theirs), got = our_masks_.masked(ours);
            BOOST_TEST(got == expected,
                operation << ": " << json::serialize(got) << " instead of " << json::serialize(expected));
        }
    }

    void remember_handles(std::vector<json::value> const& theirs, std::vector<json::value> const& ours)
    {
        for (std::size_t i = 0; i < std::min(theirs.size(), ours.size()); ++i)
            handles_[std::string(theirs[i].at("ReceiptHandle").as_string())] =
                ours[i].at("ReceiptHandle").as_string();
    }

    running_server server_{running_server::unsigned_options(), of_the_recordings()};
    raw_client client_ = server_.connect();
    masks their_masks_, our_masks_;
    std::map<std::string, std::string> handles_;
    std::vector<std::string> expected_, received_;
    std::size_t exchanges_ = 0;
};

std::string repeated(std::string_view text, int times)
{
    std::string out;
    for (int i = 0; i != times; ++i)
        out += text;
    return out;
}

/// `count` entries with the rest of an entry after the id.
std::string entries(int count, std::string_view rest)
{
    std::string out = "[";
    for (int i = 0; i != count; ++i)
        out += R"({"Id":")" + std::to_string(i) + R"(",)" + std::string(rest) + "},";
    out.back() = ']';
    return out;
}

struct provoked_error {
    std::string text; ///< by which the fact is known, up to the first "<"
    std::string operation;
    std::string body;
};

/// A request for each recorded error. Queues: "standard"; "small" (1024 bytes); "fifo.fifo"; "dead" for "source".
std::vector<provoked_error> provocations()
{
    std::string const long_id = repeated("a", 129);
    std::string const arn = "arn:aws:sqs:us-east-1:000000000000:";
    auto const to = [](std::string_view queue, std::string_view members) {
        return R"({"QueueUrl":")" + std::string(queue) + R"(",)" + std::string(members) + "}";
    };
    auto const create = [](std::string_view attribute) {
        return R"({"QueueName":"standard2","Attributes":{")" + std::string(attribute) + R"(":"false"}})";
    };
    auto const invalid = [](std::string_view value, std::string_view parameter) {
        return "Value " + std::string(value) + " for parameter " + std::string(parameter) + " is invalid. Reason: ";
    };
    auto const half = repeated("x", 524'288);
    auto const task = broker::detail::encode(broker::detail::task_handle{"id", arn + "none"});
    return {
        {"Batch requests cannot be longer", "SendMessageBatch",
            to("standard",
                R"("Entries":[{"Id":"1","MessageBody":")" + half + R"("},{"Id":"2","MessageBody":")" + half +
                    "x\"}]")},
        {"A queue already exists with the same name", "CreateQueue",
            R"({"QueueName":"standard","Attributes":{"DelaySeconds":"1"}})"},
        {"Maximum number of entries", "DeleteMessageBatch",
            to("standard", R"("Entries":)" + entries(20, R"("ReceiptHandle":"h")"))},
        {"A batch entry id can only", "DeleteMessageBatch",
            to("standard", R"("Entries":[{"Id":"invalid:id","ReceiptHandle":"h"}])")},
        {"The queue should either have", "SendMessage", to("fifo.fifo", R"("MessageBody":"m","MessageGroupId":"g")")},
        {"One or more parameters cannot be validated", "SendMessageBatch",
            to("small", R"("Entries":[{"Id":"1","MessageBody":")" + repeated("x", 1025) + "\"}]")},
        {"The request must contain the parameter MessageGroupId", "SendMessageBatch",
            to("fifo.fifo", R"("Entries":[{"Id":"1","MessageBody":"m","MessageDeduplicationId":"d"}])")},
        {"The request must contain the parameter MessageGroupId", "SendMessage",
            to("fifo.fifo", R"("MessageBody":"m","MessageDeduplicationId":"d")")},
        {"Unknown Attribute FifoQueue", "CreateQueue", create("FifoQueue")},
        {"Invalid value for the parameter FifoQueue", "SetQueueAttributes",
            to("fifo.fifo", R"("Attributes":{"FifoQueue":"false"})")},
        {"Only one PurgeQueue operation on", "PurgeQueue", R"({"QueueUrl":"standard"})"},
        {"Unknown Attribute ContentBasedDeduplication", "CreateQueue", create("ContentBasedDeduplication")},
        {"You can specify the DeduplicationScope", "CreateQueue", create("DeduplicationScope")},
        {"You can specify the FifoThroughputLimit", "CreateQueue", create("FifoThroughputLimit")},
        {invalid("21", "WaitTimeSeconds"), "ReceiveMessage", to("standard", R"("WaitTimeSeconds":21)")},
        {invalid("-1", "WaitTimeSeconds"), "ReceiveMessage", to("standard", R"("WaitTimeSeconds":-1)")},
        {"The request must contain the parameter MessageBody", "SendMessage", to("standard", R"("MessageBody":"")")},
        {"Value <", "DeleteMessage", to("fifo.fifo", R"("ReceiptHandle":"<expired>")")},
        {invalid(long_id, "MessageGroupId"), "SendMessage",
            to("standard", R"("MessageBody":"m","MessageGroupId":")" + long_id + '"')},
        {invalid("group 123", "MessageGroupId"), "SendMessage",
            to("standard", R"("MessageBody":"m","MessageGroupId":"group 123")")},
        {invalid(long_id, "MessageDeduplicationId"), "SendMessage",
            to("fifo.fifo", R"("MessageBody":"m","MessageGroupId":"g","MessageDeduplicationId":")" + long_id + '"')},
        {invalid("group 123", "MessageDeduplicationId"), "SendMessage",
            to("fifo.fifo", R"("MessageBody":"m","MessageGroupId":"g","MessageDeduplicationId":"group 123")")},
        {"Source queue must be configured", "StartMessageMoveTask", R"({"SourceArn":")" + arn + "standard\"}"},
        {"The resource that you specified for the SourceArn", "CancelMessageMoveTask",
            R"({"TaskHandle":")" + task + "\"}"},
        {"The resource that you specified for the DestinationArn", "StartMessageMoveTask",
            R"({"SourceArn":")" + arn + R"(dead","DestinationArn":")" + arn + "none\"}"},
    };
}

/// Where the wire shows an error: of the request, or of an entry in a batch that went through.
void check_error(reply const& answer, json::object const& fact, std::string const& expected_text)
{
    std::string const code(fact.at("code").as_string());
    auto const& detail = fact.at("query_error_code_or_sender_fault");
    if (detail.is_bool()) {
        BOOST_TEST(answer.status == 200);
        auto const entry = answer.json().at("Failed").at(0);
        BOOST_TEST(entry.at("Code").as_string() == code);
        BOOST_TEST(entry.at("Message").as_string() == expected_text);
        BOOST_TEST(entry.at("SenderFault").as_bool() == detail.as_bool());
        return;
    }
    BOOST_TEST(answer.status == fact.at("http_status").as_int64());
    BOOST_TEST(answer.fields.at("x-amzn-query-error") == code + ";Sender");
    BOOST_TEST(after_last(answer.type(), '#') == std::string_view(detail.as_string()));
    BOOST_TEST(answer.message() == expected_text);
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_traffic)

BOOST_AUTO_TEST_CASE(recorded_sessions_of_the_service_go_the_same_way_here)
{
    std::size_t sessions = 0;
    for (auto const& file : conformance_files("08-recorded-sqs-traffic/sqslite", ".jsonl")) {
        BOOST_TEST_CONTEXT(file) session{file};
        ++sessions;
    }
    if (sessions != 0) BOOST_TEST(sessions >= 9u);
}

BOOST_AUTO_TEST_CASE(recorded_errors_look_the_same_on_the_wire)
{
    auto const facts = conformance_json("08-recorded-sqs-traffic/error-facts.json");
    if (!facts) return;

    running_server server;
    auto client = server.connect();
    client.call("CreateQueue", R"({"QueueName":"standard"})");
    client.call("CreateQueue", R"({"QueueName":"small","Attributes":{"MaximumMessageSize":"1024"}})");
    client.call("CreateQueue", R"({"QueueName":"fifo.fifo","Attributes":{"FifoQueue":"true"}})");
    client.call("CreateQueue", R"({"QueueName":"dead"})");
    client.call("CreateQueue", R"({"QueueName":"source","Attributes":{"RedrivePolicy":
        "{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:dead\",\"maxReceiveCount\":1}"}})");
    client.call("PurgeQueue", R"({"QueueUrl":"standard"})");
    client.call("SendMessage",
        R"({"QueueUrl":"fifo.fifo","MessageBody":"m","MessageGroupId":"g","MessageDeduplicationId":"1"})");
    auto const received = client.call("ReceiveMessage", R"({"QueueUrl":"fifo.fifo","VisibilityTimeout":1})").json();
    std::string const expired(received.at("Messages").at(0).at("ReceiptHandle").as_string());
    server.advance(2s);

    auto const all = provocations();
    for (auto const& item : facts->as_array()) {
        auto const& fact = item.as_object();
        std::string text(fact.at("message").as_string());
        BOOST_TEST_CONTEXT(text)
        {
            std::size_t tried = 0;
            for (auto const& p : all) {
                if (!text.starts_with(p.text)) continue;
                bool const of_a_batch = p.operation == "SendMessageBatch";
                bool const missing_group = text.find("parameter MessageGroupId.") != text.npos;
                if (missing_group && of_a_batch != (fact.at("code").as_string() == "InvalidParameterValue")) continue;
                auto body = p.body;
                auto expected = text;
                if (auto const at = body.find("<expired>"); at != body.npos) body.replace(at, 9, expired);
                for (auto const& [mask, name] :
                    {std::pair("<queue-name>", std::string("standard")), std::pair("<receipt-handle:1>", expired)}) {
                    if (auto const at = expected.find(mask); at != expected.npos)
                        expected.replace(at, std::string_view(mask).size(), name);
                }
                check_error(client.call(p.operation, body), fact, expected);
                ++tried;
            }
            BOOST_TEST(tried == 1u);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
