#include <quern/broker/door.hpp>

#include "paper_journal.hpp"
#include "server_fixture.hpp"
#include "support/socket_client.hpp"

#include <list>
#include <optional>

using namespace quern;
using namespace quern::test;

// No answer leaves before the journal has what it says.

namespace {

constexpr std::string_view message = R"({"QueueUrl":"q","MessageBody":"x"})";

struct keeping_server {
    paper_journal paper;
    std::vector<std::string> failures;
    running_server server{options()};
    raw_client client = server.connect();

    keeping_server()
    {
        server.on_server([this] { server.server().queues().keep_in(paper, server.server().now()).value(); });
        client.call("CreateQueue", R"({"QueueName":"q"})");
    }

    broker::server_options options()
    {
        auto out = running_server::unsigned_options();
        out.journal_failed = [this](failure const& why) { failures.push_back(why.message); };
        return out;
    }
    int commits()
    {
        return server.on_server([this] { return paper.commits; });
    }
    void break_journal()
    {
        server.on_server([this] { paper.broken = true; });
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(server_keeping)

BOOST_FIXTURE_TEST_CASE(what_was_answered_is_kept, keeping_server)
{
    BOOST_TEST(client.call("SendMessage", message).status == 200);
    BOOST_TEST(server.on_server([this] { return paper.messages(); }) == 1u);
    auto const before = commits();
    BOOST_TEST(client.call("GetQueueUrl", R"({"QueueName":"q"})").status == 200);
    BOOST_TEST(commits() == before); // nothing had changed
}

BOOST_FIXTURE_TEST_CASE(requests_that_arrive_together_share_a_commit, keeping_server)
{
    std::list<raw_client> clients;
    for (int i = 0; i != 20; ++i)
        clients.emplace_back(server.port());
    server.wait_for_connections(21);
    auto const before = commits();
    server.on_server([&] {
        for (auto& c : clients)
            c.send(request_text("SendMessage", message));
    });
    for (auto& c : clients)
        BOOST_TEST(c.receive().status == 200);
    BOOST_TEST(server.on_server([this] { return paper.messages(); }) == 20u);
    BOOST_TEST(commits() - before <= 4);
}

BOOST_FIXTURE_TEST_CASE(nobody_is_answered_when_the_journal_fails_and_the_server_says_so_once, keeping_server)
{
    auto other = server.connect();
    other.call("GetQueueUrl", R"({"QueueName":"q"})");
    break_journal();
    client.send(request_text("SendMessage", message));
    BOOST_TEST(client.is_closed());
    BOOST_TEST(other.is_closed());
    BOOST_TEST(server.on_server([this] { return failures; }) == std::vector<std::string>{"no room left"},
        boost::test_tools::per_element());
}

// The server took what the door could not keep for kept, and answered others.
BOOST_FIXTURE_TEST_CASE(an_action_from_the_page_that_cannot_be_kept_ends_the_server_too, keeping_server)
{
    std::optional<broker::door> door;
    server.on_server([&] {
        broker::door_options how;
        how.admin = true;
        door.emplace(server.server(), how);
        door->listen().value();
    });
    socket_client asks(door->port());
    asks.send("GET /token HTTP/1.1\r\nHost: localhost\r\n\r\n");
    auto const token = asks.receive().body;
    break_journal();
    asks.send("POST /send?queue=q HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nX-Quern-Token: " + token +
        "\r\n\r\nx");
    BOOST_TEST(asks.receive().status == 500);
    BOOST_TEST(client.is_closed());
    BOOST_TEST(server.on_server([this] { return failures.size(); }) == 1u);
    server.on_server([&] { door.reset(); });
}

BOOST_FIXTURE_TEST_CASE(a_long_poll_that_ends_waits_for_the_journal_too, keeping_server)
{
    client.send(request_text("ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":20})"));
    server.wait_for_polls(1);
    auto sender = server.connect();
    break_journal();
    sender.send(request_text("SendMessage", message));
    BOOST_TEST(client.is_closed());
}

BOOST_FIXTURE_TEST_CASE(what_time_changes_is_kept_without_a_request, keeping_server)
{
    client.call("SendMessage", R"({"QueueUrl":"q","MessageBody":"x","DelaySeconds":5})");
    auto const before = commits();
    server.advance(std::chrono::seconds(6));
    while (commits() == before)
        std::this_thread::yield();
    BOOST_TEST(commits() == before + 1);
}

BOOST_FIXTURE_TEST_CASE(pipelined_requests_are_answered_in_order, keeping_server)
{
    std::string all;
    for (int i = 0; i != 5; ++i)
        all += request_text("SendMessage", message) + request_text("GetQueueUrl", R"({"QueueName":"q"})");
    client.send(all);
    for (int i = 0; i != 5; ++i) {
        BOOST_TEST(client.receive().json().contains("MessageId"));
        BOOST_TEST(client.receive().json().contains("QueueUrl"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
