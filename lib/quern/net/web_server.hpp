#pragma once

#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>
#include <quern/net/message.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::net {

/// A request that somebody looks with, or acts.
struct web_request {
    std::string_view
        method; ///< "GET", for HEAD too, which the server answers without its body; "POST" where it may come
    std::string_view path;  ///< "/metrics"
    std::string_view query; ///< what follows the question mark
    headers const& fields;
    std::string_view body; ///< of a POST
};

struct web_answer {
    int status = 200;
    std::string_view content_type = "text/plain; charset=utf-8";
    std::string body;

    /// Value of Content-Security-Policy. For a page: what it may load, run and speak to.
    std::string content_security = "default-src 'none'; frame-ancestors 'none'";

    std::string_view allow = "GET, HEAD"; ///< with the status 405
    bool follows = false; ///< the answer goes on with what web_server::tell() says, until either side closes
};

/// Limits of a server for the operators of a program. Zero is no value for any of them.
struct web_server_options {
    std::string address = "127.0.0.1"; ///< an IP address, not a name: who may connect should not hang on a resolver
    std::uint16_t port = 0;            ///< 0: any free one, see web_server::port()

    /// Names that a Host header may have. Those of the loopback may always be used and, where `address` is no
    /// loopback address, all IP addresses. Other names could be of a page in somebody's browser that lets its own
    /// name resolve to here.
    std::vector<std::string> hosts{};

    /// Lets POST in, with bodies of so much: for what changes something. 0: GET and HEAD are all that there is.
    std::size_t max_body_bytes = 0;

    std::size_t max_header_bytes = 8 * 1024;         ///< browsers send one or two KiB
    std::size_t max_connections = 64;                ///< a page, a scraper and probes need ten; the oldest gives way
    std::size_t max_followers = 32;                  ///< answers that go on, all but one connection; the rest get 503
    std::size_t max_unsent_bytes = 16 * 1024 * 1024; ///< of answers that are not taken; who leaves most has to go
    std::chrono::milliseconds header_timeout{5000};  ///< from the connection, or a request's first byte, to its last
    std::chrono::milliseconds idle_timeout{75'000};  ///< between requests: scrapers come once a minute
    std::chrono::milliseconds write_timeout{5000};   ///< for a client to take an answer, or what a follower is told

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Counts since the start.
struct web_server_counters {
    std::uint64_t connections = 0; ///< accepted
    std::uint64_t cut = 0;         ///< too slow, too many, or too much that they did not take
    std::size_t open = 0;          ///< now
    std::size_t followers = 0;     ///< now
};

/// A small HTTP/1.1 server for the operators of a program. Every answer forbids browsers to guess its type, to keep
/// it, or to give it to other sites. Requests that scripts of other sites make are refused.
///
/// Changes   none, unless `max_body_bytes` lets POST in. Such a request has to bring token() in the header
///           X-Quern-Token, which no page of another site can read or send, and its Origin, where it names one, has
///           to be the server's. That is looked at before its body is taken.
/// Lifetime  connections end soon after the object does; `serve` is not called any more.
/// Threads   none of its own; all calls on the executor, which runs one handler at a time (a strand, or an io_context
///           with one thread). The clock outlives the connections.
class web_server {
public:
    using answerer = std::function<web_answer(web_request const&)>;

    /// `serve` is called for each request, and does not block; what it throws becomes 500.
    ///
    /// Throws boost::system::system_error when an option is invalid.
    web_server(boost::asio::any_io_executor, web_server_options, answerer serve, clock& = real_clock());
    ~web_server();
    web_server(web_server const&) = delete;
    web_server& operator=(web_server const&) = delete;

    /// Binds and starts to accept. Fails when the address is taken or none of this machine's.
    [[nodiscard]] result<void> listen();

    std::uint16_t port() const; ///< 0 before listen()
    std::string url() const;    ///< "http://127.0.0.1:9090"

    /// Text that a POST has to bring, drawn anew for each server: for the page to fetch. Empty where none may come.
    std::string_view token() const;

    /// Adds a piece to every answer that goes on. Whoever has not taken the one before gets none of this one, and is
    /// closed once write_timeout is over.
    void tell(std::string_view piece);

    /// Closes all connections, and accepts no more.
    void close();

    web_server_counters counters() const;

private:
    class core;
    std::shared_ptr<core> core_;
};

} // namespace quern::net
