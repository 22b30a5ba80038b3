#pragma once

#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>
#include <quern/telemetry/otlp_traces.hpp>
#include <quern/telemetry/trace_context.hpp>

#include <optional>

namespace quern::tracing {

// A message as what carries a context from whoever sends it to whoever handles it.

/// The context in the attribute traceparent, with tracestate, or else in the system attribute AWSTraceHeader; nothing
/// where there is neither, or neither can be read.
std::optional<telemetry::trace_context> context_of(sqs::message const&);
std::optional<telemetry::trace_context> context_of(sqs::send_message_entry const&);

/// Writes it into a message that is to be sent, in these ways. Attributes are left out where they would be the
/// eleventh, or too much for SQS: first tracestate, then traceparent, while AWSTraceHeader counts as neither. A
/// message that has a context already keeps it, and nothing is written.
void put_context(sqs::send_message_entry&, telemetry::trace_context const&, telemetry::propagators);

/// Has a receive bring what context_of() reads.
void ask_for_context(sqs::receive_message_request&);

} // namespace quern::tracing
