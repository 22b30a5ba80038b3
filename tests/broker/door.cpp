#include <quern/broker/door.hpp>

#include "server_fixture.hpp"

#include <optional>
#include <vector>

using namespace quern;
using namespace quern::test;

// The admin port of a broker: who may look, and who may change something.

namespace {

constexpr std::string_view hostile = "<script>alert(1)</script><img src=x onerror=alert(2)> \"}]} \xE2\x80\xA8";

struct open_door {
    explicit open_door(bool admin = true, broker::engine_options queues = {})
        : server(running_server::unsigned_options(), std::move(queues))
    {
        server.on_server([&] {
            broker::door_options options;
            options.admin = admin;
            options.web.hosts = {"tools.test"};
            options.web.header_timeout = options.web.write_timeout =
                std::chrono::minutes(2); // by the machine's clock
            options.acted = [this](std::string_view what, std::string_view arn) {
                acted.push_back(std::string(what) + ' ' + std::string(arn.substr(arn.rfind(':') + 1)));
            };
            door.emplace(server.server(), options);
            door->listen().value();
        });
        port = door->port();
        if (admin) token = get("/token").body;
    }
    ~open_door()
    {
        server.on_server([this] { door.reset(); });
    }

    reply ask(std::string const& line, std::string const& headers, std::string_view body = {})
    {
        socket_client client(port);
        client.send(line + " HTTP/1.1\r\n" + headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n");
        client.send_some(body);
        return client.receive();
    }
    reply get(std::string const& path)
    {
        socket_client client(port);
        client.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        return client.receive();
    }
    reply post(std::string const& path, std::string_view body = {})
    {
        return ask("POST " + path, "Host: localhost\r\nX-Quern-Token: " + token + "\r\n", body);
    }
    boost::json::object queue(std::size_t number = 0)
    {
        return get("/explain").json().at("queues").as_array().at(number).as_object();
    }
    std::int64_t visible(std::size_t number = 0) { return queue(number).at("visible").as_int64(); }

    running_server server;
    std::optional<broker::door> door;
    std::vector<std::string> acted;
    std::string token;
    std::uint16_t port = 0;
    raw_client sqs = server.connect();
};

/// With a queue, and one for its dead letters, which comes first by name.
struct two_queues : open_door {
    two_queues()
    {
        sqs.call("CreateQueue", R"({"QueueName":"dead"})");
        sqs.call("CreateQueue",
            R"({"QueueName":"orders","Attributes":{"RedrivePolicy":
            "{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:dead\",\"maxReceiveCount\":1}",
            "VisibilityTimeout":"0"}})");
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(broker_door)

BOOST_FIXTURE_TEST_CASE(queues_are_shown_with_what_goes_on_in_them, two_queues)
{
    for (int i = 0; i != 3; ++i)
        sqs.call("SendMessage", R"({"QueueUrl":"orders","MessageBody":"m"})");
    sqs.call("SendMessage", R"({"QueueUrl":"orders","MessageBody":"m","DelaySeconds":60})");
    sqs.call("ReceiveMessage", R"({"QueueUrl":"orders","VisibilityTimeout":30})");
    server.advance(std::chrono::seconds(5));
    auto const picture = get("/explain").json();
    BOOST_TEST(picture.at("program").as_string() == "quern broker");
    BOOST_TEST(picture.at("traffic").at("requests").as_int64() == 7);
    BOOST_TEST(picture.at("traffic").at("open_connections").as_int64() == 1);
    auto const q = queue(1);
    BOOST_TEST(q.at("name").as_string() == "orders");
    BOOST_TEST(q.at("visible").as_int64() == 2);
    BOOST_TEST(q.at("in_flight").as_int64() == 1);
    BOOST_TEST(q.at("delayed").as_int64() == 1);
    BOOST_TEST(q.at("oldest_age_ms").as_int64() == 5000);
    BOOST_TEST(q.at("dead_letter_arn").as_string() == "arn:aws:sqs:us-east-1:000000000000:dead");
    BOOST_TEST(q.at("max_receive_count").as_int64() == 1);
    BOOST_TEST(q.at("counts").at("sent").as_int64() == 4);
    BOOST_TEST(q.at("counts").at("received").as_int64() == 1);
    BOOST_TEST(!queue(0).contains("oldest_age_ms"));
}

BOOST_AUTO_TEST_CASE(probes_metrics_and_the_page_are_for_all_who_may_connect)
{
    open_door d(false);
    d.sqs.call("CreateQueue", R"({"QueueName":"q"})");
    for (auto const& [path, body] :
        {std::pair("/livez", "alive\n"), {"/readyz", "ready\n"}, {"/startupz", "started\n"}}) {
        BOOST_TEST(d.get(path).status == 200);
        BOOST_TEST(d.get(path).body == body);
    }
    auto const page = d.get("/");
    BOOST_TEST(page.body == broker::page());
    auto const policy = page.fields.at("content-security-policy");
    BOOST_TEST(policy.starts_with("default-src 'none'; script-src 'sha256-"), policy);
    BOOST_TEST(policy.find("unsafe") == policy.npos);
    auto const metrics = d.get("/metrics").body;
    for (auto const* line :
        {"quern_broker_messages{queue=\"q\"", "quern_broker_connections 1\n", "quern_broker_request_bytes_total 17\n",
            "quern_broker_requests_total{operation=\"CreateQueue\",status=\"200\"} 1\n"})
        BOOST_TEST(metrics.find(line) != metrics.npos, line << " is not in " << metrics);
    BOOST_TEST(d.get("/other").status == 404);

    socket_client following(d.port);
    following.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    following.wait_for("retry: 2000\n\n");
    for (int i = 0; i != 2; ++i) {
        auto const event = following.wait_for("\n\n");
        BOOST_TEST(boost::json::parse(event.substr(6)).at("queues").as_array().size() == 1u);
    }
}

BOOST_AUTO_TEST_CASE(a_broker_that_stops_is_not_ready)
{
    open_door d;
    d.sqs.call("CreateQueue", R"({"QueueName":"q"})");
    auto waiting = d.server.connect();
    broker::fault_settings faults; // keeps a request under way
    faults.everywhere.latency = 1;
    faults.everywhere.latency_min = faults.everywhere.latency_max = std::chrono::hours(1);
    d.server.set_faults(faults);
    waiting.send(request_text("ListQueues", "{}"));
    while (d.server.counters().requests["ListQueues"] != 1)
        std::this_thread::yield();
    auto stopped = d.server.begin_stop(std::chrono::hours(1));
    while (d.get("/readyz").status != 503)
        std::this_thread::yield();
    BOOST_TEST(d.get("/livez").status == 200);
    d.server.advance(std::chrono::hours(2));
    stopped.get();
}

BOOST_FIXTURE_TEST_CASE(a_message_that_is_sent_from_the_page_is_like_any_other, two_queues)
{
    auto const sent = post("/send?queue=orders", "h\xC3\xA9llo");
    BOOST_TEST(sent.status == 200, sent.body);
    auto const got = sqs.call("ReceiveMessage", R"({"QueueUrl":"orders"})").json().at("Messages").as_array();
    BOOST_TEST(got.at(0).at("Body").as_string() == "h\xC3\xA9llo");
    BOOST_TEST(got.at(0).at("MessageId").as_string() == sent.json().at("message_id").as_string());
    post("/send?queue=orders&delay=60", "later");
    BOOST_TEST(queue(1).at("delayed").as_int64() == 1);
    auto const named = std::vector<std::string>{"send orders", "send orders"};
    BOOST_TEST(acted == named, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_send_ends_a_long_poll_that_waits, two_queues)
{
    auto waiting = server.connect();
    waiting.send(request_text("ReceiveMessage", R"({"QueueUrl":"orders","WaitTimeSeconds":20})"));
    server.wait_for_polls(1);
    post("/send?queue=orders", "now");
    BOOST_TEST(waiting.receive().json().at("Messages").as_array().size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(what_the_engine_refuses_is_told_in_its_words, two_queues)
{
    sqs.call("CreateQueue", R"({"QueueName":"steps.fifo","Attributes":{"FifoQueue":"true"}})");
    auto const refused = post("/send?queue=steps.fifo", "m");
    BOOST_TEST(refused.status == 400);
    BOOST_TEST(refused.json().at("error").as_string().find("MessageGroupId") != std::string::npos, refused.body);
    BOOST_TEST(post("/send?queue=steps.fifo&group=a&deduplication_id=1", "m").status == 200);
    for (auto const* path : {"/send?queue=orders&delay=x", "/send?queue=orders&delay=1x",
             "/send?queue=orders&delay=901", "/send?queue=orders", "/redrive?queue=orders"})
        BOOST_TEST(post(path).status == 400, path);
    BOOST_TEST(post("/send?queue=orders", "\xFF\xFE").status == 400);
    BOOST_TEST(post("/send?queue=orders", std::string(1'048'577, 'x')).status == 400);
    for (auto const* path : {"/send", "/send?queue=absent", "/purge?queue=", "/redrive?queue=%00"})
        BOOST_TEST(post(path, "m").status == 404, path);
    BOOST_TEST(acted.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_purge_empties_a_queue_and_no_other, two_queues)
{
    post("/send?queue=orders", "a");
    post("/send?queue=dead", "b");
    BOOST_TEST(post("/purge?queue=arn:aws:sqs:us-east-1:000000000000:orders").status == 200);
    BOOST_TEST(visible(0) == 1);
    BOOST_TEST(visible(1) == 0);
    BOOST_TEST(post("/purge?queue=orders").status == 400); // within a minute
}

BOOST_FIXTURE_TEST_CASE(a_redrive_brings_dead_letters_back, two_queues)
{
    post("/send?queue=orders", "a");
    for (int i = 0; i != 2; ++i)
        sqs.call("ReceiveMessage", R"({"QueueUrl":"orders"})");
    BOOST_TEST(visible(0) == 1);
    BOOST_TEST(queue(1).at("counts").at("moved").as_int64() == 1);
    BOOST_TEST(post("/redrive?queue=dead").status == 200);
    server.advance(std::chrono::seconds(2));
    BOOST_TEST(visible(0) == 0);
    BOOST_TEST(visible(1) == 1);
}

BOOST_FIXTURE_TEST_CASE(queues_of_one_name_in_two_regions_are_told_apart, open_door)
{
    aws::credentials const key{"quern", "quern", ""};
    for (auto const* region : {"us-east-1", "eu-west-1"}) {
        std::string const body = R"({"QueueName":"q"})";
        sqs.call("CreateQueue", body, signature_headers("CreateQueue", body, key, server.wall(), region));
    }
    BOOST_TEST(post("/send?queue=q", "m").status == 404);
    BOOST_TEST(get("/messages?queue=q").body.find("give the ARN") != std::string::npos);
    BOOST_TEST(post("/send?queue=arn:aws:sqs:us-east-1:000000000000:q", "m").status == 200);
    BOOST_TEST(visible(0) == 0); // eu-west-1
    BOOST_TEST(visible(1) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_look_changes_nothing, two_queues)
{
    post("/send?queue=orders", "first");
    for (int i = 0; i != 3; ++i) {
        auto const seen = get("/messages?queue=orders").json().at("messages").as_array();
        BOOST_TEST(seen.size() == 1u);
        BOOST_TEST(seen.at(0).at("receive_count").as_int64() == 0);
    }
    post("/send?queue=orders", std::string(100'000, 'x'));
    auto const seen = get("/messages?queue=orders").json().at("messages").as_array();
    BOOST_TEST(seen.at(1).at("body").as_string().size() == 16'384u);
    BOOST_TEST(seen.at(1).at("bytes").as_int64() == 100'000);
    BOOST_TEST(get("/messages?queue=orders&most=1").json().at("messages").as_array().size() == 1u);
    BOOST_TEST(get("/messages?queue=orders&most=-1").status == 400);
    BOOST_TEST(get("/messages?queue=absent").status == 404);
}

BOOST_FIXTURE_TEST_CASE(a_long_body_is_not_cut_within_a_character, two_queues)
{
    std::string body;
    while (body.size() < 20'000)
        body += "\xF0\x9F\x90\xA6";
    post("/send?queue=orders", "x" + body);
    auto const seen = get("/messages?queue=orders").json(); // Boost.JSON refuses invalid UTF-8
    BOOST_TEST(seen.at("messages").at(0).at("body").as_string().size() == 16'381u);
}

BOOST_FIXTURE_TEST_CASE(a_hostile_body_is_text_in_json_and_never_markup, two_queues)
{
    post("/send?queue=orders", hostile);
    auto const answer = get("/messages?queue=orders");
    BOOST_TEST(answer.json().at("messages").at(0).at("body").as_string() == hostile);
    BOOST_TEST(answer.fields.at("content-type") == "application/json");
    BOOST_TEST(answer.fields.at("x-content-type-options") == "nosniff");
    BOOST_TEST(answer.fields.at("content-security-policy").starts_with("default-src 'none'"));
}

BOOST_FIXTURE_TEST_CASE(a_queue_is_named_by_the_url_that_clients_have_too, two_queues)
{
    auto const url = sqs.call("GetQueueUrl", R"({"QueueName":"orders"})").json().at("QueueUrl").as_string();
    BOOST_TEST(post("/send?queue=" + std::string(url), "x").status == 200);
    BOOST_TEST(post("/send?queue=" + std::string(url) + "-none", "x").status == 404);
}

BOOST_FIXTURE_TEST_CASE(who_looks_and_says_that_a_body_comes_is_refused_at_once, two_queues)
{
    socket_client client(port);
    client.send("GET /explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n");
    BOOST_TEST(client.receive().status == 413);
}

BOOST_FIXTURE_TEST_CASE(nothing_changes_for_whoever_is_not_the_page, two_queues)
{
    post("/send?queue=orders", "kept");
    auto const purge = [this](std::string const& headers) { return ask("POST /purge?queue=orders", headers).status; };
    std::string const host = "Host: localhost\r\n", with_token = "X-Quern-Token: " + token + "\r\n";
    BOOST_TEST(purge(host) == 403);
    BOOST_TEST(purge(host + "X-Quern-Token: \r\n") == 403);
    BOOST_TEST(purge(host + "X-Quern-Token: " + std::string(32, '0') + "\r\n") == 403);
    BOOST_TEST(purge(host + with_token + with_token) == 400);
    BOOST_TEST(purge("Host: evil.example\r\n" + with_token) == 403);
    for (std::string const origin : {"http://evil.example", "null", "http://localhost:5173", "https://localhost",
             "http://localhost.evil.example", "http://localhostx", "x"})
        BOOST_TEST(purge(host + with_token + "Origin: " + origin + "\r\n") == 403, origin);
    for (auto const* site : {"cross-site", "same-site", "none", "x"})
        BOOST_TEST(purge(host + with_token + "Sec-Fetch-Site: " + site + "\r\n") == 403, site);
    BOOST_TEST(purge(host + with_token + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n") == 403);
    for (auto const* method : {"GET", "PUT", "DELETE", "OPTIONS"})
        BOOST_TEST(ask(method + std::string(" /purge?queue=orders"), host + with_token).status == 405, method);
    socket_client head(port);
    head.send("HEAD /purge?queue=orders HTTP/1.1\r\n" + host + with_token + "\r\n");
    BOOST_TEST(head.wait_for("\r\n\r\n").starts_with("HTTP/1.1 405 "));
    BOOST_TEST(ask("OPTIONS /purge", host + "Origin: http://a\r\nAccess-Control-Request-Method: POST\r\n")
                   .fields.contains("access-control-allow-origin") == false);
    BOOST_TEST(visible(1) == 1);

    BOOST_TEST(purge("Host: tools.test:80\r\nOrigin: http://tools.test:80\r\nSec-Fetch-Site: same-origin\r\n" +
                   with_token) == 200);
    BOOST_TEST(visible(1) == 0);
}

BOOST_FIXTURE_TEST_CASE(the_token_is_not_for_scripts_of_other_sites, open_door)
{
    BOOST_TEST(token.size() == 32u);
    BOOST_TEST(
        ask("GET /token", "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n").status == 403);
    BOOST_TEST(ask("GET /token", "Host: evil.example\r\n").status == 403);
    open_door other;
    BOOST_TEST(other.token != token);
    for (auto const* path : {"/", "/explain", "/metrics"})
        BOOST_TEST(get(path).body.find(token) == std::string::npos, path);
}

BOOST_AUTO_TEST_CASE(without_admin_nobody_looks_into_messages_or_changes_anything)
{
    open_door d(false);
    d.sqs.call("CreateQueue", R"({"QueueName":"q"})");
    d.sqs.call("SendMessage", R"({"QueueUrl":"q","MessageBody":"m"})");
    for (auto const* path : {"/messages?queue=q", "/token"})
        BOOST_TEST(d.get(path).status == 403, path);
    for (auto const* path : {"/send?queue=q", "/purge?queue=q", "/redrive?queue=q", "/"})
        BOOST_TEST(d.post(path, "m").status == 405, path);
    BOOST_TEST(d.get("/purge?queue=q").status == 405);
    BOOST_TEST(d.visible() == 1);
    BOOST_TEST(!d.get("/explain").json().at("admin").as_bool());
}

BOOST_FIXTURE_TEST_CASE(a_body_is_not_taken_before_its_sender_has_proved_itself, two_queues)
{
    auto const unasked = ask("POST /send?queue=orders", "Host: localhost\r\n", std::string(64 * 1024, 'x'));
    BOOST_TEST(unasked.status == 403);
    socket_client client(port);
    client.send("POST /send?queue=orders HTTP/1.1\r\nHost: localhost\r\nX-Quern-Token: " + token +
        "\r\nContent-Length: 3000000\r\n\r\n");
    BOOST_TEST(client.receive().status == 413); // more than any message
}

BOOST_AUTO_TEST_SUITE_END()
