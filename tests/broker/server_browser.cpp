#include "server_fixture.hpp"

using namespace quern;
using namespace quern::test;

// Pages in a browser, and whoever scrapes metrics.

namespace {

constexpr std::string_view page = "http://localhost:5173";

struct open_server {
    running_server server{options()};
    raw_client client = server.connect();

    static broker::server_options options()
    {
        auto out = running_server::unsigned_options();
        out.cors = {"https://other.example", std::string(page)};
        out.admin = true;
        return out;
    }

    reply ask(std::string_view line, std::string_view headers)
    {
        client.send(std::string(line) + " HTTP/1.1\r\nHost: h\r\n" + std::string(headers) + "\r\n");
        return client.receive();
    }
};

std::string field(reply const& of, std::string const& name)
{
    auto const at = of.fields.find(name);
    return at == of.fields.end() ? "" : at->second;
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_browser)

BOOST_FIXTURE_TEST_CASE(a_preflight_of_a_listed_origin_is_answered, open_server)
{
    auto const answer = ask("OPTIONS /",
        "Origin: http://localhost:5173\r\nAccess-Control-Request-Method: POST\r\n"
        "Access-Control-Request-Headers: authorization,x-amz-target\r\nAccess-Control-Request-Private-Network: "
        "true\r\n");
    BOOST_TEST(answer.status == 200);
    BOOST_TEST(field(answer, "access-control-allow-origin") == page);
    BOOST_TEST(field(answer, "vary") == "Origin");
    BOOST_TEST(field(answer, "access-control-allow-methods") == "GET, POST");
    BOOST_TEST(field(answer, "access-control-allow-headers") == "authorization,x-amz-target");
    BOOST_TEST(field(answer, "access-control-allow-private-network") == "true");
}

BOOST_FIXTURE_TEST_CASE(answers_and_errors_to_a_listed_origin_may_be_read, open_server)
{
    for (auto const* body : {R"({"QueueName":"q"})", "{}"}) {
        auto const answer = client.call("CreateQueue", body, "Origin: http://localhost:5173\r\n");
        BOOST_TEST(answer.status == (std::string_view(body) == "{}" ? 400 : 200));
        BOOST_TEST(field(answer, "access-control-allow-origin") == page);
        BOOST_TEST(field(answer, "access-control-expose-headers").find("x-amzn-query-error") != std::string::npos);
    }
    BOOST_TEST(
        ask("GET /?Action=ListQueues", "Origin: http://localhost:5173\r\nSec-Fetch-Site: cross-site\r\n").status ==
        200);
}

BOOST_FIXTURE_TEST_CASE(other_origins_get_no_leave, open_server)
{
    for (std::string const origin :
        {"http://localhost:5174", "https://localhost:5173", "null", "http://localhost:5173.evil"}) {
        auto const asked = ask("OPTIONS /", "Origin: " + origin + "\r\nAccess-Control-Request-Method: POST\r\n");
        BOOST_TEST(asked.status == 400);
        BOOST_TEST(field(asked, "access-control-allow-origin").empty());
        auto const answer = client.call("ListQueues", "{}", "Origin: " + origin + "\r\n");
        BOOST_TEST(field(answer, "access-control-allow-origin").empty());
        BOOST_TEST(ask("GET /?Action=ListQueues", "Origin: " + origin + "\r\n").status == 403);
    }
    BOOST_TEST(field(client.call("ListQueues", "{}"), "access-control-allow-origin").empty());
}

BOOST_AUTO_TEST_CASE(without_origins_there_is_no_leave_and_a_star_is_for_all_but_not_for_other_hosts)
{
    auto options = running_server::unsigned_options();
    auto const preflight = [](std::string const& host) {
        return "OPTIONS / HTTP/1.1\r\nHost: " + host +
            "\r\nOrigin: http://a\r\nAccess-Control-Request-Method: POST\r\n\r\n";
    };
    {
        running_server s(options);
        auto client = s.connect();
        client.send(preflight("h"));
        BOOST_TEST(client.receive().status == 400);
    }
    options.cors = {"*"};
    running_server s(options);
    auto client = s.connect();
    client.send(preflight("h"));
    BOOST_TEST(field(client.receive(), "access-control-allow-origin") == "*");
    client.send(preflight("evil.example"));
    auto const refused = client.receive();
    BOOST_TEST(refused.status == 403);
    BOOST_TEST(field(refused, "access-control-allow-origin").empty());
}

BOOST_AUTO_TEST_CASE(an_origin_has_a_scheme_and_a_host_and_nothing_else)
{
    auto options = running_server::unsigned_options();
    for (auto const* good : {"*", "http://localhost:5173", "https://a.example", "capacitor://localhost"}) {
        options.cors = {good};
        BOOST_TEST(!options.validate(), good);
    }
    for (auto const* bad :
        {"", "localhost:5173", "http://", "http://a/", "http://a b", "http://u@a", "://a", "http://a\r\nX: y"}) {
        options.cors = {bad};
        BOOST_TEST(options.validate().has_value(), bad);
    }
}

BOOST_FIXTURE_TEST_CASE(metrics_tell_depths_and_answers, open_server)
{
    client.call("CreateQueue", R"({"QueueName":"q"})");
    for (int i = 0; i != 3; ++i)
        client.call("SendMessage", R"({"QueueUrl":"q","MessageBody":"m"})");
    client.call("SendMessage", R"({"QueueUrl":"q","MessageBody":"m","DelaySeconds":60})");
    client.call("ReceiveMessage", R"({"QueueUrl":"q"})");
    client.call("SendMessage", R"({"QueueUrl":"absent","MessageBody":"m"})");
    auto const answer = ask("GET /metrics", "");
    BOOST_TEST(answer.status == 200);
    BOOST_TEST(field(answer, "content-type") == "text/plain; version=0.0.4");
    std::string const q = R"({queue="q",arn="arn:aws:sqs:us-east-1:000000000000:q",state=)";
    for (auto const& line : {"quern_broker_messages" + q + "\"visible\"} 2\n",
             "quern_broker_messages" + q + "\"delayed\"} 1\n", "quern_broker_messages" + q + "\"in_flight\"} 1\n",
             std::string("quern_broker_requests_total{operation=\"SendMessage\",status=\"200\"} 4\n"),
             std::string("quern_broker_requests_total{operation=\"SendMessage\",status=\"400\"} 1\n"),
             std::string("# TYPE quern_broker_requests_total counter\n")})
        BOOST_TEST(answer.body.find(line) != std::string::npos, line << " is not in " << answer.body);
    broker::fault_settings faults;
    faults.everywhere.dropped_after = 1;
    server.set_faults(faults);
    auto other = server.connect();
    other.send(request_text("ListQueues", "{}"));
    BOOST_TEST(other.is_closed());
    BOOST_TEST(ask("GET /metrics", "").body.find(R"({operation="ListQueues",status="none"} 1)") != std::string::npos);
}

// On all addresses requests come under any name, but what needs no signature is not for a page that has turned its
// own name to this machine.
BOOST_AUTO_TEST_CASE(looks_are_answered_under_addresses_and_listed_names_wherever_the_broker_listens)
{
    for (bool const lists : {false, true}) {
        auto options = open_server::options();
        options.host = "0.0.0.0";
        if (lists) options.hosts = {"sqs"};
        running_server s(options);
        auto client = s.connect();
        auto const ask = [&](std::string_view path, std::string_view host) {
            client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n");
            return client.receive().status;
        };
        for (auto const* path : {"/_quern/queues", "/metrics"}) {
            for (auto const* host : {"127.0.0.1:9324", "localhost", "192.168.1.5:9324", "[2001:db8::1]"})
                BOOST_TEST(ask(path, host) == 200, host);
            BOOST_TEST(ask(path, "sqs") == (lists ? 200 : 403));
            BOOST_TEST(ask(path, "rebound.evil.example") == 403);
        }
        BOOST_TEST(ask("/_quern/messages?queue=q", "rebound.evil.example:9324") == 403);
        for (auto const* path : {"/health", "/?Action=ListQueues"}) {
            BOOST_TEST(ask(path, "sqs") == 200);
            BOOST_TEST(ask(path, "rebound.evil.example") == (lists ? 403 : 200));
        }
    }
}

// With --cors any such page read all messages, unsigned.
BOOST_AUTO_TEST_CASE(a_look_is_for_no_page_of_another_origin_whatever_cors_says)
{
    auto options = open_server::options();
    options.cors = {"*"};
    running_server s(options);
    auto client = s.connect();
    client.call("CreateQueue", R"({"QueueName":"q"})");
    auto const ask = [&](std::string_view path, std::string_view more) {
        client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(more) + "\r\n");
        return client.receive();
    };
    for (auto const* path : {"/_quern/messages?queue=q", "/_quern/queues", "/metrics"}) {
        auto const answer = ask(path, "Origin: http://evil.example\r\n");
        BOOST_TEST(field(answer, "access-control-allow-origin").empty(), path);
        BOOST_TEST(field(answer, "x-content-type-options") == "nosniff");
        auto const refused = ask(path, "Origin: http://evil.example\r\nSec-Fetch-Site: cross-site\r\n");
        BOOST_TEST(refused.status == 403);
        BOOST_TEST(field(refused, "access-control-allow-origin").empty());
        BOOST_TEST(ask(path, "Sec-Fetch-Site: same-site\r\n").status == 403);
        BOOST_TEST(ask(path, "Sec-Fetch-Site: same-origin\r\n").status == 200);
        BOOST_TEST(ask(path, "Sec-Fetch-Site: none\r\n").status == 200);
        BOOST_TEST(ask(path, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n").status == 200); // a link
    }
}

BOOST_AUTO_TEST_CASE(metrics_are_for_admins)
{
    running_server s;
    auto client = s.connect();
    client.send("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
    BOOST_TEST(client.receive().status == 400);
}

BOOST_AUTO_TEST_SUITE_END()
