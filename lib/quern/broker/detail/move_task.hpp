#pragma once

#include <quern/broker/detail/agenda.hpp>
#include <quern/broker/journal.hpp>
#include <quern/sqs/types.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace quern::broker::detail {

/// A move from a dead-letter queue to another queue, or back to where each message came from. On the agenda for its
/// next step, which moves one message.
struct move_task : timed, task_record {
    using state = task_state;

    explicit move_task(task_record what = {}) : timed(kind::move_task), task_record(std::move(what)) {}

    bool active() const { return status == state::running || status == state::cancelling; }

    /// Between two messages. Without a rate: 500 a second, the most that one may ask for (SQS API reference,
    /// StartMessageMoveTask).
    wall_time::duration interval() const
    {
        return wall_time::duration(std::chrono::seconds(1)) / per_second.value_or(500);
    }

    sqs::message_move_task describe() const;
};

/// Content of a task handle: base64 of {"taskId": "…", "sourceArn": "…"}, as the service's do.
struct task_handle {
    std::string task_id;
    std::string source_arn;
};
std::string encode(task_handle const&);
std::optional<task_handle> decode_task_handle(std::string_view);

} // namespace quern::broker::detail
