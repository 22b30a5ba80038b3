#include <quern/broker/detail/move_task.hpp>

#include <quern/core/detail/text/base64.hpp>

#include <boost/json.hpp>

namespace quern::broker::detail {

using namespace quern::detail;

namespace {

std::string_view name_of(move_task::state status)
{
    switch (status) {
    case move_task::state::running: return "RUNNING";
    case move_task::state::cancelling: return "CANCELLING";
    case move_task::state::completed: return "COMPLETED";
    case move_task::state::cancelled: return "CANCELLED";
    case move_task::state::failed: return "FAILED";
    }
    return {};
}

} // namespace

sqs::message_move_task move_task::describe() const
{
    sqs::message_move_task out;
    if (status == state::running) out.task_handle = encode({id, source_arn});
    out.status = name_of(status);
    out.source_arn = source_arn;
    out.destination_arn = destination_arn;
    out.max_messages_per_second = per_second;
    out.messages_moved = static_cast<std::int64_t>(moved);
    out.messages_to_move = static_cast<std::int64_t>(to_move);
    out.failure_reason = failure_reason;
    out.started_at_ms = std::chrono::duration_cast<std::chrono::milliseconds>(started_at.time_since_epoch()).count();
    return out;
}

std::string encode(task_handle const& handle)
{
    return text::base64_encode(
        boost::json::serialize(boost::json::object{{"taskId", handle.task_id}, {"sourceArn", handle.source_arn}}));
}

std::optional<task_handle> decode_task_handle(std::string_view text)
{
    auto const bytes = text::base64_decode(text);
    if (!bytes) return {};
    boost::system::error_code ec;
    auto const value = boost::json::parse(*bytes, ec);
    auto const* object = ec ? nullptr : value.if_object();
    auto const* id = object ? object->if_contains("taskId") : nullptr;
    auto const* source = object ? object->if_contains("sourceArn") : nullptr;
    if (!id || !source || !id->is_string() || !source->is_string()) return {};
    return task_handle{std::string(id->as_string()), std::string(source->as_string())};
}

} // namespace quern::broker::detail
