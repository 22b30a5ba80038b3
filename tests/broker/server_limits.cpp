#include "server_fixture.hpp"

#include "support/sanitized.hpp"

#include <fstream>
#include <memory>

#include <unistd.h>

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

aws::credentials const known{"quern", "quern", ""};

std::string signed_text(running_server const& s, std::string_view operation, std::string_view body = "{}")
{
    return request_text(operation, body, signature_headers(operation, body, known, s.wall()));
}

/// The header of a large request, and none of its body.
std::string large_header(std::string_view more = {})
{
    return "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nContent-Length: 4000000\r\n" +
        std::string(more) + "\r\n";
}

std::size_t resident_bytes()
{
    std::size_t total = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Forty clients whose bodies never end. How much more memory the process takes for them.
std::size_t cost_of_forty(running_server& s, std::string const& header)
{
    auto const before = resident_bytes();
    std::string const piece(1'000'000, 'x');
    std::vector<std::unique_ptr<raw_client>> all;
    for (int i = 0; i != 40; ++i) {
        all.push_back(std::make_unique<raw_client>(s.port()));
        all.back()->send(header);
    }
    for (int i = 0; i != 3; ++i) {
        for (auto& one : all)
            one->send_some(piece);
    }
    s.counters();
    auto honest = s.connect();
    honest.send(signed_text(s, "ListQueues"));
    BOOST_TEST(honest.receive().status == 200);
    auto const after = resident_bytes();
    return after > before ? after - before : 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_limits)

BOOST_AUTO_TEST_CASE(a_header_has_ten_seconds_however_it_dribbles_in)
{
    running_server s{broker::server_options()};
    auto client = s.connect();
    client.send(request_text("ListQueues", "{}") + "POST / HT");
    client.receive(); // so it has read what follows too
    s.advance(9s);
    client.send("TP/1.1\r\nHost:");
    s.counters();
    BOOST_TEST(s.counters().cut_connections == 0u);
    s.advance(2s);
    BOOST_TEST(client.is_closed());
    BOOST_TEST(s.counters().cut_connections == 1u);
}

BOOST_AUTO_TEST_CASE(a_body_has_a_minute)
{
    running_server s;
    auto client = s.connect();
    client.send(request_text("ListQueues", "{}") + large_header());
    client.receive();
    s.advance(59s);
    BOOST_TEST(s.counters().cut_connections == 0u);
    s.advance(2s);
    BOOST_TEST(client.is_closed());
}

BOOST_AUTO_TEST_CASE(an_idle_connection_is_kept_for_a_while_and_a_long_poll_as_long_as_it_takes)
{
    auto options = running_server::unsigned_options();
    options.idle_timeout = 5s;
    running_server s(options);
    auto polling = s.connect();
    polling.call("CreateQueue", R"({"QueueName":"q"})");
    polling.send(request_text("ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":20})"));
    s.wait_for_polls(1);
    auto idle = s.connect();
    BOOST_TEST(idle.call("ListQueues", "{}").status == 200);
    s.advance(4s);
    BOOST_TEST(idle.call("ListQueues", "{}").status == 200);
    s.advance(6s);
    BOOST_TEST(idle.is_closed());
    s.advance(10s);
    BOOST_TEST(polling.receive().status == 200);
}

BOOST_AUTO_TEST_CASE(at_the_limit_of_connections_those_that_proved_nothing_give_way)
{
    broker::server_options options;
    options.max_connections = 2;
    running_server s(options);
    auto silent = s.connect();
    s.wait_for_connections(1);
    auto first = s.connect();
    first.send(signed_text(s, "ListQueues"));
    BOOST_TEST(first.receive().status == 200);
    auto second = s.connect();
    second.send(signed_text(s, "ListQueues"));
    BOOST_TEST(second.receive().status == 200);
    BOOST_TEST(silent.is_closed());
    auto third = s.connect();
    BOOST_TEST(third.is_closed());
    first.send(signed_text(s, "ListQueues"));
    BOOST_TEST(first.receive().status == 200);
}

// Forty unsigned requests with 15 MiB of body each took 640 MB.
BOOST_AUTO_TEST_CASE(forty_slow_clients_cost_little_and_starve_nobody)
{
    // One sanitizer keeps freed memory back, the other has shadows of all of it.
    constexpr std::size_t most = (sanitized ? 200 : 20) * 1024 * 1024;
    running_server unsigned_ones{broker::server_options()};
    BOOST_TEST(cost_of_forty(unsigned_ones, large_header()) < most);
    running_server let_in_without_a_signature;
    BOOST_TEST(cost_of_forty(let_in_without_a_signature, large_header()) < most);
    running_server with_a_known_key{broker::server_options()};
    auto const lies = signature_headers("SendMessage", "", known, with_a_known_key.wall());
    auto header = large_header(lies);
    header.replace(header.find("Host: h"), 7, "Host: broker.test:9324\r\nContent-Type: application/x-amz-json-1.0");
    BOOST_TEST(cost_of_forty(with_a_known_key, header) < most);
}

BOOST_AUTO_TEST_CASE(a_body_beyond_the_budget_costs_nobody_his_small_request)
{
    running_server s{broker::server_options()};
    auto const lies = signature_headers("SendMessage", "", known, s.wall());
    auto header = large_header(lies);
    header.replace(header.find("Host: h"), 7, "Host: broker.test:9324\r\nContent-Type: application/x-amz-json-1.0");
    header.replace(header.find("4000000"), 7, "9000000");
    auto large = s.connect();
    auto small = s.connect();
    auto const request = signed_text(s, "ListQueues");
    small.send(request.substr(0, request.size() - 1));
    large.send(header);
    large.send(std::string(6'000'000, 'x'));
    s.counters();
    small.send(request.substr(request.size() - 1));
    BOOST_TEST(small.receive().status == 200);
}

BOOST_AUTO_TEST_CASE(who_asks_whether_to_send_a_body_is_refused_before_it)
{
    running_server s{broker::server_options()};
    auto client = s.connect();
    client.send(large_header("Expect: 100-continue\r\n"));
    BOOST_TEST(client.receive().status == 403);
    BOOST_TEST(client.is_closed());
}

BOOST_AUTO_TEST_CASE(a_body_that_was_not_kept_is_no_body_of_the_next_request)
{
    running_server s{broker::server_options()};
    auto client = s.connect();
    auto const text = request_text("ListQueues", std::string(100'000, 'x'));
    client.send(text.substr(0, 500));
    s.wait_for_connections(1);
    s.counters();
    client.send(text.substr(500));
    BOOST_TEST(client.receive().status == 403);
    client.send(signed_text(s, "ListQueues"));
    BOOST_TEST(client.receive().status == 200);
}

BOOST_AUTO_TEST_SUITE_END()
