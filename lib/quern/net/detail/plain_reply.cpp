#include <quern/net/detail/plain_reply.hpp>

#include <quern/core/detail/text/reading.hpp>

#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <optional>

namespace quern::net::detail {

using namespace quern::detail;

namespace {

using boost::beast::iequals;

constexpr auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
};
constexpr auto is_of_value = [](char c) { return c >= ' ' && c <= '~'; };

template <class Kind>
std::string_view leading(std::string_view text, Kind is_wanted)
{
    return {text.begin(), std::find_if_not(text.begin(), text.end(), is_wanted)};
}

std::optional<std::size_t> number(std::string_view text)
{
    constexpr std::size_t most_digits = 12;
    bool const is_plain = text == "0" || (text.front() != '0' && text.size() <= most_digits);
    return is_plain ? text::number_in<std::size_t>(text) : std::nullopt;
}

/// Length of the body by the headers, and whether they leave the connection open.
struct body_end {
    std::optional<std::size_t> length;

    /// False for a header that makes the answer another kind.
    bool meet(std::string_view name, std::string_view value)
    {
        if (iequals(name, "content-length")) {
            bool const is_first = !length;
            length = number(value);
            return is_first && length;
        }
        if (iequals(name, "connection")) return value == "keep-alive";
        return !iequals(name, "transfer-encoding") && !iequals(name, "upgrade") && !iequals(name, "proxy-connection");
    }
};

std::size_t read(std::string_view text, std::size_t max_header, std::size_t max_body, response& out)
{
    constexpr std::string_view status_line = "HTTP/1.1 200 OK\r\n", line_end = "\r\n";
    if (!text.starts_with(status_line)) return 0;
    auto rest = text.substr(status_line.size());
    body_end ends;
    while (!rest.starts_with(line_end)) {
        auto const name = leading(rest, is_of_name);
        rest.remove_prefix(name.size());
        if (name.empty() || !rest.starts_with(": ")) return 0;
        rest.remove_prefix(2);
        auto const value = leading(rest, is_of_value);
        rest.remove_prefix(value.size());
        if (value.empty() || value.front() == ' ' || value.back() == ' ' || !rest.starts_with(line_end)) return 0;
        rest.remove_prefix(line_end.size());
        if (!ends.meet(name, value)) return 0;
        out.fields.add(name, value);
    }
    rest.remove_prefix(line_end.size());
    auto const head = text.size() - rest.size();
    if (!ends.length || head > max_header || *ends.length > max_body || rest.size() < *ends.length) return 0;

    out.status = 200;
    out.body.reserve(*ends.length + response::padding);
    out.body.assign(rest, 0, *ends.length);
    return head + *ends.length;
}

} // namespace

std::size_t read_plain_reply(std::string_view text, std::size_t max_header, std::size_t max_body, response& out)
{
    auto const size = read(text, max_header, max_body, out);
    if (size == 0) out.fields.clear();
    return size;
}

} // namespace quern::net::detail
