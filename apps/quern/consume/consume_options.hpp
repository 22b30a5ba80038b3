#pragma once

#include "common/admin_port.hpp"
#include "common/idempotency_work.hpp"
#include "common/trace_export.hpp"

#include <quern/consumer/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quern::app {

class command;

/// The command line of `quern consume`.
struct consume_options {
    std::vector<std::string> queues;
    std::string settings;
    std::size_t handler_concurrency = 0;
    std::string exec;
    bool until_empty = false;
    std::optional<std::size_t> max_in_flight;
    std::uint64_t max_bytes = consumer_options().max_bytes_in_flight;
    std::string rate;
    std::string fleet; ///< empty: the rate is this process's own
    std::size_t fleet_concurrency = 0;
    std::int64_t burst = policy::rate().burst;
    int stall_after = 60;
    int visibility_timeout = 30;
    std::optional<int> wait_time;
    int drain_deadline = 30;
    double handler_timeout = 0;
    int max_age = 0;
    std::optional<int> max_tries;
    std::string poison_queue;
    std::string on_group_failure = "retry";
    std::optional<int> park_for;
    std::string tenant;
    std::string flag;
    std::string flag_name;
    std::optional<int> flag_interval;
    std::string on_unknown_flag = "run";
    std::string report;
    std::string metrics;
    trace_choice traces;
    bool log_bodies = false;
    admin_options admin;
    idempotency_options idempotency;
};

/// Adds them to the command, with its help. They outlive the reading of the command line.
void add_options(command& to, consume_options&);

/// Adds those that are about the consumer, whatever works on the messages: limits, leases, failures, drains.
void add_consumer_options(command& to, consume_options&);

/// Why they do not fit together; empty when they do.
std::string conflict(consume_options const&);

/// The consumer's options, but for the flag's source.
consumer_options options_from(consume_options const&);

} // namespace quern::app
