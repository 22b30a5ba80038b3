#pragma once

#include <quern/broker/engine.hpp>
#include <quern/telemetry/log.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace quern::app {

/// A request that a file of queues makes, and the place that made it: "shop.toml:7:3: queues.orders".
struct planned {
    std::variant<sqs::create_queue_request, sqs::set_queue_attributes_request, sqs::send_message_request> request;
    std::string place;
};

/// Requests that make the queues of a TOML document, in the order in which they work: all queues, then who is whose
/// dead-letter queue, then the messages. Queues are named by their names alone.
///
///     [queues.orders]
///     VisibilityTimeout = 60                # attributes as in CreateQueue
///     dead_letter_queue = "orders-dead"     # a queue of this file, or an ARN
///     max_receive_count = 3                 # 10 unless said
///     tags = { team = "shop" }
///     messages = ["hello", { body = "x", delay = 5, attributes = { kind = "new" } }]
///     [queues.orders-dead]
///
/// `file` is its name in complaints; `arn_prefix` is that of the queues, "arn:aws:sqs:us-east-1:000000000000:".
///
/// Fails with  errc::invalid_option  a sentence that names file, line, column and key, and what would do instead
result<std::vector<planned>> plan_queues(
    std::string_view document, std::string_view file, std::string_view arn_prefix);

/// Carries the plan out. A queue that is there already gets no messages and keeps its attributes; `log` has a warning
/// where these differ from the plan's. After a failure the engine is half done and should not be used.
result<void> make_queues(
    std::vector<planned> plan, broker::engine& in, broker::instant now, log_sink const& log = {});

/// Both, from a file.
result<void> load_queues(std::string const& path, broker::engine& into, broker::instant now, log_sink const& log);

} // namespace quern::app
