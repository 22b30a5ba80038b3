#include "server_fixture.hpp"

#include "support/sanitized.hpp"

#include <boost/asio/read.hpp>

#include <fstream>
#include <memory>
#include <vector>

#include <malloc.h>
#include <poll.h>
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

/// The header of a large request that a known key seems to have signed.
std::string lying_header(running_server const& s, std::size_t length)
{
    return "POST / HTTP/1.1\r\nHost: broker.test:9324\r\nContent-Type: application/x-amz-json-1.0\r\n"
           "X-Amz-Target: AmazonSQS.SendMessage\r\nContent-Length: " +
        std::to_string(length) + "\r\n" + signature_headers("SendMessage", "", known, s.wall()) + "\r\n";
}

/// A client that nothing holds up, and that keeps nothing.
class bare_client {
public:
    explicit bare_client(std::uint16_t port) : socket_(io_)
    {
        socket_.connect({boost::asio::ip::address_v4::loopback(), port});
    }

    /// Sends as much as the server takes soon.
    std::size_t push(std::string_view text)
    {
        std::size_t total = 0;
        while (total != text.size()) {
            auto const left = text.substr(total);
            auto const n = ::send(socket_.native_handle(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n > 0)
                total += static_cast<std::size_t>(n);
            else if (errno != EAGAIN || !can_go_on())
                break;
        }
        return total;
    }

    /// "HTTP/1.1 200"
    std::string begin_of_answer()
    {
        std::string out(12, ' ');
        boost::system::error_code ec;
        boost::asio::read(socket_, boost::asio::buffer(out), ec);
        return ec ? ec.message() : out;
    }

    /// Reads so many bytes, at least.
    void drain(std::size_t least)
    {
        std::vector<char> room(64 * 1024);
        for (std::size_t total = 0; total < least;)
            total += socket_.read_some(boost::asio::buffer(room));
    }

private:
    bool can_go_on()
    {
        ::pollfd one{socket_.native_handle(), POLLOUT, 0};
        return ::poll(&one, 1, 5) == 1;
    }

    boost::asio::io_context io_;
    boost::asio::ip::tcp::socket socket_;
};

/// Puts a message straight into the queue "q".
void put(running_server& s, std::size_t size)
{
    s.on_server([&] {
        auto const now = s.server().now();
        auto& queues = s.server().queues();
        queues.create_queue(sqs::create_queue_request("q"), now).value();
        queues.send_message(sqs::send_message_request("q", std::string(size, 'x')), now).value();
    });
}

/// Forty clients whose bodies never end. How much more memory the process takes for them.
std::size_t cost_of_forty(running_server& s, std::string const& header)
{
    auto const before = resident_bytes();
    std::string const piece(1'000'000, 'x');
    std::vector<std::unique_ptr<bare_client>> all;
    for (int i = 0; i != 40; ++i) {
        all.push_back(std::make_unique<bare_client>(s.port()));
        all.back()->push(header);
    }
    for (int i = 0; i != 3; ++i) {
        for (auto& one : all)
            one->push(piece);
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
    // A sanitizer keeps freed memory back or has shadows of all of it: then it counts that the honest one is served.
    auto const is_cheap = [](std::size_t cost) { return sanitized || cost < 20 * 1024 * 1024; };
    running_server unsigned_ones{broker::server_options()};
    BOOST_TEST(is_cheap(cost_of_forty(unsigned_ones, large_header())));
    running_server let_in_without_a_signature;
    BOOST_TEST(is_cheap(cost_of_forty(let_in_without_a_signature, large_header())));
    running_server with_a_known_key{broker::server_options()};
    BOOST_TEST(is_cheap(cost_of_forty(with_a_known_key, lying_header(with_a_known_key, 4'000'000))));
}

BOOST_AUTO_TEST_CASE(a_body_beyond_the_budget_costs_nobody_his_small_request)
{
    running_server s{broker::server_options()};
    auto large = s.connect();
    auto small = s.connect();
    auto const request = signed_text(s, "ListQueues");
    small.send(request.substr(0, request.size() - 1));
    large.send(lying_header(s, 8'000'000));
    large.send(std::string(6'000'000, 'x'));
    s.counters();
    small.send(request.substr(request.size() - 1));
    BOOST_TEST(small.receive().status == 200);
}

// Messages of 1 MiB whose JSON is larger, on fresh connections: those that held most were cut in the midst of them.
BOOST_AUTO_TEST_CASE(honest_large_requests_wait_for_each_other_and_none_is_cut)
{
    running_server s{broker::server_options()};
    s.on_server([&] { s.server().queues().create_queue(sqs::create_queue_request("q"), s.server().now()).value(); });
    std::string escaped;
    for (int i = 0; i != 600'000; ++i)
        escaped += "\\n";
    auto const request = signed_text(
        s, "SendMessage", R"({"QueueUrl":"q","MessageBody":"x)" + escaped + std::string(100'000, 'x') + "\"}");
    BOOST_TEST(request.size() > 1'300'000u);

    std::vector<std::unique_ptr<bare_client>> all;
    for (int i = 0; i != 8; ++i)
        all.push_back(std::make_unique<bare_client>(s.port()));
    std::vector<std::string_view> left(all.size(), request);
    constexpr std::size_t piece = 100'000;
    for (int round = 0; round != 200; ++round) {
        for (std::size_t i = 0; i != all.size(); ++i)
            left[i].remove_prefix(all[i]->push(left[i].substr(0, piece)));
    }
    for (auto& one : all)
        BOOST_TEST(one->begin_of_answer() == "HTTP/1.1 200");
    BOOST_TEST(s.counters().cut_connections == 0u);
}

BOOST_AUTO_TEST_CASE(those_who_fill_the_budget_and_stop_keep_others_out_for_ten_seconds_only)
{
    running_server s{broker::server_options()};
    std::vector<std::unique_ptr<bare_client>> liars;
    for (int i = 0; i != 7; ++i) {
        liars.push_back(std::make_unique<bare_client>(s.port()));
        liars.back()->push(lying_header(s, 4'000'000));
        liars.back()->push(std::string(650'000, 'x'));
    }
    s.wait_for_connections(7);
    put(s, 1);
    auto const body = R"({"QueueUrl":"q","MessageBody":")" + std::string(200'000, 'x') + "\"}";
    auto const request = request_text(
        "SendMessage", body, signature_headers("SendMessage", body, known, s.wall()) + "Expect: 100-continue\r\n");
    auto const header = request.find("\r\n\r\n") + 4;
    auto honest = s.connect();
    honest.send(std::string_view(request).substr(0, header));
    BOOST_TEST(honest.receive().status == 100);
    honest.send(std::string_view(request).substr(header));
    s.advance(11s);
    BOOST_TEST(honest.receive().status == 200);
}

// Whoever had waited for ten seconds had the one cut that held most, which was the only honest one.
BOOST_AUTO_TEST_CASE(the_oldest_body_is_cut_for_others_not_the_largest)
{
    running_server s{broker::server_options()};
    put(s, 1);
    std::vector<std::unique_ptr<bare_client>> liars;
    auto const lie = [&](std::size_t size) {
        liars.push_back(std::make_unique<bare_client>(s.port()));
        liars.back()->push(lying_header(s, 4'000'000));
        liars.back()->push(std::string(size, 'x'));
    };
    for (int i = 0; i != 9; ++i)
        lie(250'000);
    lie(100'000);
    s.wait_for_connections(10);
    s.advance(11s);

    std::string escaped;
    for (int i = 0; i != 700'000; ++i)
        escaped += "\\n";
    auto const request = signed_text(s, "SendMessage", R"({"QueueUrl":"q","MessageBody":"x)" + escaped + "\"}");
    bare_client honest(s.port());
    std::string_view left = request;
    auto const send_until = [&](std::size_t rest) {
        for (int i = 0; i != 200 && left.size() != rest; ++i)
            left.remove_prefix(honest.push(left.substr(0, left.size() - rest)));
    };
    send_until(100);
    for (int i = 0; i != 300; ++i)
        s.counters(); // it has read what it wants to
    liars.back()->push(std::string(100'000, 'x'));
    s.advance(11s);
    send_until(0);
    BOOST_TEST(honest.begin_of_answer() == "HTTP/1.1 200");
    BOOST_TEST(s.counters().cut_connections >= 1u);
}

BOOST_AUTO_TEST_CASE(an_idle_connection_keeps_no_buffer_of_its_largest_answer)
{
    if (sanitized) return; // freed memory stays
    running_server s;
    put(s, 1'000'000);
    auto const request =
        request_text("ReceiveMessage", R"({"QueueUrl":"q","VisibilityTimeout":0,"WaitTimeSeconds":0})");
    std::vector<std::unique_ptr<bare_client>> all;
    auto const receive = [&] {
        all.push_back(std::make_unique<bare_client>(s.port()));
        all.back()->push(request);
        all.back()->drain(1'000'000);
        s.counters();
    };
    receive();
    ::malloc_trim(0);
    auto const before = resident_bytes();
    for (int i = 0; i != 40; ++i)
        receive();
    ::malloc_trim(0);
    BOOST_TEST(resident_bytes() < before + 20 * 1024 * 1024);
}

// Each had its megabytes twice.
BOOST_AUTO_TEST_CASE(looks_at_messages_that_nobody_takes_cost_little)
{
    if (sanitized) return;
    auto options = broker::server_options();
    options.admin = true;
    running_server s(options);
    for (int i = 0; i != 14; ++i)
        put(s, 512 * 1024);
    ::malloc_trim(0);
    auto const before = resident_bytes();
    std::vector<std::unique_ptr<bare_client>> all;
    for (std::uint64_t i = 1; i != 21; ++i) {
        all.push_back(std::make_unique<bare_client>(s.port()));
        all.back()->push("GET /_quern/messages?queue=q HTTP/1.1\r\nHost: h\r\n\r\n");
        while (s.counters().answer_bytes < i * 7'000'000)
            std::this_thread::yield();
    }
    s.counters();
    ::malloc_trim(0);
    BOOST_TEST(resident_bytes() < before + 64 * 1024 * 1024);
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
