#include "server_fixture.hpp"

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view long_poll = R"({"QueueUrl":"q","WaitTimeSeconds":20})";

struct polled {
    running_server server;
    raw_client client = server.connect();
    raw_client sender = server.connect();

    explicit polled(broker::server_options options = running_server::unsigned_options()) : server(std::move(options))
    {
        sender.call("CreateQueue", R"({"QueueName":"q"})");
    }

    void send(std::string_view body)
    {
        BOOST_TEST(
            sender.call("SendMessage", R"({"QueueUrl":"q","MessageBody":")" + std::string(body) + "\"}").status ==
            200);
    }
    void park(raw_client& who)
    {
        auto const before = server.counters().parked_polls;
        who.send(request_text("ReceiveMessage", long_poll));
        server.wait_for_polls(before + 1);
    }
    std::string in_flight()
    {
        auto const answer = sender.call(
            "GetQueueAttributes", R"({"QueueUrl":"q","AttributeNames":["ApproximateNumberOfMessagesNotVisible"]})");
        return std::string(answer.json().at("Attributes").at("ApproximateNumberOfMessagesNotVisible").as_string());
    }
};

struct polled_kindly : polled {
    polled_kindly() : polled(options()) {}
    static broker::server_options options()
    {
        auto out = running_server::unsigned_options();
        out.cancel_polls_on_disconnect = true;
        return out;
    }
};

std::string body_of(reply const& answer)
{
    return std::string(answer.json().at("Messages").at(0).at("Body").as_string());
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_polls)

BOOST_FIXTURE_TEST_CASE(a_long_poll_is_answered_when_a_message_arrives, polled)
{
    park(client);
    send("hello");
    BOOST_TEST(body_of(client.receive()) == "hello");
    BOOST_TEST(server.counters().parked_polls == 0u);
}

BOOST_FIXTURE_TEST_CASE(polls_are_answered_in_the_order_in_which_they_came, polled)
{
    auto second = server.connect();
    park(client);
    park(second);
    send("1");
    BOOST_TEST(body_of(client.receive()) == "1");
    BOOST_TEST(server.counters().parked_polls == 1u);
    send("2");
    BOOST_TEST(body_of(second.receive()) == "2");
}

BOOST_FIXTURE_TEST_CASE(a_long_poll_ends_empty_at_its_time_and_not_before, polled)
{
    park(client);
    server.advance(19s);
    BOOST_TEST(server.counters().parked_polls == 1u);
    server.advance(1s);
    auto const answer = client.receive();
    BOOST_TEST(answer.status == 200);
    BOOST_TEST(answer.body == "{}");
    park(client); // and the connection goes on
}

BOOST_FIXTURE_TEST_CASE(time_alone_ends_a_long_poll_with_a_message, polled)
{
    sender.call("SendMessage", R"({"QueueUrl":"q","MessageBody":"delayed","DelaySeconds":10})");
    park(client);
    server.advance(10s);
    BOOST_TEST(body_of(client.receive()) == "delayed");

    park(client); // now in flight for 30 s
    server.advance(20s);
    BOOST_TEST(client.receive().body == "{}");
    park(client);
    server.advance(10s);
    BOOST_TEST(body_of(client.receive()) == "delayed");
}

