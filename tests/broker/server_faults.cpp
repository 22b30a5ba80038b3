#include "server_fixture.hpp"

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view send_body = R"({"QueueUrl":"q","MessageBody":"hello"})";

struct faulty {
    running_server server;
    raw_client client = server.connect();

    faulty() { client.call("CreateQueue", R"({"QueueName":"q"})"); }

    void hit(double broker::fault_rates::*chance, std::string const& operation = "SendMessage",
        broker::fault_rates rates = {})
    {
        rates.*chance = 1;
        broker::fault_settings settings;
        settings.by_operation[operation] = rates;
        server.set_faults(settings);
    }
    std::string sent()
    {
        auto const answer = server.connect().call(
            "GetQueueAttributes", R"({"QueueUrl":"q","AttributeNames":["ApproximateNumberOfMessages"]})");
        return std::string(answer.json().at("Attributes").at("ApproximateNumberOfMessages").as_string());
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(server_faults)

BOOST_FIXTURE_TEST_CASE(throttling_answers_403_and_carries_nothing_out, faulty)
{
    hit(&broker::fault_rates::throttled);
    auto const answer = client.call("SendMessage", send_body);
    BOOST_TEST(answer.status == 403);
    BOOST_TEST(answer.type() == "com.amazonaws.sqs#RequestThrottled");
    BOOST_TEST(answer.fields.at("x-amzn-query-error") == "RequestThrottled;Sender");
    BOOST_TEST(client.call("ListQueues", "").status == 200); // only the operation that was named
    BOOST_TEST(sent() == "0");
    BOOST_TEST(server.counters().faults == 1u);
}

BOOST_FIXTURE_TEST_CASE(access_is_denied_on_demand, faulty)
{
    hit(&broker::fault_rates::access_denied);
    auto const answer = client.call("SendMessage", send_body);
    BOOST_TEST(answer.status == 403);
    BOOST_TEST(answer.type() == "com.amazon.coral.service#AccessDeniedException");
    BOOST_TEST(answer.fields.at("x-amzn-query-error") == "AccessDenied;Sender");
    BOOST_TEST(sent() == "0");
}

BOOST_FIXTURE_TEST_CASE(server_errors_come_as_json_and_as_a_page_of_html, faulty)
{
    hit(&broker::fault_rates::server_error);
    int unavailable = 0, failures = 0, pages = 0;
    for (int i = 0; i != 40; ++i) {
        auto const answer = client.call("SendMessage", send_body);
        if (answer.status == 503) {
            ++unavailable;
            BOOST_TEST(answer.type() == "com.amazon.coral.service#ServiceUnavailableException");
            BOOST_TEST(answer.fields.at("x-amzn-query-error") == "ServiceUnavailable;Receiver");
        } else if (answer.fields.at("content-type") == "text/html") {
            ++pages;
            BOOST_TEST(answer.status == 500);
            BOOST_TEST(answer.body.starts_with("<html>"));
        } else {
            ++failures;
            BOOST_TEST(answer.status == 500);
            BOOST_TEST(answer.type() == "com.amazon.coral.service#InternalFailure");
        }
    }
    BOOST_TEST(unavailable > 0);
    BOOST_TEST(failures > 0);
    BOOST_TEST(pages > 0);
    BOOST_TEST(sent() == "0");
}

BOOST_FIXTURE_TEST_CASE(a_connection_dropped_before_has_carried_nothing_out, faulty)
{
    hit(&broker::fault_rates::dropped_before);
    client.send(request_text("SendMessage", send_body));
    BOOST_TEST(client.is_closed());
    BOOST_TEST(sent() == "0");
}

BOOST_FIXTURE_TEST_CASE(a_connection_dropped_after_has_carried_it_out, faulty)
{
    hit(&broker::fault_rates::dropped_after);
    client.send(request_text("ListQueues", "") + request_text("SendMessage", send_body));
    BOOST_TEST(client.receive().status == 200); // what came before is answered
    BOOST_TEST(client.is_closed());
    BOOST_TEST(sent() == "1");
}

BOOST_FIXTURE_TEST_CASE(a_long_poll_may_be_dropped_with_the_message_that_ended_it, faulty)
{
    hit(&broker::fault_rates::dropped_after, "ReceiveMessage");
    client.send(request_text("ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":20})"));
    server.wait_for_polls(1);
    auto other = server.connect();
    BOOST_TEST(other.call("SendMessage", send_body).status == 200);
    BOOST_TEST(client.is_closed());
    BOOST_TEST(sent() == "0"); // in flight
}

BOOST_FIXTURE_TEST_CASE(a_half_open_connection_never_answers_and_never_closes, faulty)
{
    hit(&broker::fault_rates::half_open);
    client.send(request_text("SendMessage", send_body));
    client.send(request_text("ListQueues", "")); // goes unanswered too
    while (sent() != "1") {
    }
    server.advance(24h);
    BOOST_TEST(server.counters().open_connections >= 1u);
    auto stopped = server.begin_stop(1h);
    BOOST_TEST(client.is_closed()); // it got nothing, and stopping does not wait for it
    stopped.get();
}

BOOST_FIXTURE_TEST_CASE(a_half_open_connection_ends_with_its_client, faulty)
{
    hit(&broker::fault_rates::half_open, "ReceiveMessage");
    client.send(request_text("ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":20})"));
    server.wait_for_polls(1);
    client.close();
    server.wait_for_connections(0);
}

BOOST_FIXTURE_TEST_CASE(a_truncated_answer_breaks_off_in_its_body_or_its_head, faulty)
{
    hit(&broker::fault_rates::truncated);
    client.send(request_text("SendMessage", send_body));
    auto const text = client.rest();
    BOOST_TEST(text.find("\"MessageId\"") != std::string::npos);
    BOOST_TEST(!text.ends_with('}'));
    auto const length = std::stoul(text.substr(text.find("Content-Length: ") + 16));
    BOOST_TEST(text.size() - text.find("\r\n\r\n") - 4 < length);
    BOOST_TEST(sent() == "1");

    hit(&broker::fault_rates::truncated, "DeleteQueue");
    auto other = server.connect();
    other.send(request_text("DeleteQueue", R"({"QueueUrl":"q"})"));
    BOOST_TEST(other.rest().find("\r\n\r\n") == std::string::npos); // no body: the head lacks its end
}

BOOST_FIXTURE_TEST_CASE(a_slow_answer_trickles, faulty)
{
    broker::fault_rates rates;
    rates.slow_bytes_per_second = 1000;
    hit(&broker::fault_rates::slow, "SendMessage", rates);
    client.send(request_text("SendMessage", send_body));
    int tenths = 0;
    for (; server.counters().errors == 0 && tenths != 3; ++tenths)
        server.advance(100ms);
    auto other = server.connect();
    BOOST_TEST(other.call("ListQueues", "").status == 200); // nobody else is held up

    auto answered = std::async(std::launch::async, [this] { return client.receive(); });
    while (answered.wait_for(0s) != std::future_status::ready) {
        server.advance(100ms);
        ++tenths;
    }
    auto const answer = answered.get();
    BOOST_TEST(answer.status == 200);
    BOOST_TEST(answer.json().contains("MessageId"));
    BOOST_TEST(tenths >= 3); // 300 bytes and more at 100 a tenth
}

BOOST_FIXTURE_TEST_CASE(latency_holds_back_the_answer_and_not_the_deed, faulty)
{
    broker::fault_rates rates;
    rates.latency_min = rates.latency_max = 500ms;
    hit(&broker::fault_rates::latency, "SendMessage", rates);
    client.send(request_text("SendMessage", send_body));
    while (sent() != "1") {
    }
    auto answered = std::async(std::launch::async, [this] { return client.receive(); });
    server.advance(499ms);
    auto const open = server.counters().open_connections;
    auto const early = answered.wait_for(0s) == std::future_status::ready;
    server.advance(1ms);
    auto const answer = answered.get(); // only then: one thread at a time may test
    BOOST_TEST(answer.status == 200);
    BOOST_TEST(open >= 1u);
    BOOST_TEST(!early);
    BOOST_TEST(server.counters().faults == 0u);
}

BOOST_FIXTURE_TEST_CASE(stopping_cuts_faults_short_at_its_limit, faulty)
{
    broker::fault_rates rates;
    rates.latency_min = rates.latency_max = 1h;
    hit(&broker::fault_rates::latency, "SendMessage", rates);
    client.send(request_text("SendMessage", send_body));
    while (sent() != "1") {
    }
    server.stop(0ms);
    BOOST_TEST(client.is_closed());
}

BOOST_AUTO_TEST_SUITE_END()
