#include "reply_reader_fuzz.hpp"

#include <boost/test/unit_test.hpp>

#include <random>
#include <string>
#include <vector>

using std::string;

namespace {

string const usual =
    "HTTP/1.1 200 OK\r\nx-amzn-RequestId: 01234567-89ab-cdef-0123-456789abcdef\r\nDate: Fri, 02 Jan 2026 "
    "03:04:05 GMT\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 15\r\nconnection: "
    "keep-alive\r\n\r\n{\"Messages\":[]}";

/// The usual one with this line in front of its headers, after which the others follow.
string with(string const& line)
{
    return "HTTP/1.1 200 OK\r\n" + line + "\r\n" + usual.substr(usual.find("\r\n") + 2);
}

string headed(string const& head, string const& body = "")
{
    return head + "\r\n\r\n" + body;
}

} // namespace

BOOST_AUTO_TEST_SUITE(plain_reply)

BOOST_AUTO_TEST_CASE(the_usual_answer_is_plain)
{
    quern::net::response out;
    BOOST_TEST(quern::net::detail::read_plain_reply(usual + "more", 1024, 1024, out) == usual.size());
    BOOST_TEST(out.status == 200);
    BOOST_TEST(out.body == "{\"Messages\":[]}");
    BOOST_TEST(out.fields.size() == 5u);
    BOOST_TEST(out.fields.find("x-amzn-requestid") == "01234567-89ab-cdef-0123-456789abcdef");
}

BOOST_AUTO_TEST_CASE(plain_answers_are_taken_and_read_as_the_other_reader_does)
{
    for (auto const& text : {
             usual,
             with("X: y"),
             with("Via: 1.1 proxy, 1.1 another"),
             with("Content-Encoding: identity"),
             headed("HTTP/1.1 200 OK\r\nContent-Length: 0"),
             headed("HTTP/1.1 200 OK\r\ncontent-LENGTH: 2\r\nCONNECTION: keep-alive", "{}"),
             headed("HTTP/1.1 200 OK\r\nContent-Length: 2", "{}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
             headed("HTTP/1.1 200 OK\r\nContent-Length: 3", string("\0\r\n", 3)),
         }) {
        BOOST_TEST(reply_reader_fuzz(text), text);
    }
}

BOOST_AUTO_TEST_CASE(all_other_answers_are_left_to_the_other_reader)
{
    for (auto const& text : {
             string(),
             string("HTTP"),
             usual.substr(0, usual.size() - 1),
             with("Transfer-Encoding: chunked"),
             with("transfer-encoding: identity"),
             with("Content-Length: 15"), // twice
             with("Content-Length: 16"),
             with("Connection: close"),
             with("Connection: Upgrade"),
             with("Proxy-Connection: close"),
             with("Upgrade: h2c"),
             with("X: y\r\n folded"),
             with("X:y"),
             with("X:  y"),
             with("X: y "),
             with("X: y\t"),
             with("X: "),
             with("X : y"),
             with(" X: y"),
             with(": y"),
             with("X"),
             with("X: a\rb"),
             with("X: a\nb"),
             with("X: \xe9"),
             with("X: " + string("\0", 1)),
             with("X: " + string(2000, 'x')), // beyond the limit
             headed("HTTP/1.1 200 OK", "{}"),
             headed("HTTP/1.1 200 OK\r\nContent-Length: +2", "{}"),
             headed("HTTP/1.1 200 OK\r\nContent-Length: -2", "{}"),
             headed("HTTP/1.1 200 OK\r\nContent-Length: 0x2", "{}"),
             headed("HTTP/1.1 200 OK\r\nContent-Length: 02", "{}"),
             headed("HTTP/1.1 200 OK\r\nContent-Length: 2,2", "{}"),
             headed("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551618", "{}"), // 2 in 64 bits
             headed("HTTP/1.1 200 OK\r\nContent-Length: 65537", string(65537, 'x')),
             headed("HTTP/1.1 200 OK\nContent-Length: 2", "{}"),
             headed("HTTP/1.1 200\r\nContent-Length: 2", "{}"),
             headed("HTTP/1.0 200 OK\r\nContent-Length: 2", "{}"),
             headed("HTTP/1.1 204 No Content\r\nContent-Length: 0"),
             headed("HTTP/1.1 100 Continue") + usual,
             headed("HTTP/1.1 400 Bad Request\r\nContent-Length: 2", "{}"),
         }) {
        BOOST_TEST(!reply_reader_fuzz(text), text);
    }
}

BOOST_AUTO_TEST_CASE(any_byte_changed_or_missing_the_two_readers_agree)
{
    int taken = 0;
    for (std::size_t at = 0; at < usual.size(); ++at) {
        for (int byte = 0; byte < 256; ++byte) {
            auto changed = usual;
            changed[at] = static_cast<char>(byte);
            taken += reply_reader_fuzz(changed);
        }
        taken += reply_reader_fuzz(usual.substr(0, at) + usual.substr(at + 1));
    }
    BOOST_TEST(taken > 5000); // most changes of a value or of the body
}

BOOST_AUTO_TEST_CASE(whatever_is_put_together_from_the_pieces_of_http_the_two_readers_agree)
{
    std::vector<string> const pieces = {"HTTP/1.1 200 OK\r\n", "\r\n", "\r\n\r\n", "\r", "\n", " ", "\t", ":", ": ",
        ",", "Content-Length: 2\r\n", "Content-Length: 15\r\n", "content-length", "Transfer-Encoding: chunked\r\n",
        "0\r\n\r\n", "connection: keep-alive\r\n", "Connection: close, keep-alive\r\n", "Upgrade: x\r\n",
        "x-a: b\r\n", "{}", "2", "a", "\x80"};
    std::mt19937 dice(20260102);
    int taken = 0;
    for (int round = 0; round < 200'000; ++round) {
        string text = "HTTP/1.1 200 OK\r\n";
        for (auto left = dice() % 8; left > 0; --left)
            text += pieces[dice() % pieces.size()];
        taken += reply_reader_fuzz(text);
        taken += reply_reader_fuzz(text + "Content-Length: 2\r\n\r\n{}");
    }
    BOOST_TEST(taken > 1000);
}

BOOST_AUTO_TEST_SUITE_END()
