#pragma once

#include <quern/net/web_hook.hpp>
#include <quern/relay/rule.hpp>

#include <cstddef>

namespace quern::relay::detail {

/// The request was cancelled: its message has another owner by now, or will have.
bool was_cancelled(net::web_hook_result const&);

/// End of a request that was not cancelled. The body of an answer has no say yet.
ending ending_of(net::web_hook_result const&);

/// Place of its end among telemetry::values::web_hook.
std::size_t counted_as(net::web_hook_result const&);

} // namespace quern::relay::detail
