#include <quern/broker/detail/engine_state.hpp>

#include <algorithm>

namespace quern::broker {

using namespace detail;

namespace {

using std::chrono::seconds;
using status = move_task::state;

constexpr int most_per_second = 500;     // SQS API reference, StartMessageMoveTask
constexpr std::size_t most_kept = 10;    // a source: SQS API reference, ListMessageMoveTasks
constexpr std::size_t most_active = 100; // SQS developer guide, dead-letter queue redrive
constexpr std::chrono::hours longest{36};

failure no_resource(std::string_view parameter)
{
    return fail(error::resource_not_found,
        "The resource that you specified for the " + std::string(parameter) + " parameter doesn't exist.");
}

/// arn:partition:service:region:account:resource
std::optional<failure> check_arn(std::string_view parameter, std::string_view arn)
{
    if (arn.starts_with("arn:") && std::ranges::count(arn, ':') == 5 && !arn.ends_with(':')) return {};
    return fail(error::invalid_parameter_value,
        "You must use this format to specify the " + std::string(parameter) +
            ": arn:<partition>:<service>:<region>:<account-id>:<resource-id>");
}

bool same_source(move_task const& task, std::string_view arn)
{
    return task.source_arn == arn;
}

} // namespace

move_task* engine_state::active_task(std::string_view source_arn)
{
    auto const at =
        std::ranges::find_if(tasks, [&](auto const& t) { return t.active() && same_source(t, source_arn); });
    return at == tasks.end() ? nullptr : &*at;
}

result<sqs::task_handle_response> engine::start_message_move_task(
    sqs::start_message_move_task_request const& request, instant now)
{
    advance(now);
    auto const& source_arn = request.source_arn;
    if (source_arn.empty()) return missing_parameter("SourceArn");
    if (auto bad = check_arn("SourceArn", source_arn)) return *bad;
    auto* const source = state_->by_arn(source_arn);
    if (!source) return no_resource("SourceArn");
    if (auto const rate = request.max_messages_per_second; rate && (*rate < 1 || *rate > most_per_second)) {
        return invalid_parameter(
            "MaxNumberOfMessagesPerSecond", std::to_string(*rate), "Must be an integer from 1 to 500, if provided.");
    }
    bool const is_dead_letter_queue = std::ranges::any_of(state_->queues, [&](auto const& one) {
        auto const& policy = one.second->settings().redrive;
        return policy && policy->target_arn == source_arn;
    });
    if (!is_dead_letter_queue) {
        return fail(error::invalid_parameter_value, "Source queue must be configured as a Dead Letter Queue.");
    }
    auto const destination_arn = request.destination_arn.value_or("");
    if (!destination_arn.empty()) {
        if (auto bad = check_arn("DestinationArn", destination_arn)) return *bad;
        auto const* destination = state_->by_arn(destination_arn);
        if (!destination) return no_resource("DestinationArn");
        if (destination == source) {
            return fail(
                error::invalid_parameter_value, "The destination queue must be another one than the source queue.");
        }
        if (destination->fifo() != source->fifo()) {
            return fail(error::invalid_parameter_value,
                "The destination queue must be of the same type as the source queue.");
        }
    }
    if (state_->active_task(source_arn)) {
        return fail(error::invalid_parameter_value,
            "There is already a task running. Only one active task is allowed "
            "for a source queue arn at a given time.");
    }
    if (std::ranges::count_if(state_->tasks, &move_task::active) >= static_cast<std::ptrdiff_t>(most_active)) {
        return fail(error::request_throttled, "Too many active message move tasks.");
    }

    std::size_t kept = 0;
    state_->tasks.remove_if([&](auto const& t) {
        bool const goes = same_source(t, source_arn) && ++kept >= most_kept;
        if (goes) state_->record.gone(t);
        return goes;
    });
    auto& task = state_->tasks.emplace_front();
    task.id = state_->ids.uuid();
    task.source_arn = source_arn;
    task.destination_arn = destination_arn;
    task.per_second = request.max_messages_per_second;
    task.to_move = source->visible();
    task.started_at = now;
    state_->record.changed(task);
    state_->times.arm(task, now); // the first message goes with the next advance()
    return sqs::task_handle_response{encode({task.id, source_arn})};
}

result<sqs::moved_response> engine::cancel_message_move_task(
    sqs::cancel_message_move_task_request const& request, instant now)
{
    advance(now);
    if (request.task_handle.empty()) return missing_parameter("TaskHandle");
    auto const handle = decode_task_handle(request.task_handle);
    if (!handle) return fail(error::invalid_parameter_value, "Value for parameter TaskHandle is invalid.");
    if (!state_->by_arn(handle->source_arn)) return no_resource("SourceArn");
    auto const at = std::ranges::find(state_->tasks, handle->task_id, &move_task::id);
    if (at == state_->tasks.end() || !same_source(*at, handle->source_arn)) {
        return fail(error::resource_not_found, "Task does not exist.");
    }
    if (at->status != status::running) {
        return fail(error::invalid_parameter_value, "Only active tasks can be cancelled.");
    }
    at->status = status::cancelling; // until its next step
    state_->record.changed(*at);
    return sqs::moved_response{static_cast<std::int64_t>(at->moved)};
}

result<sqs::list_message_move_tasks_response> engine::list_message_move_tasks(
    sqs::list_message_move_tasks_request const& request, instant now)
{
    advance(now);
    if (request.source_arn.empty()) return missing_parameter("SourceArn");
    if (auto bad = check_arn("SourceArn", request.source_arn)) return *bad;
    if (!state_->by_arn(request.source_arn)) return no_resource("SourceArn");
    if (auto bad = check_max_results(request.max_results, static_cast<int>(most_kept))) return *bad;

    sqs::list_message_move_tasks_response out;
    auto const most = static_cast<std::size_t>(request.max_results.value_or(1));
    for (auto const& task : state_->tasks) {
        if (out.tasks.size() == most) break;
        if (same_source(task, request.source_arn)) out.tasks.push_back(task.describe());
    }
    return out;
}

void engine_state::step(move_task& task, instant now)
{
    move_one(task, now);
    record.changed(task);
}

void engine_state::move_one(move_task& task, instant now)
{
    auto const fails = [&](std::string_view why) {
        task.status = status::failed;
        task.failure_reason = why;
    };
    constexpr std::string_view no_queue = "AWS.SimpleQueueService.NonExistentQueue";

    if (task.status == status::cancelling) {
        task.status = status::cancelled;
        return;
    }
    auto* const source = by_arn(task.source_arn);
    if (!source) return fails(no_queue);
    if (now >= task.started_at + longest) return fails("The task ran for 36 hours.");
    auto* const next = task.moved < task.to_move ? source->order().first() : nullptr;
    if (!next) {
        task.status = status::completed;
        return;
    }
    auto const to_arn = task.destination_arn.empty() ? next->rest().source_arn : task.destination_arn;
    // SQS developer guide, troubleshooting dead-letter queue redrive: sent to the dead-letter queue directly.
    if (to_arn.empty()) return fails("CouldNotDetermineMessageSource");
    auto* const destination = by_arn(to_arn);
    if (!destination) return fails(no_queue);

    // What arrives is a new message: id, age and counts begin again (SQS developer guide, dead-letter queue redrive).
    auto moved = std::make_unique<stored_message>();
    auto const old = source->take_out(*next);
    ++source->counts.moved;
    moved->id = hex16(ids.uuid());
    moved->body = std::move(old->body);
    moved->md5_of_body = old->md5_of_body;
    moved->extras = std::move(old->extras);
    if (moved->extras) moved->extras->source_arn.clear();
    if (destination->fifo()) moved->own_rest().sequence_number = ids.sequence_number();
    moved->sent_at = moved->retained_from = now;
    destination->put(std::move(moved), seconds(0), now);
    wake(*destination);
    ++task.moved;
    times.arm(task, now + task.interval());
}

} // namespace quern::broker
