#pragma once

#include <quern/telemetry/snapshot.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace quern::telemetry {

inline constexpr std::string_view cloudwatch_namespace = "Quern";

/// A series as CloudWatch knows it: "MessagesAcked" of "Messages*" and "acked". Where a ':' and a value follow, only
/// the series of that value is sent. Without a '*', all values of the labels make one metric. Empty: this series is
/// not sent.
std::string cloudwatch_name(instrument const&, std::size_t series);

/// A histogram as values that each occur so often. They lie within their buckets, and such that their sum is the true
/// one.
struct weighted_values {
    std::vector<double> values;
    std::vector<std::uint64_t> counts;
};
weighted_values weighted(histogram const&);

// Both of the following are given the difference that since() makes; sources without a queue are left out, and
// histograms to which nothing was added. The one dimension is QueueName: metrics are paid for by name and dimensions,
// and a process is none.

/// Lines in CloudWatch's embedded metric format, one a source, each with its end. A histogram is an object of Values,
/// Counts and their statistics, as the collector's exporter writes it.
std::string emf_lines(snapshot const& difference, std::string_view name_space = cloudwatch_namespace);

/// Limits of one PutMetricData.
struct put_metric_data_limits {
    std::size_t metrics = 1'000;
    std::size_t bytes = 1'000'000; ///< of the body
};

/// Bodies of PutMetricData in awsJson1_0, as many as the limits make of it.
std::vector<std::string> put_metric_data_bodies(snapshot const& difference,
    std::string_view name_space = cloudwatch_namespace, put_metric_data_limits = put_metric_data_limits());

/// Makes a dimension's value of it: 1,024 bytes at most, a question mark for each that is not printable ASCII. Empty
/// where only blanks are left: that is none.
std::string dimension_value(std::string_view);

} // namespace quern::telemetry
