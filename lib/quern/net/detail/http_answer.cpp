#include <quern/net/detail/http_session.hpp>

#include <charconv>
#include <iterator>

namespace quern::net::detail {
namespace {

std::string_view status_line(int status)
{
    switch (status) {
    case 200: return "HTTP/1.1 200 OK\r\n";
    case 400: return "HTTP/1.1 400 Bad Request\r\n";
    case 403: return "HTTP/1.1 403 Forbidden\r\n";
    case 404: return "HTTP/1.1 404 Not Found\r\n";
    case 405: return "HTTP/1.1 405 Method Not Allowed\r\n";
    case 413: return "HTTP/1.1 413 Content Too Large\r\n";
    case 431: return "HTTP/1.1 431 Request Header Fields Too Large\r\n";
    case 501: return "HTTP/1.1 501 Not Implemented\r\n";
    case 503: return "HTTP/1.1 503 Service Unavailable\r\n";
    default: return "HTTP/1.1 500 Internal Server Error\r\n";
    }
}

} // namespace

void write_answer(std::string& wire, http_answer const& answer, std::string_view date, bool to_head)
{
    char digits[20];
    auto const end = std::to_chars(std::begin(digits), std::end(digits), answer.body.size()).ptr;

    wire.append(status_line(answer.status)).append("Date: ").append(date);
    wire.append("\r\nContent-Type: ").append(answer.content_type);
    if (!answer.follows) wire.append("\r\nContent-Length: ").append(digits, end);
    wire.append(answer.more_headers);
    if (!answer.keep_alive) wire.append("\r\nConnection: close");
    wire.append("\r\n\r\n");
    if (!to_head) wire.append(answer.body);
}

} // namespace quern::net::detail
