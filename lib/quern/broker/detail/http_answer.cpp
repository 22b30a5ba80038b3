#include <quern/broker/detail/http_answer.hpp>

#include <array>
#include <charconv>
#include <cstdio>

namespace quern::broker {
namespace {

std::string_view status_line(int status)
{
    switch (status) {
    case 200: return "HTTP/1.1 200 OK\r\n";
    case 400: return "HTTP/1.1 400 Bad Request\r\n";
    case 403: return "HTTP/1.1 403 Forbidden\r\n";
    case 404: return "HTTP/1.1 404 Not Found\r\n";
    case 413: return "HTTP/1.1 413 Content Too Large\r\n";
    case 431: return "HTTP/1.1 431 Request Header Fields Too Large\r\n";
    case 501: return "HTTP/1.1 501 Not Implemented\r\n";
    case 503: return "HTTP/1.1 503 Service Unavailable\r\n";
    default: return "HTTP/1.1 500 Internal Server Error\r\n";
    }
}

} // namespace

void write_answer(std::string& wire, http_answer const& answer, std::string_view date)
{
    char digits[20];
    auto const end = std::to_chars(std::begin(digits), std::end(digits), answer.body.size()).ptr;

    wire.append(status_line(answer.status));
    wire.append("x-amzn-RequestId: ").append(answer.request_id);
    wire.append("\r\nDate: ").append(date);
    wire.append("\r\nContent-Type: ").append(answer.content_type);
    wire.append("\r\nContent-Length: ").append(digits, end);
    if (!answer.query_error.empty() && !answer.xml)
        wire.append("\r\nx-amzn-query-error: ").append(answer.query_error);
    wire.append(answer.more_headers);
    if (!answer.keep_alive) wire.append("\r\nConnection: close");
    wire.append("\r\n\r\n").append(answer.body);
}

std::string http_date(std::time_t seconds)
{
    static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::array months{
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[64];
    auto const size = std::snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT",
        days[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday, months[static_cast<std::size_t>(parts.tm_mon)],
        parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
    return {text, static_cast<std::size_t>(size)};
}

} // namespace quern::broker
