#include <quern/net/web_hook.hpp>

#include <quern/net/detail/web_hook_text.hpp>

#include <boost/beast/core/string.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>

namespace quern::net {

namespace {

using boost::beast::iequals;

constexpr std::size_t longest_unix_path = 107; // of sockaddr_un, and its end

/// RFC 9110, 5.6.2.
bool is_token(std::string_view text)
{
    auto const is_part = [](char c) {
        constexpr std::string_view signs = "!#$%&'*+-.^_`|~";
        bool const is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        return is_letter || (c >= '0' && c <= '9') || signs.find(c) != signs.npos;
    };
    return !text.empty() && std::ranges::all_of(text, is_part);
}

bool is_visible(char c)
{
    return c > ' ' && c <= '~';
}

bool is_control(char c)
{
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

/// Servers that hand headers on as variables make no difference between the two.
std::string dashed(std::string_view name)
{
    std::string out(name);
    std::ranges::replace(out, '_', '-');
    return out;
}

std::optional<failure> refused(std::string why)
{
    return failure(errc::invalid_request, std::move(why));
}

std::optional<failure> problem_of_target(endpoint const& to)
{
    auto const is_of_host = [](char c) {
        return is_visible(c) && std::string_view("/?#@").find(c) == std::string::npos;
    };
    if (to.host.empty()) return refused("the request has no host");
    if (!std::ranges::all_of(to.host, is_of_host)) return refused("the host contains a character that it may not");
    if (!to.path.starts_with('/')) return refused("the target must begin with a slash");
    if (!std::ranges::all_of(to.path, is_visible) || to.path.find('#') != to.path.npos)
        return refused("the target contains a character that it may not");
    return {};
}

} // namespace

std::string_view name(web_hook_fault fault)
{
    switch (fault) {
    case web_hook_fault::invalid_request: return "invalid_request";
    case web_hook_fault::busy: return "busy";
    case web_hook_fault::not_resolved: return "not_resolved";
    case web_hook_fault::not_connected: return "not_connected";
    case web_hook_fault::proxy_refused: return "proxy_refused";
    case web_hook_fault::tls_failed: return "tls_failed";
    case web_hook_fault::their_certificate: return "their_certificate";
    case web_hook_fault::own_certificate: return "own_certificate";
    case web_hook_fault::stale: return "stale";
    case web_hook_fault::closed: return "closed";
    case web_hook_fault::timed_out: return "timed_out";
    case web_hook_fault::cancelled: return "cancelled";
    case web_hook_fault::cut_off: return "cut_off";
    case web_hook_fault::too_large: return "too_large";
    case web_hook_fault::bad_answer: return "bad_answer";
    }
    return "unknown";
}

web_hook_reach reach_of(web_hook_fault fault)
{
    if (fault < web_hook_fault::stale) return web_hook_reach::nothing;
    return fault < web_hook_fault::cut_off ? web_hook_reach::perhaps : web_hook_reach::answered;
}

void throw_exception_from_error(web_hook_error const& error, boost::source_location const& where)
{
    throw_exception_from_error(error.why, where);
}

bool is_own_header(std::string_view name)
{
    constexpr std::array<std::string_view, 11> own{"host", "content-length", "transfer-encoding", "connection",
        "keep-alive", "te", "trailer", "upgrade", "expect", "proxy-connection", "proxy-authorization"};
    auto const text = dashed(name);
    return std::ranges::any_of(own, [&](std::string_view each) { return iequals(text, each); });
}

std::optional<std::string> header_problem(std::string_view name, std::string_view value)
{
    if (!is_token(name)) return "the name of a header is empty or contains a character that it may not";
    if (is_own_header(name)) return "the header " + std::string(name) + " is the client's own";
    if (std::ranges::any_of(value, is_control))
        return "the value of the header " + std::string(name) + " contains a line break or another control character";
    return {};
}

std::optional<failure> problem_of(web_hook_request const& ask)
{
    if (!is_token(ask.method)) return refused("the method is not a word");
    if (iequals(ask.method, "CONNECT") || iequals(ask.method, "TRACE"))
        return refused("the method " + ask.method + " is for proxies");
    if (auto wrong = problem_of_target(ask.to)) return wrong;
    if (ask.unix_socket.size() > longest_unix_path) return refused("the path of the unix socket is too long");
    if (ask.unix_socket.find('\0') != std::string::npos) return refused("the path of the unix socket contains a NUL");
    for (auto const& [name, value] : ask.headers) {
        if (auto wrong = header_problem(name, value)) return refused(std::move(*wrong));
    }
    if (ask.timeout.count() <= 0) return refused("the timeout must be longer than zero");
    if (ask.timeout > longest_wait) return refused("the timeout must not exceed a day");
    return {};
}

std::string detail::wire_text(web_hook_request const& ask)
{
    std::string text;
    text.reserve(512 + ask.to.path.size() + ask.body.size());
    text.append(ask.method).append(" ").append(ask.to.path).append(" HTTP/1.1\r\nHost: ").append(ask.to.authority());
    for (auto const& [name, value] : ask.headers)
        text.append("\r\n").append(name).append(": ").append(value);
    bool const may_be_bare = ask.method == "GET" || ask.method == "HEAD" || ask.method == "DELETE";
    if (!ask.body.empty() || !may_be_bare)
        text.append("\r\nContent-Length: ").append(std::to_string(ask.body.size()));
    return text.append("\r\n\r\n").append(ask.body);
}

} // namespace quern::net
