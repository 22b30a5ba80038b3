#pragma once

#include <quern/telemetry/snapshot.hpp>

#include <string>
#include <string_view>

namespace quern::telemetry {

inline constexpr std::string_view prometheus_type = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr std::string_view openmetrics_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The page that Prometheus scrapes, in its text format 0.0.4. Gauges that say nothing are left out, and requests
/// that nobody has made.
std::string prometheus_text(snapshot const&);

/// The same in OpenMetrics 1.0.
std::string openmetrics_text(snapshot const&);

/// Whether a scraper that sends this Accept header would rather have OpenMetrics.
bool prefers_openmetrics(std::string_view accept);

} // namespace quern::telemetry
