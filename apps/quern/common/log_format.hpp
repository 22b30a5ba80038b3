#pragma once

#include <quern/telemetry/trace_context.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace spdlog {
class formatter;
}

namespace quern::app {

/// Lines of the log as text: time, level, message. In both forms a message is without control characters.
std::unique_ptr<spdlog::formatter> text_log_format();

/// Lines of the log as JSON: "json" has the members timestamp, level, logger and message; "ecs" those of the Elastic
/// Common Schema. Requires one of the two. A line about a message whose trace is known has its message_id, trace_id,
/// span_id and trace_flags as well, in the Elastic Common Schema message_id, trace.id and span.id.
std::unique_ptr<spdlog::formatter> json_log_format(std::string const& form);

/// Sets who knows the trace of a message that is being handled; it is asked from any thread. Null: nobody.
void name_traces_in_log(std::function<std::optional<telemetry::trace_context>(std::string_view message_id)>);

/// The first message id, a UUID, in the text; empty where there is none.
std::string_view message_id_in(std::string_view text);

} // namespace quern::app
