#pragma once

#include <quern/core/error.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <memory>
#include <string>

namespace quern::net {

using tls_stream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>;

/// How this client speaks TLS: 1.2 or newer, the certificate and its host always checked, sessions resumed.
///
/// Lifetime  outlives its streams.
/// Threads   one strand.
class tls_client {
public:
    /// `ca_bundle`: PEM file of trusted authorities; empty: the system's.
    ///
    /// Throws boost::system::system_error when it cannot be read.
    explicit tls_client(std::string const& ca_bundle);
    tls_client(tls_client const&) = delete;
    ~tls_client();

    boost::asio::ssl::context& context() { return context_; }

    /// Before the handshake: whom to expect, and the session to go on with. What is wrong with a certificate is put into
    /// `fault`, which outlives the stream's handshakes. False when OpenSSL cannot expect such a host ("fe80::1%eth0"):
    /// then there must be no handshake, for any certificate would do.
    [[nodiscard]] bool prepare(tls_stream&, std::string const& host, std::string& fault);

    /// The next handshake is a whole one.
    void forget_session() { session_.reset(); }

private:
    static int keep_session(SSL*, SSL_SESSION*);

    boost::asio::ssl::context context_;

    /// The newest one, used for every new connection until there is a newer one. (RFC 8446, C.4, would have each used
    /// once, so that connections cannot be told to come from one client. Ours are signed with one key.)
    std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> session_{nullptr, SSL_SESSION_free};
};

/// Before a stream is destroyed: OpenSSL takes the session of a connection that ended without a close_notify for a bad
/// one, but whoever frames by length may just close (RFC 5246, 7.2.1).
void keep_resumable(tls_stream&);

/// Why a handshake failed, for a human, and whether another attempt may end otherwise: what a broken connection or a
/// server in trouble says may heal, a certificate that is refused will be refused again.
failure why_refused(boost::system::error_code, std::string const& certificate_fault);

} // namespace quern::net
