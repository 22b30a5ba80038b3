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
    BOOST_TEST(traces == wanted);
}

BOOST_AUTO_TEST_CASE(queues_and_messages_can_be_looked_at_without_receiving_where_that_is_switched_on)
{
    auto options = running_server::unsigned_options();
    for (bool const on : {false, true}) {
        options.admin = on;
        running_server s(options);
        auto client = s.connect();
        auto const get = [&](std::string_view target) {
            client.send("GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n\r\n");
            return client.receive();
        };
        client.call("CreateQueue", R"({"QueueName":"q"})");
        client.call("SendMessage", R"({"QueueUrl":"q","MessageBody":"m"})");
        BOOST_TEST(get("/_quern/queues").status == (on ? 200 : 400));
        if (!on) continue;
        BOOST_TEST(get("/_quern/queues").body ==
            R"({"queues":[{"name":"q","arn":"arn:aws:sqs:us-east-1:000000000000:q","visible":1,"delayed":0,)"
            R"("in_flight":0}]})");
        for (auto const* name : {"q", "arn:aws:sqs:us-east-1:000000000000:q", "http%3A%2F%2Fh%2F000000000000%2Fq"}) {
            auto const m = get("/_quern/messages?queue=" + std::string(name)).json().at("messages").at(0);
            BOOST_TEST(m.at("body").as_string() == "m");
            BOOST_TEST(m.at("state").as_string() == "visible");
            BOOST_TEST(m.at("receive_count").as_int64() == 0);
        }
        BOOST_TEST(get("/_quern/messages?queue=q&most=0").json().at("messages").as_array().empty());
        BOOST_TEST(get("/_quern/messages?queue=absent").status == 404);
        BOOST_TEST(get("/_quern/messages").status == 404);
        BOOST_TEST(client.call("ReceiveMessage", R"({"QueueUrl":"q"})").json().contains("Messages"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
