#pragma once

#include <quern/net/web_hook.hpp>
#include <quern/telemetry/otlp_traces.hpp>
#include <quern/telemetry/span.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern::tracing {

/// A receiver's answer to the spans of one export. (With constructors, because g++ 12.2 destroys aggregates twice in
/// a `co_await` expression, GCC PR107288.)
struct span_answer {
    std::optional<failure> why;                     ///< nothing was taken; absent: all was, but for
    std::size_t rejected = 0;                       ///< so many, which are not to come again
    std::optional<std::chrono::milliseconds> after; ///< it asks for this pause

    span_answer() {}
    explicit span_answer(failure because) : why(std::move(because)) {}
};

/// Where spans go.
class span_destination {
public:
    virtual ~span_destination() = default;

    /// Completes when they are there, or are not. The spans outlive it. A failure that is retryable may go away.
    ///
    /// Cancellation  terminal.
    virtual boost::asio::awaitable<span_answer> send(std::vector<telemetry::span> const&) = 0;
};

/// An OTLP receiver, by HTTP and JSON. X-Ray's own, https://xray.REGION.amazonaws.com/v1/traces, wants signed
/// requests: an aws::signing_sender as `web`.
///
/// Throws boost::system::system_error when the URL or a header of the options cannot be used. `web` outlives it.
std::unique_ptr<span_destination> to_otlp(net::web_hook_sender& web, telemetry::otlp_options, std::string version);

/// The number of rejected spans in an answer's body: {"partialSuccess":{"rejectedSpans":"3"}}; 0 where there is none.
std::size_t rejected_in(std::string_view body);

} // namespace quern::tracing
