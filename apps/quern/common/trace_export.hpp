#pragma once

#include "common/session.hpp"

#include <quern/tracing/message_traces.hpp>
#include <quern/tracing/tracer.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern::app {

class command;

/// Options of the command line about traces.
struct trace_choice {
    std::string form;   ///< "otlp"; empty: none
    bool links = false; ///< handlers begin traces of their own
};

/// Adds --traces; it outlives the reading of the command line.
void add_traces_option(command& to, trace_choice&);

/// Spans of a command, and where they are sent while it runs.
class trace_export {
public:
    /// Null when nobody asks for them, or OpenTelemetry's variables disable them.
    ///
    /// Fails with  errc::invalid_option  a variable of OpenTelemetry cannot be followed
    static result<std::shared_ptr<trace_export>> to(session&, trace_choice const&);

    ~trace_export();

    tracing::tracer& spans();

    /// Makes what consumers are to use in place of their client, which outlives their drain. Once.
    sqs::api& around(sqs::api&);

    /// The observer of the consumer of this queue. `next` is told of all events too.
    std::shared_ptr<observer> of_queue(std::string const& url, std::shared_ptr<observer> next);

    /// Context to pass on for a message of any of the queues.
    std::optional<telemetry::trace_context> context_of(std::string_view message_id) const;

    /// `dropped`: told of spans that nobody takes; null: nobody.
    void begin(std::function<void(std::size_t)> dropped);

    /// Completes when all is sent, and within the limit.
    boost::asio::awaitable<void> finish(std::chrono::milliseconds limit);

private:
    struct station;
    explicit trace_export(std::shared_ptr<station>);
    std::shared_ptr<station> at_;
};

/// "TRACEPARENT=…", and TRACESTATE where there is one, for the environment of a command that works on a message. The
/// second is empty where there is none, so that none comes from whoever started this program.
std::vector<std::string> trace_variables(telemetry::trace_context const&);

/// The context in TRACEPARENT and TRACESTATE of this process; nothing where there is none.
std::optional<telemetry::trace_context> context_of_process();

} // namespace quern::app
