#pragma once

#include <quern/aws/config/environment.hpp>
#include <quern/aws/credentials/credentials.hpp>
#include <quern/metrics/exporter.hpp>
#include <quern/net/web_hook.hpp>
#include <quern/telemetry/cloudwatch.hpp>
#include <quern/telemetry/otlp.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace quern::metrics {

/// Lines in CloudWatch's embedded metric format, for a log that CloudWatch takes in: what has happened between two
/// exports.
///
/// `write` takes whole lines and must not block for long.
std::unique_ptr<destination> to_emf(std::function<void(std::string_view lines)> write,
    std::string name_space = std::string(telemetry::cloudwatch_namespace));

/// An OTLP receiver, by HTTP and JSON: all numbers since the start, so that an export that fails loses nothing. It is
/// sent once; what comes next says the same and more. CloudWatch's own, of which the URL is
/// https://monitoring.REGION.amazonaws.com/v1/metrics, wants signed requests: an aws::signing_sender as `web`.
///
/// Throws boost::system::system_error when the URL or a header of the options cannot be used. `web` outlives it.
std::unique_ptr<destination> to_otlp(net::web_hook_sender& web, telemetry::otlp_options, std::string version);

struct cloudwatch_options {
    std::string region{};
    std::string url{}; ///< instead of the region's own endpoint; empty: AWS_ENDPOINT_URL_CLOUDWATCH, AWS_ENDPOINT_URL
    std::string name_space = std::string(telemetry::cloudwatch_namespace);
    std::chrono::milliseconds timeout{10'000}; ///< of each attempt
    aws::environment environment = aws::process_environment;
};

/// PutMetricData: what has happened between two exports. What a failed one had is lost: whether it was counted is not
/// known, and metrics that are doubled mislead more than a gap.
///
/// Throws boost::system::system_error when no endpoint can be found.
std::unique_ptr<destination> to_cloudwatch(boost::asio::any_io_executor, std::shared_ptr<aws::credentials_provider>,
    cloudwatch_options, clock& time = real_clock());

} // namespace quern::metrics
