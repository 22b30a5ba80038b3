#pragma once

#include "common/admin_port.hpp"
#include "common/command_line.hpp"
#include "common/idempotency_work.hpp"
#include "common/trace_export.hpp"
#include "consume/exit_rule.hpp"
#include "consume/platform_work.hpp"

#include <quern/consumer/options.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quern::app {

/// The command line of `quern consume`.
struct consume_options {
    std::vector<std::string> queues;
    std::string settings;
    std::string handler_concurrency; ///< "auto", a number, or empty: as many as are in flight
    bool finds_concurrency() const { return handler_concurrency == "auto"; }
    std::string exec;
    bool until_empty = false;
    std::optional<std::size_t> max_in_flight;
    byte_count max_bytes_in_flight{consumer_limits().max_bytes_in_flight};
    std::string rate;
    std::string fleet; ///< empty: the rate is this process's own
    std::optional<std::uint64_t> fleet_concurrency;
    std::int64_t burst = policy::rate().burst;
    std::optional<std::chrono::milliseconds> stall_after = consumer_options().stall_after;
    std::chrono::milliseconds visibility_timeout = consumer_options().visibility_timeout;
    std::optional<std::chrono::milliseconds> wait_time;
    std::chrono::milliseconds receive_latency = consumer_options().receive_latency;
    std::chrono::milliseconds drain_deadline = consumer_options().drain_deadline;
    std::optional<std::chrono::milliseconds> handler_timeout;
    std::optional<std::chrono::milliseconds> max_age;
    std::optional<int> max_tries;
    std::string backoff;
    bool sysexits = false;
    std::string exec_retry, exec_reject, exec_malformed, exec_unavailable;
    std::string log_messages; ///< level of a line for each message; empty: none
    std::string poison_queue;
    std::string on_group_failure = "retry";
    std::optional<std::chrono::milliseconds> park_for;
    std::string tenant;
    std::optional<std::uint64_t> look_ahead, tenant_concurrency;
    std::vector<std::string> tenant_weights;
    std::string flag;
    std::string flag_name;
    std::optional<std::chrono::milliseconds> flag_interval;
    std::string on_unknown_flag = "run";
    std::string report;
    std::string metrics;
    trace_choice traces;
    bool log_bodies = false;
    admin_options admin;
    idempotency_options idempotency;
    platform_options platform;
};

/// Adds them to the command, with its help. They outlive the reading of the command line.
void add_options(command& to, consume_options&);

/// Adds those that are about the consumer, whatever works on the messages: limits, leases, failures, drains.
void add_consumer_options(command& to, consume_options&);

/// Why they do not fit together; empty when they do.
std::string conflict(consume_options const&);

/// Meaning of the statuses of --exec.
exit_rule exit_rule_from(consume_options const&);

/// Settings of the flag, but for its source.
policy::flag_options flag_options_from(consume_options const&);

/// The consumer's options, but for the flag.
consumer_options options_from(consume_options const&);

} // namespace quern::app
