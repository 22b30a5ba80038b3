#include "server_fixture.hpp"

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view create_q = R"({"QueueName":"q"})";

std::string send_text(std::string_view body)
{
    return request_text("SendMessage", R"({"QueueUrl":"q","MessageBody":")" + std::string(body) + "\"}");
}

std::string first_body(reply const& answer)
{
    return std::string(answer.json().at("Messages").at(0).at("Body").as_string());
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_http)

BOOST_AUTO_TEST_CASE(an_answer_has_the_headers_of_the_service)
{
    running_server s;
    auto client = s.connect();
    auto const answer = client.call("CreateQueue", create_q);
    BOOST_TEST(answer.status == 200);
    BOOST_TEST(answer.fields.at("content-type") == "application/x-amz-json-1.0");
    BOOST_TEST(answer.fields.at("x-amzn-requestid").size() == 36u);
    BOOST_TEST(answer.fields.at("date").ends_with(" GMT"));
    BOOST_TEST(answer.fields.count("x-amzn-query-error") == 0u);
    BOOST_TEST(answer.fields.count("connection") == 0u);
    BOOST_TEST(answer.body == R"({"QueueUrl":"http://broker.test:9324/000000000000/q"})");

    auto const removed = client.call("DeleteQueue", R"({"QueueUrl":"q"})");
    BOOST_TEST(removed.status == 200);
    BOOST_TEST(removed.body.empty());
}

BOOST_AUTO_TEST_CASE(queue_urls_have_the_origin_by_which_the_broker_was_reached)
{
    running_server s;
    auto client = s.connect();
    client.call("CreateQueue", create_q);
    client.call("CreateQueue", R"({"QueueName":"source","Attributes":{"RedrivePolicy":
        "{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:q\",\"maxReceiveCount\":3}"}})");
    BOOST_TEST(
        client.call("GetQueueUrl", create_q).body == R"({"QueueUrl":"http://broker.test:9324/000000000000/q"})");
    BOOST_TEST(client.call("ListQueues", "").body ==
        R"({"QueueUrls":["http://broker.test:9324/000000000000/q",)"
        R"("http://broker.test:9324/000000000000/source"]})");
    BOOST_TEST(client.call("ListDeadLetterSourceQueues", R"({"QueueUrl":"q"})").body ==
        R"({"queueUrls":["http://broker.test:9324/000000000000/source"]})");

    client.send("POST / HTTP/1.1\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: 0\r\n\r\n");
    auto const without_host = client.receive().json().at("QueueUrls").at(0);
    BOOST_TEST(without_host.as_string() == "http://127.0.0.1:" + std::to_string(s.port()) + "/000000000000/q");
}

BOOST_AUTO_TEST_CASE(a_queue_is_named_by_url_of_any_host_or_by_its_bare_name_and_the_path_does_not_matter)
{
    running_server s;
    auto client = s.connect();
    client.call("CreateQueue", create_q);
    for (std::string const url :
        {"https://sqs.eu-west-1.amazonaws.com/000000000000/q", "http://localhost:1/000000000000/q", "q"})
        BOOST_TEST(client.call("GetQueueAttributes", R"({"QueueUrl":")" + url + "\"}").status == 200, url);

    auto text = request_text("ListQueues", "");
    text.replace(0, 6, "POST /000000000000/q?x=1");
    client.send(text);
    BOOST_TEST(client.receive().status == 200);
}

BOOST_AUTO_TEST_CASE(a_request_may_arrive_in_two_pieces_cut_anywhere)
{
    running_server s;
    auto client = s.connect();
    client.call("CreateQueue", create_q);
    auto const text = send_text("split");
    for (std::size_t cut = 1; cut != text.size(); ++cut) {
        client.send(std::string_view(text).substr(0, cut));
        s.counters(); // a turn of the server's loop: it has seen the first piece
        client.send(std::string_view(text).substr(cut));
        BOOST_REQUIRE_MESSAGE(client.receive().status == 200, cut);
    }
    BOOST_TEST(s.counters().connections == 1u);
}

BOOST_AUTO_TEST_CASE(a_request_may_arrive_byte_by_byte)
{
    running_server s;
    auto client = s.connect();
    for (char const c : request_text("CreateQueue", create_q))
        client.send({&c, 1});
    BOOST_TEST(client.receive().status == 200);
}

BOOST_AUTO_TEST_CASE(pipelined_requests_are_answered_in_order)
{
    running_server s;
    auto client = s.connect();
    auto text = request_text("CreateQueue", create_q);
    for (int i = 0; i != 300; ++i)
        text += send_text(std::to_string(i));
    text += request_text("NoSuchOperation", "{}");
    text +=
        request_text("GetQueueAttributes", R"({"QueueUrl":"q","AttributeNames":["ApproximateNumberOfMessages"]})");
    client.send(text);
    BOOST_TEST(client.receive().status == 200);
    for (int i = 0; i != 300; ++i)
        BOOST_REQUIRE(client.receive().json().contains("MD5OfMessageBody"));
    BOOST_TEST(client.receive().status == 400);
    BOOST_TEST(client.receive().body == R"({"Attributes":{"ApproximateNumberOfMessages":"300"}})");
}

BOOST_AUTO_TEST_CASE(a_pipelined_request_waits_for_the_long_poll_before_it)
{
    running_server s;
    auto client = s.connect();
    client.call("CreateQueue", create_q);
    client.send(request_text("ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":20})") + send_text("late"));
    s.wait_for_polls(1);
    auto other = s.connect();
    other.send(send_text("first"));
    BOOST_TEST(other.receive().status == 200);
    BOOST_TEST(first_body(client.receive()) == "first");
    BOOST_TEST(client.receive().json().contains("MessageId"));
}

BOOST_AUTO_TEST_CASE(a_client_that_asks_whether_to_continue_is_told_so_and_then_answered)
{
    running_server s;
    auto client = s.connect();
    auto const text = request_text("CreateQueue", create_q, "Expect: 100-continue\r\n");
    auto const body_at = text.find("\r\n\r\n") + 4;
    client.send(text.substr(0, body_at));
    BOOST_TEST(client.receive().status == 100);
    client.send(text.substr(body_at));
    BOOST_TEST(client.receive().status == 200);

    client.send(text); // does not wait: nothing to tell
    BOOST_TEST(client.receive().status == 200);
}

BOOST_AUTO_TEST_CASE(the_client_decides_whether_the_connection_stays_open)
{
    running_server s;
    {
        auto client = s.connect();
        auto const answer = client.call("ListQueues", "", "Connection: close\r\n");
        BOOST_TEST(answer.status == 200);
        BOOST_TEST(answer.fields.at("connection") == "close");
        BOOST_TEST(client.is_closed());
    }
    {
        auto client = s.connect();
        client.send("GET /health HTTP/1.0\r\n\r\n");
        BOOST_TEST(client.receive().fields.at("connection") == "close");
        BOOST_TEST(client.is_closed());
    }
}

BOOST_AUTO_TEST_CASE(health_is_told_without_a_signature)
{
    running_server s{broker::server_options()};
    auto client = s.connect();
    client.send("GET /health HTTP/1.1\r\nHost: h\r\n\r\n");
    auto const answer = client.receive();
    BOOST_TEST(answer.status == 200);
    BOOST_TEST(answer.body == "ok\n");

    client.send("HEAD /health HTTP/1.1\r\nHost: h\r\n\r\nHEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    BOOST_TEST(client.receive().status == 200);
    BOOST_TEST(client.receive().status == 400);
}

BOOST_AUTO_TEST_CASE(requests_of_no_operation_are_told_so)
{
    running_server s;
    auto client = s.connect();
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    auto const none = client.receive();
    BOOST_TEST(none.status == 400);
    BOOST_TEST(none.type() == "com.amazon.coral.service#UnknownOperationException");
    BOOST_TEST(none.message().find("No operation is named") == 0u);
    BOOST_TEST(none.fields.at("x-amzn-query-error") == "InvalidAction;Sender");

    for (auto const* const operation : {"NoSuchOperation", "", "sendmessage", "SendMessageX"}) {
        auto const unknown = client.call(operation, "{}");
        BOOST_TEST(unknown.status == 400);
        BOOST_TEST(unknown.message().find("There is no operation") == 0u);
    }
    client.send("POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: DynamoDB_20120810.GetItem\r\nContent-Length: 0\r\n\r\n");
    BOOST_TEST(client.receive().status == 400);
}

BOOST_AUTO_TEST_CASE(garbage_is_answered_with_400_and_the_connection_closed)
{
    running_server s;
    for (auto const& text : {std::string("garbage\r\n\r\n"), std::string("GET / HTTP/2.0\r\n\r\n"),
             std::string("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n"),
             std::string("POST / HTTP/1.1\r\nno colon\r\n\r\n"),
             std::string("POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
             std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15)}) {
        auto client = s.connect();
        client.send(text);
        auto const answer = client.receive();
        BOOST_TEST(answer.status == 400);
        BOOST_TEST(answer.type() == "com.amazon.coral.service#SerializationException");
        client.close_for_writing();
        BOOST_TEST(client.is_closed());
    }
    BOOST_TEST(s.connect().call("ListQueues", "").status == 200);
}

BOOST_AUTO_TEST_CASE(a_good_request_before_garbage_is_still_answered)
{
    running_server s;
    auto client = s.connect();
    client.send(request_text("ListQueues", "") + "\x01\x02\x03\r\n\r\n");
    BOOST_TEST(client.receive().status == 200);
    BOOST_TEST(client.receive().status == 400);
}

BOOST_AUTO_TEST_CASE(headers_beyond_the_limit_are_refused_also_when_they_come_piece_by_piece)
{
    running_server s;
    auto const refused = [&](bool in_pieces) {
        auto client = s.connect();
        client.send("POST / HTTP/1.1\r\n");
        for (int i = 0; i != 40; ++i) {
            client.send("X-Filler-" + std::to_string(i) + ": " + std::string(1000, 'x') + "\r\n");
            if (in_pieces) s.counters();
        }
        client.close_for_writing();
        return client.receive().status;
    };
    BOOST_TEST(refused(false) == 431);
    BOOST_TEST(refused(true) == 431);

    auto client = s.connect();
    client.send("POST / HTTP/1.1\r\nX-Long: " + std::string(20'000, 'x'));
    BOOST_TEST(client.receive().status == 431);
}

BOOST_AUTO_TEST_CASE(a_body_beyond_the_limit_is_refused_before_it_is_read)
{
    running_server s;
    {
        auto client = s.connect();
        client.send("POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nExpect: 100-continue\r\n"
                    "Content-Length: 16777217\r\n\r\n");
        auto const answer = client.receive();
        BOOST_TEST(answer.status == 413);
        BOOST_TEST(answer.fields.at("connection") == "close");
    }
    { // and a client that sends it all the same can read why
        auto client = s.connect();
        client.send("POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.SendMessage\r\n"
                    "Content-Length: 16777217\r\n\r\n" +
            std::string(16'777'217, 'x'));
        BOOST_TEST(client.receive().status == 413);
        client.close_for_writing();
        BOOST_TEST(client.is_closed());
    }
    {
        auto client = s.connect();
        client.send(
            "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nTransfer-Encoding: chunked\r\n\r\n"
            "1000001\r\n");
        BOOST_TEST(client.receive().status == 413);
    }
}

BOOST_AUTO_TEST_CASE(the_largest_message_escaped_to_ascii_goes_in_and_comes_out)
{
    running_server s;
    auto client = s.connect();
    client.call("CreateQueue", create_q);
    std::string escaped;
    for (int i = 0; i != 524'288; ++i)
        escaped += "\\u00e9";
    client.send(send_text(escaped));
    BOOST_TEST(client.receive().status == 200);
    auto const body = first_body(client.call("ReceiveMessage", R"({"QueueUrl":"q"})"));
    BOOST_TEST(body.size() == 1'048'576u);
    BOOST_TEST(body.substr(0, 4) == "\xc3\xa9\xc3\xa9");

    client.send(send_text(std::string(1'048'577, 'x')));
    BOOST_TEST(client.receive().message() ==
        "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.");
}

BOOST_AUTO_TEST_CASE(a_client_that_hangs_up_in_the_middle_of_a_request_leaves_nothing_behind)
{
    running_server s;
    auto const text = send_text("cut");
    s.connect().call("CreateQueue", create_q);
    for (std::size_t cut = 0; cut < text.size(); cut += 7) {
        for (bool const reset : {false, true}) {
            auto client = s.connect();
            client.send(std::string_view(text).substr(0, cut));
            if (reset) client.linger_off();
        }
    }
    s.wait_for_connections(0);
    auto client = s.connect();
    auto const depth =
        client.call("GetQueueAttributes", R"({"QueueUrl":"q","AttributeNames":["ApproximateNumberOfMessages"]})");
    BOOST_TEST(depth.body == R"({"Attributes":{"ApproximateNumberOfMessages":"0"}})");
}

BOOST_AUTO_TEST_CASE(a_client_that_has_finished_writing_still_gets_its_answer)
{
    running_server s;
    auto client = s.connect();
    client.send(request_text("ListQueues", ""));
    client.close_for_writing();
    BOOST_TEST(client.receive().status == 200);
    BOOST_TEST(client.is_closed());
}

BOOST_AUTO_TEST_CASE(answers_larger_than_the_sockets_buffers_wait_for_a_slow_reader)
{
    running_server s;
    auto client = s.connect();
    client.call("CreateQueue", create_q);
    for (int i = 0; i != 10; ++i) {
        client.send(send_text(std::string(100'000, 'x')));
        client.receive();
    }
    std::string text;
    for (int i = 0; i != 40; ++i)
        text += request_text("ReceiveMessage", R"({"QueueUrl":"q","MaxNumberOfMessages":10,"VisibilityTimeout":0})");
    client.send(text);
    s.counters();
    for (int i = 0; i != 40; ++i) {
        auto const answer = client.receive();
        BOOST_REQUIRE(answer.json().at("Messages").as_array().size() == 10u);
    }
}

BOOST_AUTO_TEST_CASE(what_happens_is_counted_and_told_to_the_access_log)
{
    std::vector<std::string> lines; // written on the server's thread, read when that has ended
    {
        auto options = running_server::unsigned_options();
        options.access_log = [&](broker::access_record const& r) {
            auto const peer = r.peer.starts_with("127.0.0.1:") ? "" : "from elsewhere: ";
            lines.push_back(peer + std::string(r.operation) + ' ' + std::to_string(r.status) + ' ' +
                std::string(r.error_code) + ' ' + std::to_string(r.request_bytes) + ' ' +
                std::to_string(r.answer_bytes) + ' ' + std::to_string(r.request_id.size()));
        };
        running_server s(options);
        auto client = s.connect();
        client.call("CreateQueue", create_q);
        client.call("ReceiveMessage", R"({"QueueUrl":"q"})");
        client.call("ReceiveMessage", R"({"QueueUrl":"none"})");
        client.send("GET /health HTTP/1.1\r\nHost: h\r\n\r\n");
        client.receive();

        auto const counters = s.counters();
        BOOST_TEST(counters.connections == 1u);
        BOOST_TEST(counters.open_connections == 1u);
        BOOST_TEST(counters.errors == 1u);
        BOOST_TEST(counters.requests.size() == 2u);
        BOOST_TEST(counters.requests.at("CreateQueue") == 1u);
        BOOST_TEST(counters.requests.at("ReceiveMessage") == 2u);
    }
    BOOST_TEST(lines ==
            (std::vector<std::string>{"CreateQueue 200  17 53 36", "ReceiveMessage 200  16 2 36",
                "ReceiveMessage 400 AWS.SimpleQueueService.NonExistentQueue 19 96 36", " 200  0 3 36"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
