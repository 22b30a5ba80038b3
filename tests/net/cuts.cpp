#include <quern/net/detail/message_parser.hpp>
#include <quern/net/detail/reply_reader.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace quern::net::detail;

namespace {

std::vector<std::string> const bodies = {
    "Content-Length: 3\r\n\r\nabc",
    "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nX: y\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n003;x=\"y\"\r\nabc\r\n000\r\n\r\n",
    "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n1;x\r\na\r\n1\r\nb\r\n1\r\nc\r\n0;last\r\nX: y\r\nZ: z\r\n\r\n",
};

/// The body of what the parser makes of these pieces, each handed over when it has taken what it could of those
/// before; "never done" when it wants more after the last one.
template <class Parser, class Message>
std::string body_of(std::vector<std::string> const& pieces)
{
    Message out;
    Parser parser(out, 1024, 1024);
    std::string waiting;
    for (auto const& piece : pieces) {
        waiting += piece;
        for (std::size_t used = 1; used != 0 && !waiting.empty() && !parser.is_done(); waiting.erase(0, used)) {
            boost::beast::error_code ec;
            used = parser.read(boost::asio::buffer(waiting), ec);
            if (ec && ec != boost::beast::http::error::need_more) return ec.message();
        }
    }
    return parser.is_done() ? std::string(out.body) : "never done";
}

template <class Parser, class Message>
void cut_everywhere(std::string const& first_line)
{
    for (auto const& body : bodies) {
        auto const text = first_line + "\r\n" + body;
        std::vector<std::string> bytes;
        for (auto const c : text)
            bytes.emplace_back(1, c);
        BOOST_TEST((body_of<Parser, Message>(bytes) == "abc"), body << " byte by byte");
        for (std::size_t first = 0; first < text.size(); ++first) {
            for (auto second = first; second < text.size(); ++second) {
                auto const got = body_of<Parser, Message>(
                    {text.substr(0, first), text.substr(first, second - first), text.substr(second)});
                BOOST_TEST(got == "abc", body << " cut at " << first << " and " << second << ": " << got);
            }
        }
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(cuts)

BOOST_AUTO_TEST_CASE(an_answer_may_arrive_in_any_pieces)
{
    cut_everywhere<reply_parser, quern::net::response>("HTTP/1.1 200 OK");
}

BOOST_AUTO_TEST_CASE(a_request_may_arrive_in_any_pieces)
{
    cut_everywhere<request_parser, http_request>("POST / HTTP/1.1");
}

// Six clients had this report: Tomcat at times, and makers of devices, write no blank and no reason.
BOOST_AUTO_TEST_CASE(a_status_line_may_end_behind_its_number_and_interim_answers_may_be_many)
{
    std::string const bare = "HTTP/1.1 200\r\ncontent-length: 4\r\n\r\nbody";
    std::string many;
    for (int i = 0; i < 500; ++i)
        many += "HTTP/1.1 102\r\n\r\n"; // keeps proxies calm
    for (auto const& text : {bare, many + bare}) {
        for (std::size_t const piece : {text.size(), std::size_t(1), std::size_t(13)}) {
            quern::net::response out;
            reply_reader reader(out, 16'384, 1'000);
            boost::beast::flat_buffer unread;
            for (std::size_t at = 0; at < text.size(); at += piece) {
                auto const part = text.substr(at, piece);
                unread.commit(boost::asio::buffer_copy(unread.prepare(part.size()), boost::asio::buffer(part)));
                BOOST_REQUIRE(!reader.take(unread).has_value());
            }
            BOOST_TEST(reader.is_done());
            BOOST_TEST(out.status == 200);
            BOOST_TEST(out.body == "body");
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
