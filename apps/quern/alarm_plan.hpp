#pragma once

#include <quern/services/cloudwatch.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace quern::app {

/// A queue and its neighbours, by name, and when somebody is to be woken.
struct alarm_plan {
    std::string queue;
    std::optional<std::string> dead_letters; ///< its dead-letter queue
    std::optional<std::string> poison;       ///< where what was rejected, or redriven too often, goes
    std::vector<std::string> topics;         ///< ARNs
    std::chrono::seconds max_age{900};       ///< of a message that waits, or without progress
    int redrive_failures = 10;               ///< percent of what a redrive could not send back
    bool fair = false;                       ///< its messages have groups: alarms on quiet and noisy ones
    int noisy_groups = 0;                    ///< so many may be noisy for a quarter of an hour
};

/// Alarms of CloudWatch, named "quern <queue>: dead letters" and so on.
std::vector<services::metric_alarm> cloudwatch_alarms(alarm_plan const&);

/// Names of all that may be set for a queue of that name.
std::vector<std::string> names_of_alarms(std::string const& queue);

/// These alarms as a template of CloudFormation, in JSON.
std::string cloudformation(std::vector<services::metric_alarm> const&);

/// The same questions, and what only a consumer knows, asked of Prometheus: a file of alerting rules in YAML.
std::string prometheus_rules(alarm_plan const&);

} // namespace quern::app
