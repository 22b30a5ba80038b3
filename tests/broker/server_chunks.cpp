#include "server_fixture.hpp"

#include <quern/broker/detail/http_answer.hpp>
#include <quern/net/detail/http_request.hpp>

using namespace quern;
using namespace quern::test;

namespace {

constexpr std::string_view chunked_head =
    "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nTransfer-Encoding: chunked\r\n\r\n";

} // namespace

BOOST_AUTO_TEST_SUITE(server_chunks)

BOOST_AUTO_TEST_CASE(chunked_bodies_are_read)
{
    running_server s;
    auto client = s.connect();
    client.send(
        "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.CreateQueue\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\n{\"Que\r\nc;x=y\r\nueName\":\"q\"}\r\n0\r\n\r\n");
    BOOST_TEST(client.receive().body == R"({"QueueUrl":"http://h/000000000000/q"})");
}

// Beast 345 asserted on an empty body whose last line feed came by itself: one client ended the broker for all.
BOOST_AUTO_TEST_CASE(a_chunked_body_may_arrive_byte_by_byte)
{
    running_server s;
    auto client = s.connect();
    for (std::string_view const body : {"0\r\n\r\n", "2\r\n{}\r\n0\r\n\r\n", "0\r\na: b\r\n\r\n"}) {
        client.send(chunked_head);
        for (char const& byte : body) {
            client.send({&byte, 1});
            s.counters(); // a turn of the server's event loop
        }
        BOOST_TEST(client.receive().status == 200);
    }
}

BOOST_AUTO_TEST_CASE(what_stands_around_chunks_is_refused_when_it_never_ends)
{
    running_server s;
    for (std::string const begin : {"5;", "0\r\na: b\r\nc: "}) {
        auto client = s.connect();
        client.send(std::string(chunked_head) + begin);
        client.send(std::string(300'000, 'x'));
        BOOST_TEST(client.receive().status == 431);
    }
}

// Target and authorization were taken from a trailer.
BOOST_AUTO_TEST_CASE(a_trailer_is_no_header)
{
    running_server s;
    auto client = s.connect();
    client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                "2\r\n{}\r\n0\r\nX-Amz-Target: AmazonSQS.ListQueues\r\n\r\n");
    auto const answer = client.receive();
    BOOST_TEST(answer.status == 400);
    BOOST_TEST(answer.type() == "com.amazon.coral.service#UnknownOperationException");
}

// What followed was served as a second request.
BOOST_AUTO_TEST_CASE(a_body_of_an_unknown_coding_is_refused_and_nothing_after_it_is_served)
{
    running_server s;
    struct {
        std::string version, field;
        int status;
    } const attempts[] = {{"1.1", "Transfer-Encoding: xchunked", 501},
        {"1.1", "Transfer-Encoding: chunked, gzip", 501}, {"1.1", "Transfer-Encoding: identity", 501},
        {"1.0", "Transfer-Encoding: chunked", 400}, {"1.1", "Host: h\r\n folded: x", 400},
        {"1.1", "Transfer-Encoding:\r\n chunked", 400}};
    for (auto const& [version, field, status] : attempts) {
        auto client = s.connect();
        client.send("POST / HTTP/" + version + "\r\nX-Amz-Target: AmazonSQS.ListQueues\r\n" + field + "\r\n\r\n" +
            request_text("ListQueues", "{}"));
        client.close_for_writing();
        BOOST_TEST(client.receive().status == status, field);
        BOOST_TEST(client.is_closed(), field);
    }
    BOOST_TEST(s.counters().requests.empty());
}

BOOST_AUTO_TEST_CASE(large_buffers_are_given_back)
{
    net::detail::http_request request;
    request.body.assign(1024 * 1024, 'x');
    request.clear();
    BOOST_TEST(request.body.capacity() < net::detail::http_request::kept);

    broker::detail::http_answer answer;
    answer.body.assign(1024 * 1024, 'x');
    answer.clear();
    BOOST_TEST(answer.body.capacity() < broker::detail::http_answer::kept);
}

BOOST_AUTO_TEST_CASE(a_body_may_have_8_mebibyte)
{
    running_server s;
    auto client = s.connect();
    client.call("CreateQueue", R"({"QueueName":"q"})");
    std::string escaped;
    for (int i = 0; i != 1'000'000; ++i)
        escaped += "\\u0061"; // all that SQS takes, in the longest way to write it
    auto const most = R"({"QueueUrl":"q","MessageBody":")" + escaped + "\"}";
    BOOST_TEST(client.call("SendMessage", most).status == 200);
    client.send(
        "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: 8388609\r\n\r\n");
    BOOST_TEST(client.receive().status == 413);
}

BOOST_AUTO_TEST_SUITE_END()
