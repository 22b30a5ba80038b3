#include <quern/core/detail/text/characters.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/net/endpoint.hpp>

#include <boost/asio/ip/address.hpp>

#include <algorithm>

namespace quern::net {

using namespace quern::detail;

namespace {

failure malformed(std::string_view url, std::string_view why)
{
    return {errc::invalid_option, "endpoint \"" + shown_url(url) + "\": " + std::string(why)};
}

bool plain(char c)
{
    return c > ' ' && c < '\x7f' && c != '"' && c != '<' && c != '>' && c != '\\';
}

bool is_ipv6(std::string const& text)
{
    boost::system::error_code no_address;
    boost::asio::ip::make_address_v6(text, no_address);
    return !no_address;
}

} // namespace

std::string endpoint::authority() const
{
    std::string text = host.find(':') == std::string::npos ? host : '[' + host + ']';
    if (port != (tls ? 443 : 80)) text += ':' + std::to_string(port);
    return text;
}

bool is_this_machine(std::string_view host)
{
    boost::system::error_code no_address;
    auto const address = boost::asio::ip::make_address(host, no_address);
    if (!no_address) return address.is_loopback();
    return text::equal_ignoring_case(host, "localhost");
}

std::string shown_url(std::string_view url)
{
    auto const scheme_end = url.find("://");
    auto const scheme = scheme_end == url.npos ? std::string_view() : url.substr(0, scheme_end + 3);
    auto rest = url.substr(scheme.size());
    auto const query = rest.find_first_of("?#");
    auto const secret_end = rest.rfind('@');
    if (secret_end != rest.npos && secret_end > query) // a query with an address in it, or a password with a '?'
        return std::string(scheme).append("...");
    rest = rest.substr(0, query);
    if (secret_end != rest.npos) rest.remove_prefix(secret_end + 1);
    return std::string(scheme).append(rest).append(query == rest.npos ? "" : "?...");
}

result<endpoint> parse_url(std::string_view url)
{
    endpoint out;
    std::string_view rest = url;
    if (text::equal_ignoring_case(rest.substr(0, 8), "https://")) { // RFC 3986, 3.1: a scheme has no case
        rest.remove_prefix(8);
    } else if (text::equal_ignoring_case(rest.substr(0, 7), "http://")) {
        rest.remove_prefix(7);
        out.tls = false;
        out.port = 80;
    } else {
        return malformed(url, "must begin with http:// or https://");
    }
    if (!std::all_of(rest.begin(), rest.end(), plain))
        return malformed(url, "contains a character that a URL may not");
    if (rest.find('#') != rest.npos) return malformed(url, "must not have a fragment");

    auto const target = std::min(rest.find_first_of("/?"), rest.size());
    std::string_view authority = rest.substr(0, target);
    if (target < rest.size()) out.path = rest.substr(target);
    if (out.path.front() == '?') out.path.insert(0, 1, '/');
    if (authority.find('@') != authority.npos) return malformed(url, "must not carry a user name");

    std::string_view port;
    if (authority.starts_with('[')) {
        auto const end = authority.find(']');
        if (end == authority.npos) return malformed(url, "the IPv6 address has no closing bracket");
        out.host = authority.substr(1, end - 1);
        if (!is_ipv6(out.host)) return malformed(url, "no IPv6 address stands in the brackets");
        port = authority.substr(end + 1);
        if (!port.empty() && port.front() != ':') return malformed(url, "unexpected text after the IPv6 address");
    } else {
        auto const colon = std::min(authority.find(':'), authority.size());
        out.host = authority.substr(0, colon);
        if (out.host.find_first_of("[]") != out.host.npos)
            return malformed(url, "only an IPv6 address, and all of it, stands in brackets");
        port = authority.substr(colon);
    }
    if (out.host.empty()) return malformed(url, "has no host");
    if (!port.empty()) {
        port.remove_prefix(1);
        out.port = text::number_in<std::uint16_t>(port).value_or(0);
        if (out.port == 0) return malformed(url, "the port must be a number from 1 to 65535");
    }
    return out;
}

result<endpoint> parse_endpoint(std::string_view url)
{
    if (url.find_first_of("?#") != url.npos) return malformed(url, "must not have a query or a fragment");
    return parse_url(url);
}

} // namespace quern::net
