// Sessions recorded between another SDK and SQS: Quern writes the same requests and reads the answers.

#include <quern/sqs/detail/checksums.hpp>
#include <quern/sqs/detail/decode.hpp>
#include <quern/sqs/detail/encode.hpp>

#include <support/conformance.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <map>

using namespace quern::sqs;
using namespace quern::sqs::detail;
using std::string;

namespace {

namespace json = boost::json;

string text(json::object const& from, char const* name)
{
    return from.contains(name) ? string(from.at(name).as_string()) : string();
}

string_map strings(json::object const& from, char const* name)
{
    string_map out;
    if (!from.contains(name)) return out;
    for (auto const& each : from.at(name).as_object())
        out[each.key()] = each.value().as_string();
    return out;
}

std::vector<string> list(json::object const& from, char const* name)
{
    std::vector<string> out;
    if (!from.contains(name)) return out;
    for (auto const& each : from.at(name).as_array())
        out.emplace_back(each.as_string());
    return out;
}

attribute_map attributes(json::object const& from, char const* name)
{
    attribute_map out;
    if (!from.contains(name)) return out;
    for (auto const& each : from.at(name).as_object()) {
        auto const& value = each.value().as_object();
        out[each.key()] = {text(value, "DataType"), text(value, "StringValue")};
    }
    return out;
}

std::optional<seconds> time(json::object const& from, char const* name)
{
    if (!from.contains(name)) return {};
    return seconds(from.at(name).as_int64());
}

/// One exchange: what the other side asked for, as a request of ours, and its answer.
struct exchange {
    json::object asked;
    string answer;
    decoder& in;

    template <class Response, class Request>
    Response same(Request const& request)
    {
        BOOST_TEST(json::parse(encode(request)) == json::value(asked));
        auto const read = in.read<Response>(answer);
        BOOST_TEST_REQUIRE(read.has_value(), (read ? "" : read.error().message));
        return *read;
    }
};

void send(exchange x)
{
    send_message_request request(text(x.asked, "QueueUrl"), text(x.asked, "MessageBody"));
    request.attributes = attributes(x.asked, "MessageAttributes");
    request.system_attributes = attributes(x.asked, "MessageSystemAttributes");
    request.delay = time(x.asked, "DelaySeconds");
    auto const answer = x.same<send_message_response>(request);
    BOOST_TEST(!answer.md5_of_body.empty());
    BOOST_TEST(!verify(request, answer));
}

void receive(exchange x)
{
    receive_message_request request(text(x.asked, "QueueUrl"));
    request.max_messages = static_cast<int>(x.asked.at("MaxNumberOfMessages").as_int64());
    request.visibility_timeout = time(x.asked, "VisibilityTimeout");
    request.wait_time = time(x.asked, "WaitTimeSeconds");
    request.attribute_names = list(x.asked, "MessageAttributeNames");
    request.system_attribute_names = list(x.asked, "MessageSystemAttributeNames");
    auto answer = x.same<receive_message_response>(request);
    verify(answer);
    BOOST_TEST(answer.damaged.empty());

    auto const expected = json::parse(x.answer).as_object();
    auto const messages = expected.contains("Messages") ? expected.at("Messages").as_array() : json::array();
    BOOST_TEST_REQUIRE(answer.messages.size() == messages.size());
    for (std::size_t i = 0; i != messages.size(); ++i) {
        auto const& want = messages[i].as_object();
        auto const& got = answer.messages[i];
        BOOST_TEST(got.id == text(want, "MessageId"));
        BOOST_TEST(got.receipt_handle == text(want, "ReceiptHandle"));
        BOOST_TEST(got.body == text(want, "Body"));
        auto const system = strings(want, "Attributes");
        BOOST_TEST(got.system_attributes.size() == system.size());
        for (auto const& [name, value] : system)
            BOOST_TEST(got.system(name) == value);
        auto const user = attributes(want, "MessageAttributes");
        BOOST_TEST(got.attributes.size() == user.size());
        for (auto const& [name, value] : user) {
            BOOST_TEST_REQUIRE(got.attribute(name) != nullptr);
            BOOST_TEST(got.attribute(name)->value == value.value);
        }
    }
}

void create(exchange x)
{
    create_queue_request request(text(x.asked, "QueueName"));
    request.attributes = strings(x.asked, "Attributes");
    BOOST_TEST(!x.same<queue_url_response>(request).queue_url.empty());
}

void get_attributes(exchange x)
{
    get_queue_attributes_request request(text(x.asked, "QueueUrl"));
    request.attribute_names = list(x.asked, "AttributeNames");
    BOOST_TEST(x.same<attributes_response>(request).attributes.contains("QueueArn"));
}

std::map<string, std::function<void(exchange)>> const operations = {
    {"SendMessage", send},
    {"ReceiveMessage", receive},
    {"CreateQueue", create},
    {"GetQueueAttributes", get_attributes},
    {"GetQueueUrl",
        [](exchange x) { x.same<queue_url_response>(get_queue_url_request(text(x.asked, "QueueName"))); }},
    {"DeleteQueue", [](exchange x) { x.same<empty_response>(delete_queue_request(text(x.asked, "QueueUrl"))); }},
    {"DeleteMessage",
        [](exchange x) {
            x.same<empty_response>(delete_message_request(text(x.asked, "QueueUrl"), text(x.asked, "ReceiptHandle")));
        }},
};

} // namespace

BOOST_AUTO_TEST_SUITE(recorded_traffic)

BOOST_AUTO_TEST_CASE(requests_are_the_recorded_ones_and_answers_are_understood)
{
    decoder in;
    for (auto const& file : quern::test::conformance_files("08-recorded-sqs-traffic/sqslite", ".jsonl")) {
        int line = 0;
        for (auto const& step : quern::test::conformance_lines(file)) {
            auto const target = string(step.at("RequestHeaders").at("X-Amz-Target").as_string());
            BOOST_TEST_CONTEXT(file << ':' << ++line << ' ' << target)
            {
                auto const found = operations.find(target.substr(target.find('.') + 1));
                BOOST_TEST_REQUIRE(found != operations.end());
                auto const asked = json::parse(step.at("RequestBody").as_string()).as_object();
                found->second({asked, string(step.at("ResponseBody").as_string()), in});
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
