#pragma once

#include <quern/net/web_hook.hpp>
#include <quern/telemetry/otlp.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
[[nodiscard]] std::optional<failure> refusal_in(net::web_hook_result const&);

/// The part that a receiver did not take of what it answered 200 to.
struct partial_success {
    std::uint64_t rejected = 0; ///< spans or data points, which are not to come again
    std::string why;            ///< printable ASCII, 200 bytes at most; may be empty
};

/// Reads an answer's body: {"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}. `counted_as` names the
/// member with the number. Nothing is rejected where there is no such thing.
partial_success partial_success_in(std::string_view body, std::string_view counted_as);

} // namespace quern::metrics::detail
