#pragma once

#include <quern/broker/engine.hpp>
#include <quern/broker/server.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::broker::detail {

/// Answers since the start, by operation, empty for requests that named none, and HTTP status, 0 for none.
using answer_counts = std::map<std::pair<std::string_view, int>, std::uint64_t>;

/// A number that the broker shows, as docs/reference/metrics.md has it.
struct metric {
    std::string_view name, kind, labels, help;
};
std::span<metric const> metrics();

/// In Prometheus' text format, 0.0.4.
std::string metrics_text(std::vector<queue_look> const&, answer_counts const&, server_counters const&, instant now);

} // namespace quern::broker::detail
