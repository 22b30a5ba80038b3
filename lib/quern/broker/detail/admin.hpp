#pragma once

#include <quern/broker/detail/http_answer.hpp>
#include <quern/broker/engine.hpp>
#include <quern/net/detail/http_request.hpp>

#include <functional>
#include <string>

namespace quern::broker::detail {

/// A look at queues and messages without receiving any, as JSON:
///
///     GET /_quern/queues
///     GET /_quern/messages?queue=NAME_ARN_OR_URL   the hundred oldest, or &most=N, at most 10,000 and 8 MiB
///     GET /metrics                                 for Prometheus
///
/// False when the request is for none of them.
bool is_look(net::detail::http_request const&);
void serve_admin(net::detail::http_request const&, engine&, std::function<std::string()> const& metrics, instant now,
    http_answer&);

} // namespace quern::broker::detail
