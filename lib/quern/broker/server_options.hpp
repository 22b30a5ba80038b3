#pragma once

#include <quern/aws/credentials/credentials.hpp>
#include <quern/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::broker {

/// One line of an access log. The views are gone when the sink returns.
struct access_record {
    std::string_view peer;       ///< "127.0.0.1:40312"
    std::string_view operation;  ///< "ReceiveMessage"; empty when the request named none
    int status = 0;              ///< 0: a fault left the request without an answer
    std::string_view error_code; ///< "AWS.SimpleQueueService.NonExistentQueue"; empty without an error
    std::string_view request_id;
    std::chrono::nanoseconds took{}; ///< from the last byte of the request to the answer, long polls included
    std::size_t request_bytes = 0;   ///< of the bodies
    std::size_t answer_bytes = 0;
};

struct server_options {
    std::string host = "127.0.0.1"; ///< an address, not a name: who may connect should not hang on a resolver
    std::uint16_t port = 9324;      ///< 0: any free one, see server::port()

    /// Names that a Host header may have beside those of the loopback: otherwise any page in a browser of this
    /// machine could ask, under a name of its own that resolves to 127.0.0.1. Where `host` is no loopback address,
    /// addresses are let in as well, and without any of these every name is, but not to what `admin` shows.
    std::vector<std::string> hosts{};

    /// Origins of the pages that may call from a browser, "http://localhost:5173", or "*" for all. Hosts count all
    /// the same.
    std::vector<std::string> cors{};

    bool check_signatures = true;                               ///< false: anyone may do anything, signed or not
    std::vector<aws::credentials> keys{{"quern", "quern", ""}}; ///< who may sign, for whatever region

    /// Accounts by access key id, where queues are not in engine_options::account_id. Without checked signatures any
    /// id may stand here, otherwise those of `keys`.
    std::map<std::string, std::string, std::less<>> accounts{};
    bool one_region = false; ///< true: all in engine_options::region; false: in the region a request is signed for

    std::chrono::seconds clock_skew{900}; ///< a signature may be older or newer by so much (SigV4: 15 minutes)

    /// GET /_quern/queues and /_quern/messages?queue=NAME show what there is, as JSON, to whoever asks, unsigned, and
    /// GET /metrics how much, to Prometheus. The Host has to be an address, a name of the loopback or one of `hosts`.
    bool admin = false;

    std::string tls_certificate{}; ///< PEM file, with the chain behind it, to serve https with; empty: http
    std::string tls_key{};         ///< PEM file of its key

    std::size_t max_header_bytes = 16 * 1024;
    std::size_t max_body_bytes = 8 * 1024 * 1024; ///< a batch of 1 MiB, each byte escaped to six, and room

    // What a client may cost that has not shown yet that it is one. Zero is no value for any of them.
    std::chrono::milliseconds handshake_timeout{10'000}; ///< TLS; a healthy one takes milliseconds
    std::chrono::milliseconds header_timeout{10'000};    ///< from a request's first byte to the end of its header
    std::chrono::milliseconds body_timeout{60'000};      ///< for a body to come, and for an answer to be taken
    std::chrono::milliseconds idle_timeout{75'000};      ///< between requests: longer than SDKs keep a connection
    std::size_t max_connections = 1000;                  ///< below the usual limit of 1024 descriptors
    /// Bytes of bodies, and as many of answers that are not taken, of all clients none of whose requests was let in
    /// yet. Where the bodies take more, all but the one that has been coming for longest wait for a sixth of
    /// body_timeout; then that one is cut.
    std::size_t max_unproven_bytes = 4 * 1024 * 1024;

    /// SQS goes on with a long poll whose caller has hung up: a message that arrives then is in flight until its
    /// visibility timeout, seen by nobody. So does the broker, unless this is true: then such a poll is forgotten.
    /// The connection is closed in either case. (Over TLS only if the caller leaves without a close_notify.)
    bool cancel_polls_on_disconnect = false;

    /// Called once when the journal of the queues could not keep a change. The server has closed all connections
    /// then, without the answers that were owed, and serves nobody any more.
    std::function<void(failure const&)> journal_failed{};

    std::function<void(access_record const&)> access_log{}; ///< called after each answer, on the server's executor

    /// The first setting that cannot work, by name.
    [[nodiscard]] std::optional<failure> validate() const;
};

} // namespace quern::broker
