#pragma once

#include <quern/aws/client_options.hpp>
#include <quern/core/clock.hpp>
#include <quern/services/service_client.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace quern::services {

/// A number that CloudWatch has of a queue, one for each period.
struct queue_metric {
    std::string id{};         ///< in metric_alarm::expression: a lower-case letter, then letters, digits and _
    std::string name_space{}; ///< "AWS/SQS"
    std::string name{};       ///< "ApproximateNumberOfMessagesVisible"
    std::string queue{};      ///< value of the dimension QueueName
    std::string statistic{};  ///< "Maximum", "Sum"
    std::chrono::seconds period{60};
};

/// An alarm that goes off when a number is above its threshold. A missing number counts as one that isn't: a queue
/// that is not used reports nothing.
struct metric_alarm {
    std::string name{};
    std::string description{};
    std::vector<queue_metric> of{}; ///< one, or those of the expression
    std::string expression{};       ///< metric math over the ids; empty: the metric itself
    double above = 0;
    int periods = 1;                    ///< in a row, each above
    std::vector<std::string> actions{}; ///< ARNs of topics for instance, five at most; told of the alarm and its end
};

/// Input of PutMetricAlarm, which is also the properties of CloudFormation's AWS::CloudWatch::Alarm.
std::string to_json(metric_alarm const&);

// Not an aggregate: g++ 12.2 destroys those twice in a `co_await` expression (GCC PR107288).

struct put_metric_alarm_request {
    metric_alarm alarm;

    explicit put_metric_alarm_request(metric_alarm a) : alarm(std::move(a)) {}
};

struct delete_alarms_request {
    std::vector<std::string> names; ///< a hundred at most

    explicit delete_alarms_request(std::vector<std::string> all) : names(std::move(all)) {}
};

/// Counts about a queue, each a metric of its own.
struct put_metric_data_request {
    std::string name_space, queue;
    wall_time at{};
    std::vector<std::pair<std::string, double>> counts{}; ///< by name; a thousand at most

    put_metric_data_request(std::string name_space_, std::string queue_, wall_time now)
        : name_space(std::move(name_space_)), queue(std::move(queue_)), at(now)
    {}
};

/// CloudWatch, as far as alarms need it, and the counts that these are on.
///
/// Fails with  as service_client says.
/// Cancellation  terminal, of each call.
/// Source      Amazon CloudWatch API reference, "PutMetricAlarm", "DeleteAlarms", "PutMetricData".
class cloudwatch final : public service_client {
public:
    /// Throws boost::system::system_error when an option is invalid, no region is found, or the CA bundle or the
    /// config file cannot be read. `time` outlives the client and its operations.
    explicit cloudwatch(
        boost::asio::any_io_executor, aws::client_options = aws::client_options(), clock& time = real_clock());

    /// Makes the alarm, or changes all of the one with that name but its state.
    ///
    /// Fails with  LimitExceeded, InvalidParameterValue, AccessDenied (cloudwatch:PutMetricAlarm).
    boost::asio::awaitable<result<void>> put_metric_alarm(put_metric_alarm_request);

    /// Deletes these alarms, as far as they are there.
    ///
    /// Fails with  ResourceNotFound, AccessDenied (cloudwatch:DeleteAlarms).
    boost::asio::awaitable<result<void>> delete_alarms(delete_alarms_request);

    /// Adds to these metrics; a second request counts a second time.
    ///
    /// Fails with  AccessDenied (cloudwatch:PutMetricData), InvalidParameterValue.
    boost::asio::awaitable<result<void>> put_metric_data(put_metric_data_request);
};

} // namespace quern::services
