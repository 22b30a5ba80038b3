#pragma once

#include <quern/net/web_hook.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace quern::net {

enum class tls_version { v1_2, v1_3 };

struct web_hook_options {
    std::size_t connections = 64;                     ///< to one host at most; a request beyond them waits for one
    std::chrono::milliseconds connect_timeout{5'000}; ///< look-up, connect and TLS handshake together, within the
                                                      ///< request's own timeout
    std::chrono::milliseconds idle_timeout{15'000};   ///< a connection unused for longer is not used again
    std::chrono::milliseconds max_age{
        60'000}; ///< a connection open for longer gets no further request, so that addresses
                 ///< that change and balancers are followed; zero: one request each
    std::size_t max_answer_bytes = 1024 * 1024;
    std::size_t max_header_bytes = 16 * 1024;

    std::string ca_file{}; ///< PEM file of trusted authorities; empty: the system's
    tls_version min_tls = tls_version::v1_2;
    bool insecure = false;          ///< certificates and their hosts go unchecked
    std::string certificate_file{}; ///< PEM, with its chain, shown to servers that ask for one; empty: none
    std::string key_file{};         ///< PEM, without a passphrase; empty: in the certificate's file

    std::optional<std::string>
        proxy{}; ///< "http://user:password@host:3128"; empty: none; absent: what the environment names
                 ///< for the host (https_proxy, http_proxy, no_proxy). Never used for a unix socket

    /// Where proxies are looked up; empty: nowhere.
    std::function<std::string(char const* name)> environment{};

    /// The first setting that cannot work, by name. Reads no file.
    [[nodiscard]] std::optional<failure> validate() const;
};

/// For tests and reports.
struct web_hook_counters {
    std::size_t connects = 0; ///< connections opened, or tried to
    std::size_t requests = 0;
    std::size_t replays = 0;
    std::size_t reloads = 0; ///< changed TLS files that were taken up
    std::size_t open = 0;    ///< connections as of now, idle ones included
};

/// HTTP/1.1 to the web services of users, over a pool of kept-alive connections for each host.
///
/// TLS files that have changed (time, size or place) are read again before the next connection is opened; connections
/// with the old ones end after their request. While the new ones cannot be read, as between the replacement of a
/// certificate and that of its key, the old ones stay in use.
///
/// Lifetime  the state outlives the object until the last request has ended; destroying it closes idle connections.
/// Threads   one strand: that of the executor given.
class web_hook_client final : public web_hook_sender {
public:
    /// Throws boost::system::system_error when an option is invalid, or a TLS file that is named cannot be read.
    web_hook_client(boost::asio::any_io_executor, web_hook_options = web_hook_options());
    ~web_hook_client() override;
    web_hook_client(web_hook_client const&) = delete;
    web_hook_client& operator=(web_hook_client const&) = delete;

    /// Lasts no longer than the request's timeout, the wait for a connection and opening one included. An answer that
    /// comes before the request is written ends it.
    boost::asio::awaitable<web_hook_result> send(web_hook_request) override;

    /// Reads the TLS files anew, changed or not. After a failure, which names the file, the old ones stay in use.
    [[nodiscard]] result<void> reload();

    /// Ends every request under way with web_hook_fault::cancelled and closes all connections.
    void close();

    web_hook_counters counters() const; ///< on the strand
    boost::asio::any_io_executor get_executor() const;

private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace quern::net
