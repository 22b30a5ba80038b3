#pragma once

#include <quern/core/error.hpp>
#include <quern/net/endpoint.hpp>
#include <quern/net/message.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace quern::net {

namespace detail {
class host_pool;
}

struct client_options {
    std::chrono::milliseconds connect_timeout{3'100}; ///< resolve, connect and TLS handshake together, within the
                                                      ///< request's own timeout
    std::chrono::milliseconds idle_timeout{15'000};   ///< a connection unused for longer is not used again
    std::size_t data_connections = 64;                ///< at most; a request beyond them waits for one
    std::size_t control_connections =
        64; ///< at most; opened as they are needed. Two consumers with the usual settings fit
    std::size_t max_reply_bytes = 32 * 1024 * 1024; ///< ten messages of 1 MiB, each byte escaped to two, and room
    std::size_t max_header_bytes = 16 * 1024;
    std::string
        ca_bundle{}; ///< PEM file of trusted authorities; empty: AWS_CA_BUNDLE in sqs::client, else the system's

    /// "http://user:password@host:3128"; empty: none; absent: what the environment names in sqs::client, else none.
    std::optional<std::string> proxy{};

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// Connections opened and requests sent since the start. For tests and reports.
struct client_counters {
    std::size_t connects = 0;
    std::size_t requests = 0;
    std::size_t replays = 0;     ///< sent again because a kept-alive connection turned out dead
    std::size_t resumptions = 0; ///< connects whose TLS session went on from an earlier one
};

/// HTTP/1.1 to one origin over a keep-alive pool with two lanes.
///
/// Lifetime  the state outlives the object until the last exchange has ended; destroying it closes idle connections.
/// Threads   one strand: that of the executor given.
class client {
public:
    /// Throws boost::system::system_error when an option is invalid or the CA bundle cannot be read.
    client(boost::asio::any_io_executor, endpoint, client_options = client_options());
    ~client();
    client(client const&) = delete;
    client& operator=(client const&) = delete;

    /// Sends the request and reads the whole answer, whatever its status. Lasts no longer than the request's timeout,
    /// the wait for a connection and opening one included; a long poll may wait that long for a connection, and has
    /// its whole timeout once it has one.
    ///
    /// Fails with    errc::connect_failed, tls_failed   nothing was sent; a proxy that refuses, included
    ///               errc::timed_out, connection_lost   it may have been carried out
    ///               errc::bad_reply, reply_too_large   it was answered, not in HTTP or beyond the limits
    ///               errc::stopped                      cancelled
    /// Cancellation  terminal; the connection is closed.
    boost::asio::awaitable<result<response>> exchange(request);

    /// Ends every exchange under way with errc::stopped and closes all connections.
    void close();

    endpoint const& peer() const;
    client_counters counters() const; ///< from any thread
    boost::asio::any_io_executor get_executor() const;

private:
    std::shared_ptr<detail::host_pool> pool_;
};

} // namespace quern::net
