#include <quern/broker/detail/cors.hpp>

#include <algorithm>

namespace quern::broker::detail {
namespace {

/// A list of names of headers.
bool is_name_list(std::string_view text)
{
    constexpr std::string_view others = "-_, ";
    auto const fits = [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            others.find(c) != others.npos;
    };
    return !text.empty() && text.size() <= 1024 && std::ranges::all_of(text, fits);
}

} // namespace

bool is_origin(std::string_view text)
{
    if (text == "*") return true;
    auto const scheme = text.find("://");
    if (scheme == text.npos || scheme == 0) return false;
    auto const host = text.substr(scheme + 3);
    auto const fits = [](char c) { return c > ' ' && c != '/' && c != '?' && c != '#' && c != '@' && c < '\x7f'; };
    return !host.empty() && std::ranges::all_of(host, fits) && std::ranges::all_of(text.substr(0, scheme), fits);
}

/// The entry that an origin is let in by; empty: none.
std::string_view cors_rule::listed(std::string_view origin) const
{
    if (origin.empty()) return {};
    auto const at = std::ranges::find_if(origins_, [&](auto const& one) { return one == "*" || one == origin; });
    return at == origins_.end() ? std::string_view() : *at;
}

bool cors_rule::answer(net::detail::http_request const& request, http_answer& answer) const
{
    auto const origin = listed(request.fields.find("origin"));
    if (origin.empty()) return false;
    auto& to = answer.more_headers;
    to.append("\r\nAccess-Control-Allow-Origin: ").append(origin).append("\r\nVary: Origin");
    if (request.method != "OPTIONS" || request.fields.find("access-control-request-method").empty()) {
        to += "\r\nAccess-Control-Expose-Headers: x-amzn-RequestId, x-amzn-query-error, Date";
        return false;
    }
    to += "\r\nAccess-Control-Allow-Methods: GET, POST\r\nAccess-Control-Max-Age: 600";
    auto const headers = request.fields.find("access-control-request-headers");
    if (is_name_list(headers)) to.append("\r\nAccess-Control-Allow-Headers: ").append(headers);
    if (request.fields.find("access-control-request-private-network") == "true")
        to += "\r\nAccess-Control-Allow-Private-Network: true";
    answer.content_type = "text/plain";
    return true;
}

} // namespace quern::broker::detail
