#pragma once

#include <quern/telemetry/log.hpp>
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
/// Common Schema. Requires one of the two. A line about a message has message_id, queue, attempt, status and delay_s
/// as well, as far as they are known; in the Elastic Common Schema all but the first begin with "quern.". Where its
/// trace is known it has trace_id, span_id and trace_flags, in the Elastic Common Schema trace.id and span.id.
std::unique_ptr<spdlog::formatter> json_log_format(std::string const& form);

/// Sets who knows the trace of a message that is being handled; it is asked from any thread. Null: nobody.
void name_traces_in_log(std::function<std::optional<telemetry::trace_context>(std::string_view message_id)>);

/// Subject of the lines that this thread logs while this lives.
class log_subject_now {
public:
    explicit log_subject_now(log_subject const&);
    ~log_subject_now();
    log_subject_now(log_subject_now const&) = delete;
    log_subject_now& operator=(log_subject_now const&) = delete;
};

/// The first message id, a UUID, in the text; empty where there is none.
std::string_view message_id_in(std::string_view text);

} // namespace quern::app
