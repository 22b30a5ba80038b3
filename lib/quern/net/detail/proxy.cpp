#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/characters.hpp>
#include <quern/net/detail/proxy.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include <algorithm>

namespace quern::net::detail {

using namespace quern::detail;
namespace ip = boost::asio::ip;

namespace {

using error_code = boost::system::error_code;

/// RFC 7617.
std::string basic(std::string_view user_info)
{
    auto const colon = std::min(user_info.find(':'), user_info.size());
    auto const password = user_info.substr(std::min(colon + 1, user_info.size()));
    auto const plain = text::percent_decoded(user_info.substr(0, colon)) + ':' + text::percent_decoded(password);
    return "Basic " + text::base64_encode(plain);
}

/// "example.com:443", an IPv6 address in brackets; always with the port.
std::string host_and_port(endpoint const& at)
{
    auto const host = at.host.find(':') == std::string::npos ? at.host : '[' + at.host + ']';
    return host + ':' + std::to_string(at.port);
}

bool is_in_network(ip::address const& address, std::string const& network)
{
    error_code ec;
    if (address.is_v4()) {
        auto const range = ip::make_network_v4(network, ec);
        return !ec && ip::network_v4(address.to_v4(), range.prefix_length()).network() == range.network();
    }
    auto const range = ip::make_network_v6(network, ec);
    return !ec && ip::network_v6(address.to_v6(), range.prefix_length()).network() == range.network();
}

/// Takes ":443" off the end of an entry; false when that is another port than the endpoint's.
bool is_on_port(std::string& entry, endpoint const& to)
{
    auto const bracket = entry.rfind(']');
    auto const colon = entry.rfind(':');
    bool const is_bare_v6 = bracket == entry.npos && entry.find(':') != colon;
    bool const has_port = colon != entry.npos && !is_bare_v6 && (bracket == entry.npos || bracket < colon);
    if (has_port) {
        if (entry.substr(colon + 1) != std::to_string(to.port)) return false;
        entry.resize(colon);
    }
    if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
    return true;
}

bool names(std::string entry, endpoint const& to, std::string const& host)
{
    if (entry == "*") return true;
    if (!is_on_port(entry, to)) return false;
    error_code no_address;
    auto const address = ip::make_address(host, no_address);
    if (!no_address) {
        if (entry.find('/') != entry.npos) return is_in_network(address, entry);
        error_code no_entry;
        auto const listed = ip::make_address(entry, no_entry);
        return !no_entry && listed == address;
    }
    entry.erase(0, entry.starts_with("*.") ? 2 : entry.starts_with('.') ? 1 : 0);
    if (entry.empty()) return false;
    return host == entry || host.ends_with('.' + entry);
}

failure wrong(std::string_view url, std::string_view why)
{
    return {errc::invalid_option,
        "proxy \"" + shown_url(url) + "\" (HTTPS_PROXY, HTTP_PROXY or the option proxy): " + std::string(why)};
}

} // namespace

result<proxy> parse_proxy(std::string_view url)
{
    auto const scheme_end = url.find("://");
    auto const scheme = scheme_end == url.npos ? "http" : text::lower_case(url.substr(0, scheme_end));
    auto rest = scheme_end == url.npos ? url : url.substr(scheme_end + 3);
    auto const slash = std::min(rest.find('/'), rest.size());
    auto const at_sign = rest.substr(0, slash).rfind('@');
    std::string_view user;
    if (at_sign != rest.npos) {
        user = rest.substr(0, at_sign);
        rest.remove_prefix(at_sign + 1);
    }
    if (scheme != "http")
        return wrong(url, "only http:// proxies are supported, not " + scheme + "://; they tunnel https as well");
    auto found = parse_endpoint("http://" + std::string(rest));
    if (!found) return wrong(url, "not http://[user:password@]host[:port]");
    if (found->path != "/") return wrong(url, "must not have a path");
    proxy out;
    out.at = std::move(*found);
    if (!user.empty()) out.authorization = basic(user);
    return out;
}

std::string proxy_for(endpoint const& to, std::function<std::string(char const*)> const& environment)
{
    auto const first = [&](char const* one, char const* other) {
        auto value = environment(one);
        return value.empty() ? environment(other) : value;
    };
    std::string found;
    if (to.tls)
        found = first("https_proxy", "HTTPS_PROXY");
    else if (environment("REQUEST_METHOD").empty())
        found = first("http_proxy", "HTTP_PROXY");
    else
        found = environment("http_proxy");
    if (found.empty() || is_this_machine(to.host) || text::lower_case(to.host).ends_with(".localhost")) return {};
    return is_listed(first("no_proxy", "NO_PROXY"), to) ? std::string() : found;
}

bool is_listed(std::string_view no_proxy, endpoint const& to)
{
    auto const host = text::lower_case(to.host);
    constexpr std::string_view between = ", \t";
    for (std::size_t at = no_proxy.find_first_not_of(between); at < no_proxy.size();) {
        auto const end = std::min(no_proxy.find_first_of(between, at), no_proxy.size());
        if (names(text::lower_case(no_proxy.substr(at, end - at)), to, host)) return true;
        at = no_proxy.find_first_not_of(between, end);
    }
    return false;
}

std::string connect_request(proxy const& via, endpoint const& to)
{
    auto const where = host_and_port(to);
    auto text = "CONNECT " + where + " HTTP/1.1\r\nhost: " + where + "\r\n";
    if (!via.authorization.empty()) text += "proxy-authorization: " + via.authorization + "\r\n";
    return text + "\r\n";
}

void address_to_proxy(std::string& text, proxy const& via, endpoint const& to)
{
    auto const line_end = text.find("\r\n");
    if (!via.authorization.empty() && line_end != text.npos)
        text.insert(line_end, "\r\nproxy-authorization: " + via.authorization);
    auto const target = text.find(' ');
    if (target != text.npos) text.insert(target + 1, to.origin());
}

failure refused_by(proxy const& via, int status)
{
    auto const answer = via.name() + " answered " + std::to_string(status);
    if (status == 407) {
        return {errc::connect_failed,
            answer +
                (via.authorization.empty() ? ": it asks for credentials; put user:password@ before its host"
                                           : ": it refuses the user or the password in its URL")};
    }
    return {errc::connect_failed, answer, status == 502 || status == 503 || status == 504};
}

} // namespace quern::net::detail
