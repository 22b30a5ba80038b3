#pragma once

#include <quern/core/error.hpp>
#include <quern/telemetry/snapshot.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::telemetry {

using attributes = std::vector<std::pair<std::string, std::string>>;

/// Reads a variable; empty where there is none.
using environment = std::function<std::string(char const* name)>;

enum class otlp_signal { metrics, traces };

/// Where metrics, or traces, go by OTLP/HTTP, and who they are from. The defaults are those of metrics.
struct otlp_options {
    std::string url = "http://localhost:4318/v1/metrics";
    attributes headers{};                       ///< of the request, with keys for the service, say
    attributes resource{{"service.name", ""}};  ///< an empty service.name: unknown_service:quern
    std::chrono::milliseconds timeout{10'000};  ///< of one export
    std::chrono::milliseconds interval{60'000}; ///< between two
    bool disabled = false;                      ///< OTEL_SDK_DISABLED

    static otlp_options for_traces()
    {
        otlp_options out;
        out.url = "http://localhost:4318/v1/traces";
        out.interval = std::chrono::milliseconds(5'000);
        return out;
    }

    bool operator==(otlp_options const&) const = default;
};

/// Reads OpenTelemetry's variables: OTEL_EXPORTER_OTLP_[METRICS_|TRACES_]ENDPOINT, _HEADERS and _TIMEOUT,
/// OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_METRIC_EXPORT_INTERVAL or OTEL_BSP_SCHEDULE_DELAY,
/// OTEL_SDK_DISABLED. An empty variable counts as none.
///
/// Fails with  errc::invalid_option  a variable cannot be read, or asks for what there is not: gRPC, protobuf, gzip;
///                                   names it, and shows nothing of a header
[[nodiscard]] result<otlp_options> otlp_options_from(environment const&, otlp_signal = otlp_signal::metrics);

/// Body of POST /v1/metrics: all numbers since the start (cumulative), in OTLP's JSON.
std::string otlp_metrics(snapshot const&, attributes const& resource, std::string_view version);

} // namespace quern::telemetry
