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

/// Where metrics go by OTLP/HTTP, and who they are from.
struct otlp_options {
    std::string url = "http://localhost:4318/v1/metrics";
    attributes headers;                         ///< of the request, with keys for the service, say
    attributes resource{{"service.name", ""}};  ///< an empty service.name: unknown_service:quern
    std::chrono::milliseconds timeout{10'000};  ///< of one export
    std::chrono::milliseconds interval{60'000}; ///< between two
    bool disabled = false;                      ///< OTEL_SDK_DISABLED

    bool operator==(otlp_options const&) const = default;
};

/// Reads OpenTelemetry's variables: OTEL_EXPORTER_OTLP_[METRICS_]ENDPOINT, _HEADERS and _TIMEOUT, OTEL_SERVICE_NAME,
/// OTEL_RESOURCE_ATTRIBUTES, OTEL_METRIC_EXPORT_INTERVAL, OTEL_SDK_DISABLED. An empty variable counts as none.
///
/// Fails with  errc::invalid_option  a variable cannot be read, or asks for what there is not: gRPC, protobuf, gzip;
///                                   names it, and shows nothing of a header
result<otlp_options> otlp_options_from(std::function<std::string(char const* name)> const& variable);

/// Body of POST /v1/metrics: all numbers since the start (cumulative), in OTLP's JSON.
std::string otlp_metrics(snapshot const&, attributes const& resource, std::string_view version);

} // namespace quern::telemetry
