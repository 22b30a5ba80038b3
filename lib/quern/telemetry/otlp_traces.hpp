#pragma once

#include <quern/core/error.hpp>
#include <quern/telemetry/otlp.hpp>
#include <quern/telemetry/sampler.hpp>
#include <quern/telemetry/span.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace quern::telemetry {

/// Ways in which a message carries its context.
struct propagators {
    bool w3c = true;  ///< its attributes traceparent and tracestate
    bool xray = true; ///< its system attribute AWSTraceHeader, which counts neither as an attribute nor as bytes

    bool operator==(propagators const&) const = default;
};

/// Settings of a program's spans: which there are, and where they go.
struct trace_options {
    otlp_options to = otlp_options::for_traces();
    telemetry::sampler sampler{};
    telemetry::propagators propagators{};
    /// Spans that wait for their export at most. Eight times OpenTelemetry's default, since a busy consumer has ten
    /// thousand in a second; one takes a kilobyte or so.
    std::size_t buffer = 16'384;
    std::size_t batch = 512; ///< in one export; as soon as there are so many it begins
};

/// Reads OpenTelemetry's variables: those of otlp_options_from() and sampler_from(), OTEL_PROPAGATORS (tracecontext,
/// xray, none; baggage is passed over), OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_MAX_EXPORT_BATCH_SIZE, OTEL_TRACES_EXPORTER
/// (otlp; none disables).
///
/// Fails with  errc::invalid_option  as these, or a variable asks for what there is not; names it
[[nodiscard]] result<trace_options> trace_options_from(environment const&);

/// Body of POST /v1/traces, in OTLP's JSON.
std::string otlp_traces(std::span<span const>, attributes const& resource, std::string_view version);

} // namespace quern::telemetry