BOOST_FIXTURE_TEST_CASE(an_earlier_event_brings_the_timer_forward, polled)
{
    park(client); // the timer is set for 20 s
    auto second = server.connect();
    second.send(request_text("ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":1})"));
    server.wait_for_polls(2);
    server.advance(1s);
    BOOST_TEST(second.receive().body == "{}");
    BOOST_TEST(server.counters().parked_polls == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_long_poll_on_a_queue_that_is_deleted_fails, polled)
{
    park(client);
    sender.call("DeleteQueue", R"({"QueueUrl":"q"})");
    auto const answer = client.receive();
    BOOST_TEST(answer.status == 400);
    BOOST_TEST(answer.type() == "com.amazonaws.sqs#QueueDoesNotExist");
    BOOST_TEST(answer.fields.at("x-amzn-query-error") == "AWS.SimpleQueueService.NonExistentQueue;Sender");
}

// SQS itself: a message that arrives for a poll whose caller is gone is in flight, seen by nobody.
BOOST_FIXTURE_TEST_CASE(a_message_for_a_caller_that_has_hung_up_is_stranded_until_its_visibility_timeout, polled)
{
    park(client);
    client.close();
    send("stranded");
    BOOST_TEST(in_flight() == "1");
    BOOST_TEST(sender.call("ReceiveMessage", R"({"QueueUrl":"q"})").body == "{}");
    server.advance(30s);
    auto const again =
        sender.call("ReceiveMessage", R"({"QueueUrl":"q","AttributeNames":["ApproximateReceiveCount"]})");
    BOOST_TEST(body_of(again) == "stranded");
    BOOST_TEST(again.json().at("Messages").at(0).at("Attributes").at("ApproximateReceiveCount").as_string() == "2");
}

BOOST_FIXTURE_TEST_CASE(a_caller_that_has_hung_up_gives_its_connection_back, polled)
{
    park(client);
    client.close();
    server.wait_for_connections(1);
    BOOST_TEST(server.counters().parked_polls == 0u);
    send("stranded"); // to the poll, which goes on
    BOOST_TEST(in_flight() == "1");
}

// The steady clock stands still meanwhile: all timestamps were old until a restart.
BOOST_FIXTURE_TEST_CASE(after_the_machine_has_slept_the_time_is_right, polled)
{
    sender.call("SendMessage", R"({"QueueUrl":"q","MessageBody":"delayed","DelaySeconds":600})");
    park(client);
    server.suspend(1h);
    auto const got = sender.call("ReceiveMessage", R"({"QueueUrl":"q","AttributeNames":["SentTimestamp"]})");
    BOOST_TEST(body_of(got) == "delayed");
    BOOST_TEST(client.receive().body == "{}"); // its time was over before
    auto const now = [&] { return server.on_server([&] { return server.server().now(); }); };
    BOOST_TEST((now() == server.wall()));
    server.suspend(-2h); // the calendar is put back
    BOOST_TEST((now() == server.wall() + 2h));
    server.advance(5s);
    BOOST_TEST((now() == server.wall() + 2h));
}

BOOST_FIXTURE_TEST_CASE(a_caller_that_has_hung_up_can_be_forgotten, polled_kindly)
{
    park(client);
    client.close();
    server.wait_for_polls(0);
    send("safe");
    BOOST_TEST(in_flight() == "0");
    BOOST_TEST(body_of(sender.call("ReceiveMessage", R"({"QueueUrl":"q"})")) == "safe");
}

BOOST_FIXTURE_TEST_CASE(a_request_sent_early_is_no_hanging_up, polled_kindly)
{
    park(client);
    client.send(request_text("ListQueues", ""));
    server.counters();
    send("hello");
    BOOST_TEST(body_of(client.receive()) == "hello");
    BOOST_TEST(client.receive().json().contains("QueueUrls"));
}

BOOST_FIXTURE_TEST_CASE(a_second_long_poll_of_a_connection_is_watched_as_the_first_was, polled_kindly)
{
    park(client);
    send("1");
    BOOST_TEST(body_of(client.receive()) == "1");
    park(client);
    client.close();
    server.wait_for_polls(0);
}

BOOST_FIXTURE_TEST_CASE(stopping_answers_long_polls_as_empty_and_strands_nothing, polled)
{
    park(client);
    auto stopped = server.begin_stop(1h);
    auto const answer = client.receive();
    BOOST_TEST(answer.status == 200);
    BOOST_TEST(answer.body == "{}");
    BOOST_TEST(answer.fields.at("connection") == "close");
    BOOST_TEST(client.is_closed());
    BOOST_TEST(sender.is_closed()); // was idle
    stopped.get();
    BOOST_TEST(server.counters().open_connections == 0u);
    BOOST_CHECK_THROW(server.connect(), boost::system::system_error);
}

BOOST_FIXTURE_TEST_CASE(stopping_waits_for_a_request_that_is_half_here, polled)
{
    auto const text = request_text("ListQueues", "");
    client.send(text.substr(0, 20));
    server.counters();
    auto stopped = server.begin_stop(1h);
    BOOST_TEST(sender.is_closed()); // so the stop has begun
    client.send(text.substr(20));
    auto const answer = client.receive();
    BOOST_TEST(answer.status == 200);
    BOOST_TEST(answer.fields.at("connection") == "close");
    stopped.get();
}

BOOST_FIXTURE_TEST_CASE(stopping_cuts_what_is_left_at_its_limit, polled)
{
    client.send("POST / HT");
    server.counters();
    auto stopped = server.begin_stop(10s);
    BOOST_TEST(sender.is_closed());
    server.advance(9s);
    BOOST_TEST(server.counters().open_connections == 1u);
    server.advance(1s);
    stopped.get();
    BOOST_TEST(client.is_closed());
}

BOOST_AUTO_TEST_CASE(a_server_may_go_while_clients_wait)
{
    boost::asio::io_context io;
    auto server = std::make_unique<broker::server>(io.get_executor(), [] {
        auto options = running_server::under_test_names(running_server::unsigned_options());
        options.port = 0;
        return options;
    }());
    server->listen().value();
    raw_client idle(server->port()), polling(server->port());
    polling.send(request_text("CreateQueue", R"({"QueueName":"q"})") + request_text("ReceiveMessage", long_poll));
    while (server->counters().parked_polls == 0)
        io.run_one();
    server.reset();
    io.run(); // nothing keeps it: all ends
    BOOST_TEST(polling.receive().status == 200);
    BOOST_TEST(polling.is_closed());
    BOOST_TEST(idle.is_closed());
}

BOOST_AUTO_TEST_CASE(an_io_context_may_go_while_clients_wait)
{
    boost::asio::io_context io;
    auto options = running_server::under_test_names(running_server::unsigned_options());
    options.port = 0;
    broker::server server(io.get_executor(), options);
    server.listen().value();
    raw_client polling(server.port());
    polling.send(request_text("CreateQueue", R"({"QueueName":"q"})") + request_text("ReceiveMessage", long_poll));
    while (server.counters().parked_polls == 0)
        io.run_one();
    // server, then io: frames are destroyed where they wait
}

BOOST_AUTO_TEST_SUITE_END()
