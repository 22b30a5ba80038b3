#include "server_fixture.hpp"
#include "support/presign.hpp"

#include <quern/core/detail/text/xml.hpp>

using namespace quern;
using namespace quern::test;
using namespace quern::detail;
using namespace quern::aws::detail;
using namespace std::chrono_literals;

namespace {

std::string form_text(std::string_view form, std::string_view more_headers = {})
{
    return "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\n" +
        std::string(more_headers) + "Content-Length: " + std::to_string(form.size()) + "\r\n\r\n" + std::string(form);
}

struct old_client {
    explicit old_client(broker::server_options options = running_server::unsigned_options()) : server(options) {}

    running_server server;
    raw_client client = server.connect();

    reply ask(std::string_view form, std::string_view more_headers = {})
    {
        client.send(form_text(form, more_headers));
        return client.receive();
    }

    /// The text of the answer's element at that path.
    std::string ask(std::string_view form, std::string_view path, int status)
    {
        auto const answer = ask(form);
        BOOST_TEST(answer.status == status, answer.body);
        BOOST_TEST(answer.fields.at("content-type") == "text/xml");
        auto const document = text::read_xml(answer.body);
        BOOST_REQUIRE_MESSAGE(document, answer.body);
        auto const id = document->get(status == 200 ? "ResponseMetadata/RequestId" : "RequestId");
        BOOST_TEST(id == answer.fields.at("x-amzn-requestid"));
        return document->get(path);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(server_query)

BOOST_FIXTURE_TEST_CASE(a_client_of_before_2024_sends_receives_and_deletes, old_client)
{
    BOOST_TEST(ask("Action=CreateQueue&QueueName=q&Attribute.1.Name=VisibilityTimeout&Attribute.1.Value=60",
                   "CreateQueueResult/QueueUrl", 200) == "http://h/000000000000/q");
    BOOST_TEST(ask("Action=GetQueueAttributes&QueueUrl=q&AttributeName.1=VisibilityTimeout",
                   "GetQueueAttributesResult/Attribute/Value", 200) == "60");
    BOOST_TEST(ask("Action=SendMessage&QueueUrl=q&MessageBody=a%26b&MessageAttribute.1.Name=n"
                   "&MessageAttribute.1.Value.DataType=String&MessageAttribute.1.Value.StringValue=v",
                   "SendMessageResult/MessageId", 200)
                   .size() == 36u);
    auto const got = ask("Action=ReceiveMessage&QueueUrl=q&AttributeName.1=All&MessageAttributeName.1=All");
    auto const document = text::read_xml(got.body);
    BOOST_REQUIRE(document);
    std::string const path = "ReceiveMessageResult/Message/";
    BOOST_TEST(document->get(path + "Body") == "a&b");
    BOOST_TEST(document->get(path + "MessageAttribute/Value/StringValue") == "v");
    auto const handle = uri_encode(document->get(path + "ReceiptHandle"));
    BOOST_TEST(ask("Action=DeleteMessageBatch&QueueUrl=q&DeleteMessageBatchRequestEntry.1.Id=1"
                   "&DeleteMessageBatchRequestEntry.1.ReceiptHandle=" +
                       handle,
                   "DeleteMessageBatchResult/DeleteMessageBatchResultEntry/Id", 200) == "1");
    ask("Action=DeleteQueue&QueueUrl=q", "", 200);
}

BOOST_FIXTURE_TEST_CASE(errors_tell_whose_fault_they_are, old_client)
{
    BOOST_TEST(ask("Action=PurgeQueue&QueueUrl=q", "Error/Code", 400) == "AWS.SimpleQueueService.NonExistentQueue");
    BOOST_TEST(ask("Action=PurgeQueue&QueueUrl=q", "Error/Type", 400) == "Sender");
    BOOST_TEST(ask("Action=Nothing", "Error/Code", 400) == "InvalidAction");
    BOOST_TEST(ask("Action=SendMessage&QueueUrl=q", "Error/Code", 400) == "MissingParameter");
    broker::fault_settings faults;
    faults.everywhere.access_denied = 1;
    server.set_faults(faults);
    BOOST_TEST(ask("Action=ListQueues", "Error/Code", 403) == "AccessDenied");
    faults.everywhere = {};
    faults.everywhere.throttled = 1;
    server.set_faults(faults);
    BOOST_TEST(ask("Action=ListQueues", "Error/Code", 403) == "RequestThrottled");
}

BOOST_FIXTURE_TEST_CASE(an_error_that_repeats_a_control_character_can_be_read, old_client)
{
    ask("Action=CreateQueue&QueueName=q", "", 200);
    auto const told = ask("Action=DeleteMessage&QueueUrl=q&ReceiptHandle=a%01b", "Error/Message", 404);
    BOOST_TEST(told.find(std::string("a\xEF\xBF\xBD") + 'b') != told.npos, told);
}

// The answer repeated an action of megabytes, each of its bytes as three.
BOOST_AUTO_TEST_CASE(a_form_is_not_taken_apart_before_its_signature_was_checked)
{
    old_client old{broker::server_options()};
    request_view view;
    view.method = "POST";
    view.target = "/";
    view.headers = {{"Host", "h"}, {"Content-Type", "application/x-www-form-urlencoded"}};
    signing_keys keys;
    signing_scope const scope{text::timestamp(old.server.wall()), "us-east-1", "sqs"};
    std::string signature;
    for (auto const& [name, value] : sign(view, {"quern", "quern", ""}, scope, {}, keys).added)
        signature += name + ": " + value + "\r\n";
    for (std::string form : {"Action=", "Action=SendMessage&QueueUrl=q&MessageBody="}) {
        while (form.size() < 8'000'000)
            form += "\u2028";
        auto const answer = old.ask(form, signature);
        BOOST_TEST(answer.status == 403);
        BOOST_TEST(answer.body.size() < 1024u);
    }
}

BOOST_FIXTURE_TEST_CASE(a_long_name_is_not_repeated_whole, old_client)
{
    auto const told = ask("Action=" + std::string(1000, 'x'), "Error/Message", 400);
    BOOST_TEST(told == "The action " + std::string(80, 'x') + "... is not valid for this endpoint.");
}

// As the API reference of 2012 has them.
BOOST_FIXTURE_TEST_CASE(a_single_attribute_needs_no_position_and_a_path_may_end_in_a_slash, old_client)
{
    ask("Action=CreateQueue&QueueName=MyQueue", "", 200);
    ask("Action=SetQueueAttributes&QueueUrl=MyQueue&Attribute.Name=VisibilityTimeout&Attribute.Value=35", "", 200);
    std::string const form = "Action=GetQueueAttributes&AttributeName.1=VisibilityTimeout";
    auto request = form_text(form);
    request.replace(0, std::string_view("POST /").size(), "POST /000000000000/MyQueue/");
    client.send(request);
    auto const answer = client.receive();
    BOOST_TEST(answer.status == 200, answer.body);
    BOOST_TEST(text::read_xml(answer.body).value().get("GetQueueAttributesResult/Attribute/Value") == "35");
    ask(form + "&QueueUrl=http%3A%2F%2Fh%2F000000000000%2FMyQueue%2F", "", 200);
    BOOST_TEST(ask(form + "&QueueUrl=http%3A%2F%2FMyQueue%2F", "Error/Code", 404) == "InvalidAddress");
}

// It went into the logs of clients as it was.
BOOST_FIXTURE_TEST_CASE(an_unknown_operation_is_repeated_in_printable_ascii, old_client)
{
    BOOST_TEST(ask("Action=%1b%5b2J%c3%a4%ff", "Error/Message", 400) ==
        "The action ?[2J??? is not valid for this endpoint.");
    auto const answer = client.call("\xff", "{}");
    BOOST_TEST(answer.body.find("There is no operation AmazonSQS.?.") != std::string::npos, answer.body);
}

BOOST_FIXTURE_TEST_CASE(a_long_poll_is_answered_in_the_protocol_it_was_asked_in, old_client)
{
    ask("Action=CreateQueue&QueueName=q", "", 200);
    client.send(form_text("Action=ReceiveMessage&QueueUrl=q&WaitTimeSeconds=20"));
    server.wait_for_polls(1);
    auto other = server.connect();
    other.send(request_text("SendMessage", R"({"QueueUrl":"q","MessageBody":"m"})"));
    BOOST_TEST(other.receive().status == 200);
    auto const answer = client.receive();
    BOOST_TEST(text::read_xml(answer.body).value().get("ReceiveMessageResult/Message/Body") == "m");
}

BOOST_FIXTURE_TEST_CASE(curl_may_ask_by_get_and_a_page_in_a_browser_may_not, old_client)
{
    auto const get = [&](std::string_view more) {
        client.send("GET /?Action=ListQueues HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) + "\r\n");
        return client.receive().status;
    };
    BOOST_TEST(get("") == 200);
    BOOST_TEST(get("Sec-Fetch-Site: none\r\n") == 200);
    BOOST_TEST(get("Sec-Fetch-Site: cross-site\r\n") == 403);
    BOOST_TEST(get("Origin: http://evil.example\r\n") == 403);
    // All that a browser sends over plain http to an address that is not the loopback's.
    BOOST_TEST(get("Referer: http://evil.example/\r\n") == 403);
    BOOST_TEST(get("Referer: http://localhost.evil.example/\r\n") == 403);
    BOOST_TEST(get("Referer: localhost\r\n") == 403);
    BOOST_TEST(get("Referer: http://localhost/page?a\r\n") == 200);
}

BOOST_AUTO_TEST_CASE(signatures_are_checked_in_headers_and_in_presigned_addresses)
{
    aws::credentials const known{"quern", "quern", ""};
    old_client old{broker::server_options()};
    BOOST_TEST(old.ask("Action=ListQueues", "Error/Code", 403) == "MissingAuthenticationToken");

    request_view view;
    view.method = "GET";
    view.target = "/?Action=CreateQueue&QueueName=q";
    view.headers = {{"Host", "h"}};
    signing_keys keys;
    signing_scope const scope{text::timestamp(old.server.wall()), "eu-west-1", "sqs"};
    auto const target = presign(view, known, scope, {}, 60s, keys).target;
    auto const status = [&](std::string_view path, std::string_view more = {}) {
        old.client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(more) + "\r\n");
        return old.client.receive().status;
    };
    // Keys that everybody knows: a page can sign the address of a picture, and so purge a queue.
    BOOST_TEST(status(target, "Sec-Fetch-Site: cross-site\r\n") == 403);
    BOOST_TEST(status(target, "Origin: http://evil.example\r\n") == 403);
    BOOST_TEST(status(target, "Referer: http://evil.example/h\r\n") == 403);
    BOOST_TEST(status(target) == 200);
    BOOST_TEST(status(target + "&Attribute.1.Name=DelaySeconds&Attribute.1.Value=5") == 403);
    auto const region = old.server.on_server([&] {
        auto& queues = old.server.server().queues();
        queues.set_caller({"eu-west-1", "", ""});
        return queues.list_queues({}, old.server.server().now())->queue_urls.size();
    });
    BOOST_TEST(region == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
