#pragma once

#include <quern/core/error.hpp>
#include <quern/net/endpoint.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace quern::net::detail {

/// An HTTP proxy on the way to an endpoint.
struct proxy {
    endpoint at;
    std::string authorization; ///< value of Proxy-Authorization; empty when the URL carries no user

    /// "proxy cache.example:3128", for errors: never with user or password.
    std::string name() const { return "proxy " + at.host + ':' + std::to_string(at.port); }
};

/// Reads "http://user:password@host:port", user and password percent-encoded. Without a scheme it is http; without a
/// port 80.
///
/// Fails with  errc::invalid_option  another scheme than http (a proxy that is itself reached over TLS, SOCKS), a
///                                   path, or no host. The message never names user or password.
[[nodiscard]] result<proxy> parse_proxy(std::string_view url);

/// The proxy that the environment names for requests to this endpoint; empty for none.
///
/// https   https_proxy, HTTPS_PROXY
/// http    http_proxy, HTTP_PROXY, the latter not in a CGI program (REQUEST_METHOD is set): there it is a header of
///         the request, and anyone's to choose (httpoxy, CVE-2016-5385)
///
/// Nothing goes through a proxy to this machine itself (localhost, 127.0.0.0/8, ::1), nor to what no_proxy or
/// NO_PROXY lists. The lower-case name wins, as in curl.
std::string proxy_for(endpoint const&, std::function<std::string(char const* name)> const& environment);

/// Whether a no_proxy list names the endpoint: entries stand between commas or spaces, and are
///
/// *                  everything
/// example.com        the host and all below it; so does .example.com
/// 10.1.2.3, ::1      an address; 10.0.0.0/8, fd00::/8 a range of them
/// any of these:443   the same on that port alone
bool is_listed(std::string_view no_proxy, endpoint const&);

/// Request that opens a tunnel to the endpoint.
std::string connect_request(proxy const&, endpoint const& to);

/// Rewrites a request so that a proxy can pass it on: the target with its origin (RFC 9112, 3.2.2), and the proxy's
/// credentials.
void address_to_proxy(std::string& request_text, proxy const&, endpoint const& to);

/// Failure that a proxy's answer other than 2xx means. 502, 503 and 504 may pass, all others stay.
failure refused_by(proxy const&, int status);

} // namespace quern::net::detail
