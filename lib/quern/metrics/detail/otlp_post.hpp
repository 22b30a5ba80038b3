#pragma once

#include <quern/net/web_hook.hpp>
#include <quern/telemetry/otlp.hpp>

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>

namespace quern::metrics::detail {

/// POSTs to an OTLP receiver, of whatever signal.
class otlp_post {
public:
    /// Throws boost::system::system_error when the URL or a header of the options cannot be used. `web` outlives it.
    otlp_post(net::web_hook_sender& web, telemetry::otlp_options const&);

    boost::asio::awaitable<net::web_hook_result> send(std::string body);

private:
    net::web_hook_sender& web_;
    net::web_hook_request request_;
};

/// The failure in an answer; none where it was taken. It is retryable as the protocol says: 429, 502, 503, 504, and
/// when there was no answer.
std::optional<failure> refusal_in(net::web_hook_result const&);

} // namespace quern::metrics::detail
