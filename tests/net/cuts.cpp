#include <quern/net/detail/message_parser.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

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
    cut_everywhere<quern::net::reply_parser, quern::net::response>("HTTP/1.1 200 OK");
}

BOOST_AUTO_TEST_CASE(a_request_may_arrive_in_any_pieces)
{
    cut_everywhere<quern::net::request_parser, quern::net::http_request>("POST / HTTP/1.1");
}

BOOST_AUTO_TEST_SUITE_END()
