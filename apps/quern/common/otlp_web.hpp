#pragma once

#include "common/session.hpp"

#include <quern/aws/signing_sender.hpp>
#include <quern/net/web_hook_client.hpp>
#include <quern/telemetry/otlp.hpp>

#include <optional>

namespace quern::app {

/// The way of exports to an OTLP receiver: a connection of their own, and the session's signature on what goes to AWS
/// over TLS, unless a header of the user's authorizes already.
///
/// Lifetime  outlives what sends.
class otlp_web {
public:
    otlp_web(session&, telemetry::otlp_options const&);

    net::web_hook_sender& sender();

private:
    net::web_hook_client web_;
    std::optional<aws::signing_sender> signing_;
};

} // namespace quern::app
