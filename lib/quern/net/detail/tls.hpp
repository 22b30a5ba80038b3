#pragma once

#include <quern/core/error.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace quern::net::detail {

using tls_stream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>;

/// A PEM file that was read.
struct pem_text {
    std::string file; ///< its name, for errors
    std::string text; ///< empty: there is none
};

/// Ingredients of a tls_client, where they are not the same for all.
struct tls_material {
    pem_text authorities; ///< whom to trust; empty: the system's
    pem_text certificate; ///< shown to servers that ask, with its chain; empty: none
    pem_text key;         ///< of the certificate
    int oldest_version = TLS1_2_VERSION;
    bool is_checking = true; ///< certificates and their hosts
};

/// How this client speaks TLS: 1.2 or newer, the certificate and its host checked, sessions resumed. One for each
/// server.
///
/// Lifetime  outlives its streams.
/// Threads   one strand.
class tls_client {
public:
    /// `ca_bundle`: PEM file of trusted authorities; empty: the system's.
    ///
    /// Throws boost::system::system_error when it cannot be read.
    explicit tls_client(std::string const& ca_bundle);

    /// Fails with  errc::invalid_option  one of the texts cannot be used; names its file
    [[nodiscard]] static result<std::shared_ptr<tls_client>> make(tls_material const&);

    tls_client(tls_client const&) = delete;
    ~tls_client();

    boost::asio::ssl::context& context() { return context_; }

    /// Before the handshake: whom to expect, and the session to go on with. What is wrong with a certificate is put
    /// into `fault`, which outlives the stream's handshakes. False when OpenSSL cannot expect such a host
    /// ("fe80::1%eth0"): then there must be no handshake, for any certificate would do.
    [[nodiscard]] bool prepare(tls_stream&, std::string const& host, std::string& fault);

    /// The server asked for a certificate, and there is none.
    static bool was_asked(tls_stream&);

    /// The next handshake is a whole one.
    void forget_session() { session_.reset(); }

    /// "1.2"
    std::string_view oldest() const { return oldest_; }

private:
    tls_client();
    static int keep_session(SSL*, SSL_SESSION*);

    boost::asio::ssl::context context_;
    std::string_view oldest_ = "1.2";
    std::string_view remedy_ = "AWS_CA_BUNDLE or the option ca_bundle"; ///< where authorities are named
    bool is_checking_ = true;

    /// The newest one, used for every new connection until there is a newer one. (RFC 8446, C.4, would have each used
    /// once, so that connections cannot be told to come from one client. Ours are signed with one key.)
    std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> session_{nullptr, SSL_SESSION_free};
};

/// Before a stream is destroyed: OpenSSL takes the session of a connection that ended without a close_notify for a
/// bad one, but whoever frames by length may just close (RFC 5246, 7.2.1).
void keep_resumable(tls_stream&);

/// Why a handshake failed, for a human, and whether another attempt may end otherwise: what a broken connection or a
/// server in trouble says may heal, a certificate that is refused will be refused again.
failure why_refused(boost::system::error_code, std::string const& certificate_fault, std::string_view oldest_version);

/// The server refuses our certificate, or asks for one. In TLS 1.3 that may be told after the handshake.
bool refuses_ours(boost::system::error_code);

/// The server found nothing to agree on.
bool is_handshake_failure(boost::system::error_code);

} // namespace quern::net::detail
