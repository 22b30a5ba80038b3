#include "target.hpp"

#include <quern/net/detail/http_request.hpp>
#include <quern/net/detail/http_rules.hpp>
#include <quern/net/detail/message_parser.hpp>
#include <quern/net/detail/proxy.hpp>
#include <quern/net/detail/web_hook_text.hpp>
#include <quern/net/endpoint.hpp>
#include <quern/net/message.hpp>
#include <quern/net/web_hook.hpp>

#include <net/reply_reader_fuzz.hpp>

#include <boost/asio/buffer.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace quern::fuzz {

using namespace quern::net::detail;

namespace {

constexpr std::size_t max_header = 4096;
constexpr std::size_t max_body = 1 << 20;

namespace http = boost::beast::http;

/// How a text was read: whole, refused, or not to its end.
enum class end { whole, refused, more };

/// Gives the text to a parser in pieces of this size, as a connection does.
template <class Parser, class Read>
end feed(Parser& parser, std::string_view text, std::size_t piece, Read read)
{
    std::string waiting;
    while (!text.empty() || !waiting.empty()) {
        auto const next = std::min(piece, text.size());
        waiting.append(text.substr(0, next));
        text.remove_prefix(next);
        while (!waiting.empty() && !parser.is_done()) {
            boost::system::error_code ec;
            auto const used = read(parser, waiting, ec);
            waiting.erase(0, used);
            if (ec && ec != http::error::need_more) return end::refused;
            if (ec || used == 0) break;
        }
        if (parser.is_done()) return end::whole;
        if (waiting.size() > max_header) return end::refused;
        if (text.empty()) break;
    }
    return end::more;
}

std::string text_of(net::headers const& fields)
{
    std::string out;
    for (std::size_t i = 0; i != fields.size(); ++i) {
        auto const [name, value] = fields[i];
        out.append(name).append(": ").append(value).append("\n");
    }
    return out;
}

struct read_request {
    end how;
    std::string text;
};

read_request request_in_pieces(std::string_view bytes, std::size_t piece)
{
    net::detail::http_request out;
    request_parser parser(out, max_header, max_body);
    auto const how = feed(parser, bytes, piece,
        [](auto& p, std::string const& text, auto& ec) { return p.read(boost::asio::buffer(text), ec); });
    return {how, out.method + ' ' + out.target + '\n' + text_of(out.fields) + '\n' + out.body};
}

read_request answer_in_pieces(std::string_view bytes, std::size_t piece)
{
    net::response out;
    reply_parser parser(out, max_header, max_body);
    auto const how = feed(parser, bytes, piece,
        [](auto& p, std::string const& text, auto& ec) { return p.read(boost::asio::buffer(text), ec); });
    return {how, std::to_string(out.status) + '\n' + text_of(out.fields) + '\n' + out.body};
}

template <class Read>
void same_in_pieces(std::string_view bytes, Read read)
{
    if (bytes.empty()) return;
    auto const piece = 1 + static_cast<std::uint8_t>(bytes.front()) % 64;
    bytes.remove_prefix(1);
    auto const whole = read(bytes, bytes.size() + 1);
    auto const pieces = read(bytes, piece);
    if (whole.how == end::whole && pieces.how == end::whole)
        must(whole.text == pieces.text, "a message is the same however it is cut");
    must(whole.how != end::whole || pieces.how != end::more, "a message that is whole is whole in pieces");
}

} // namespace

void http_request(std::string_view bytes)
{
    same_in_pieces(bytes, request_in_pieces);
}

void http_answer(std::string_view bytes)
{
    same_in_pieces(bytes, answer_in_pieces);
    if (!bytes.empty()) reply_reader_fuzz(bytes.substr(1));
}

void web_hook_request(std::string_view bytes)
{
    auto const piece = [&] { // up to a byte that neither a line nor a text has
        auto const end = std::min(bytes.find('\xff'), bytes.size());
        std::string const out(bytes.substr(0, end));
        bytes.remove_prefix(std::min(end + 1, bytes.size()));
        return out;
    };
    net::web_hook_request ask;
    ask.method = piece();
    ask.to.path = piece();
    ask.to.host = piece();
    auto const name = piece();
    ask.headers.emplace_back(name, piece());
    ask.body = bytes;
    if (net::problem_of(ask)) return;
    auto const text = wire_text(ask);
    auto const head = text.substr(0, text.size() - ask.body.size());
    auto const lines = std::ranges::count(head, '\n');
    must(lines == (head.find("\r\nContent-Length: ") == head.npos ? 4 : 5), "a request has the lines it was given");
    must(std::ranges::count(head, '\r') == lines && head.find('\0') == head.npos, "no control character ends a line");
    must(head.find("\r\n\r\n") == head.size() - 4, "the head ends where the body begins");
    must(
        head.starts_with(ask.method + ' ' + ask.to.path + " HTTP/1.1\r\nHost: "), "the first line is of three words");
}

void urls(std::string_view bytes)
{
    auto const read = net::parse_endpoint(bytes);
    if (read) {
        auto const again = net::parse_endpoint(read->origin() + read->path);
        must(again && again->origin() == read->origin() && again->path == read->path,
            "an endpoint can be written and read again");
    }
    auto const whole = net::parse_url(bytes);
    if (whole) {
        auto const again = net::parse_url(whole->origin() + whole->path);
        must(again && again->origin() == whole->origin() && again->path == whole->path,
            "a URL can be written and read again");
    }
    auto const through = parse_proxy(bytes);
    if (through) must(through->name().find('\n') == std::string::npos, "no proxy has a name of two lines");
    net::shown_url(bytes);
    auto const half = bytes.size() / 2;
    net::endpoint const to{true, std::string(bytes.substr(0, half)), 443, "/"};
    is_listed(bytes.substr(half), to);
    is_local_host(bytes, {});
    is_address(bytes);
}

} // namespace quern::fuzz
