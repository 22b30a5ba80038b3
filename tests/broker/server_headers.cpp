#include "server_fixture.hpp"

using namespace quern;
using namespace quern::test;

BOOST_AUTO_TEST_SUITE(server_headers)

// X-Ray's header of a traced caller went nowhere, so that a trace ended at the queue.
BOOST_AUTO_TEST_CASE(the_trace_header_of_a_request_is_that_of_each_message_that_names_none)
{
    running_server s;
    auto client = s.connect();
    client.call("CreateQueue", R"({"QueueName":"q"})");
    std::string_view const traced = "X-Amzn-Trace-Id: Root=1-5759e988\r\n";
    auto const sent = client.call("SendMessage", R"({"QueueUrl":"q","MessageBody":"a"})", traced);
    BOOST_TEST(!sent.json().contains("MD5OfMessageSystemAttributes"));
    client.call("SendMessageBatch",
        R"({"QueueUrl":"q","Entries":[{"Id":"1","MessageBody":"b"},{"Id":"2","MessageBody":"c",
            "MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"own"}}}]})",
        traced);
    client.call("SendMessage", R"({"QueueUrl":"q","MessageBody":"d"})");
    auto const got =
        client.call("ReceiveMessage", R"({"QueueUrl":"q","MaxNumberOfMessages":10,"AttributeNames":["All"]})").json();
    std::map<std::string, std::string> traces;
    for (auto const& m : got.at("Messages").as_array()) {
        auto const* const trace = m.at("Attributes").as_object().if_contains("AWSTraceHeader");
        traces[std::string(m.at("Body").as_string())] = trace ? std::string(trace->as_string()) : "none";
    }
    std::map<std::string, std::string> const wanted{
        {"a", "Root=1-5759e988"}, {"b", "Root=1-5759e988"}, {"c", "own"}, {"d", "none"}};
    BOOST_TEST((traces == wanted));
}

BOOST_AUTO_TEST_SUITE_END()
