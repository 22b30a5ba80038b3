#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/net/endpoint.hpp>
#include <quern/net/message.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::net {

/// A request to a web service of the user's. Not an aggregate: g++ 12.2 destroys those twice in a `co_await`
/// expression (GCC PR107288).
struct web_hook_request {
    std::string method = "POST";
    endpoint to;             ///< its path is the target and may have a query; see parse_url()
    std::string unix_socket; ///< path of a socket to connect to instead; `to` still gives Host and the name on the
                             ///< certificate
    std::vector<std::pair<std::string, std::string>>
        headers; ///< written in this order, between Host and Content-Length
    std::string body;
    std::chrono::milliseconds timeout{30'000}; ///< from the call to the last byte of the answer
    bool replay = false;                       ///< once more, on a fresh connection, after web_hook_fault::stale

    web_hook_request() = default;
    explicit web_hook_request(endpoint where) : to(std::move(where)) {}
};

/// Why there is no whole answer, by what the service can have seen of the request.
enum class web_hook_fault {
    // Nothing was sent, or nothing that the service could act upon.
    invalid_request = 1, ///< method, target, header or timeout cannot be sent as they are; see header_problem()
    busy,                ///< all connections to this host were in use until the time was up
    not_resolved,        ///< the host's name is unknown, or could not be looked up in time
    not_connected,       ///< refused, unreachable, no such socket, or no connection in time
    proxy_refused,       ///< the proxy answered for itself: 407, or another status than 2xx to CONNECT
    tls_failed,          ///< the handshake failed for another reason than a certificate
    their_certificate,   ///< the server's certificate is expired, for another host, or of nobody trusted here
    own_certificate,     ///< ours cannot be read, or the server refuses it or asks for one

    // The service may have carried the request out.
    stale, ///< a connection used before was closed before any byte of an answer: most likely it had been idle too long
    closed,    ///< a fresh connection was closed before any byte of an answer
    timed_out, ///< the request was (at least partly) written, and the time was up before the answer was whole
    cancelled, ///< by the caller, or the client was closed

    // The service answered.
    cut_off,    ///< the connection ended within the answer
    too_large,  ///< headers or body of the answer exceed the limit
    bad_answer, ///< what came is not HTTP/1.x
};

/// "their_certificate"
std::string_view name(web_hook_fault);

/// How far a request that failed can have come.
enum class web_hook_reach {
    nothing,  ///< the service cannot have acted on it
    perhaps,  ///< it may have
    answered, ///< it has seen it: an answer began
};
web_hook_reach reach_of(web_hook_fault);

struct web_hook_error {
    web_hook_fault fault{};
    failure why;    ///< its code and a sentence for the log; no header value and no body stand in it
    int status = 0; ///< of the answer whose headers came whole, also when its body did not; else 0
    headers fields; ///< its headers

    web_hook_error() = default;
    web_hook_error(web_hook_fault what, failure because) : fault(what), why(std::move(because)) {}
};

using web_hook_result = boost::system::result<response, web_hook_error>;

[[noreturn]] void throw_exception_from_error(web_hook_error const&, boost::source_location const&);

/// The seam between those who send and the network; net::web_hook_client is the network.
class web_hook_sender {
public:
    virtual ~web_hook_sender() = default;

    /// Completes with a whole answer, whatever its status, 200 to 599. Interim ones (1xx) are passed over. Redirects
    /// are answers like any other: they are never followed.
    ///
    /// Fails with    a web_hook_fault
    /// Cancellation  terminal; the connection is closed.
    virtual boost::asio::awaitable<web_hook_result> send(web_hook_request) = 0;
};

/// Why such a header cannot be sent; nothing when it can. Names are tokens (RFC 9110, 5.6.2); no value holds a
/// control character other than a tab, so that nothing in it can end the line; and what frames the message or is
/// meant for the next hop is the client's own: Host, Content-Length, Transfer-Encoding, Connection and their like.
/// The text names the header when its name is harmless, and never the value.
std::optional<std::string> header_problem(std::string_view name, std::string_view value);

/// Host, Content-Length, Transfer-Encoding, Connection and others that only the client may write.
bool is_own_header(std::string_view name);

/// The first thing that keeps the request from being sent.
[[nodiscard]] std::optional<failure> problem_of(web_hook_request const&);

} // namespace quern::net
