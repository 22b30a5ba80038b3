#include "redrive/redrive_native.hpp"

#include "common/complaint.hpp"
#include "common/progress.hpp"
#include "common/rate_text.hpp"
#include "common/standard_streams.hpp"
#include "redrive/redrive_text.hpp"

#include <quern/core/alarm.hpp>
#include <quern/core/detail/printable.hpp>

#include <boost/asio/signal_set.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr double fastest = 500;        // SQS API reference, StartMessageMoveTask
constexpr int most_looks_in_vain = 20; // half a second each

sqs::answer<std::string> arn_of(sqs::api& sqs, std::string url)
{
    sqs::get_queue_attributes_request ask(std::move(url));
    ask.attribute_names = {"QueueArn"};
    auto const got = co_await sqs.get_queue_attributes(std::move(ask));
    if (!got) co_return got.error();
    auto const at = got->attributes.find("QueueArn");
    if (at == got->attributes.end()) co_return failure(errc::bad_reply, "QueueArn is missing");
    co_return at->second;
}

sqs::answer<std::vector<sqs::message_move_task>> tasks_of(sqs::api& sqs, std::string source)
{
    sqs::list_message_move_tasks_request ask(std::move(source));
    ask.max_results = 10;
    auto const got = co_await sqs.list_message_move_tasks(std::move(ask));
    if (!got) co_return got.error();
    co_return got->tasks;
}

/// The task that this program starts, among those that are listed: one that is over has no handle there. A queue has
/// one task at a time, so ours is the first that began after all that there were before.
struct own_task {
    explicit own_task(std::vector<sqs::message_move_task> const& before)
    {
        for (auto const& one : before)
            behind = std::max(behind, one.started_at_ms);
    }

    std::optional<sqs::message_move_task> in(std::vector<sqs::message_move_task> const& all) const
    {
        std::optional<sqs::message_move_task> out;
        for (auto const& one : all)
            if (one.started_at_ms > behind && (!out || one.started_at_ms < out->started_at_ms)) out = one;
        return out;
    }

    std::int64_t behind = 0;
};

bool is_whole_rate(std::string const& text)
{
    auto const rate = per_second(text);
    return rate && *rate >= 1 && *rate <= fastest && *rate == std::floor(*rate);
}

/// Whether an option has another value than when it is not given.
template <class Value>
std::string named_if(char const* name, Value const& now, Value const& otherwise)
{
    return now == otherwise ? std::string() : std::string(name);
}

} // namespace

std::string beyond_a_move_task(redrive_options const& o)
{
    redrive_options const none;
    for (auto const& found : {named_if("--limit", o.limit, none.limit), named_if("--rule", o.rules, none.rules),
             named_if("--id", o.id, none.id), named_if("--group", o.group, none.group),
             named_if("--where", o.where, none.where), named_if("--reason", o.chosen_reason, none.chosen_reason),
             named_if("--where-body", o.where_body, none.where_body), named_if("--since", o.since, none.since),
             named_if("--until", o.until, none.until), named_if("--ramp", o.ramp, none.ramp),
             named_if("--canary", o.canary, none.canary),
             named_if("--stop-on-return", o.stop_on_return, none.stop_on_return),
             named_if("--stop-on-failure", o.stop_on_failure, none.stop_on_failure),
             named_if("--max-attempts", o.max_attempts, none.max_attempts),
             named_if("--delay-base", o.delay_base, none.delay_base),
             named_if("--poison-queue", o.poison_queue, none.poison_queue), named_if("--keep", o.keep, none.keep),
             named_if("--dry-run", o.dry_run, none.dry_run), named_if("--report", o.report, none.report),
             named_if("--metrics", o.metrics, none.metrics), named_if("--admin-port", o.admin.port, none.admin.port),
             named_if("--breaker-flag", o.breaker_flag, none.breaker_flag),
             named_if("--journal", o.journal, none.journal)})
        if (!found.empty()) return found;
    if (!o.rate.empty() && !is_whole_rate(o.rate)) return "--rate " + o.rate;
    return {};
}

asio::awaitable<int> move_natively(session& s, redrive_options const& o, std::string dlq_url, std::string to_url)
{
    auto const source = co_await arn_of(s.sqs, dlq_url);
    if (!source) co_return s.complain(source.error(), o.queue);
    sqs::start_message_move_task_request wanted(*source);
    if (!to_url.empty()) {
        auto const target = co_await arn_of(s.sqs, to_url);
        if (!target) co_return s.complain(target.error(), "--to " + o.to);
        wanted.destination_arn = *target;
    }
    auto const before = co_await tasks_of(s.sqs, *source);
    if (!before) co_return s.complain(before.error(), o.queue);
    own_task const ours(*before);
    if (!o.rate.empty()) wanted.max_messages_per_second = static_cast<int>(per_second(o.rate).value());
    auto const started = co_await s.sqs.start_message_move_task(std::move(wanted));
    if (!started) co_return s.complain(started.error(), "StartMessageMoveTask of " + o.queue);
    log_line(log_level::info, "SQS moves the messages");

    auto const news = std::make_shared<alarm>(real_clock(), s.io.get_executor());
    auto const interrupted = std::make_shared<bool>(false);
    asio::signal_set told(s.io, SIGINT, SIGTERM);
    told.async_wait([news, interrupted](boost::system::error_code ec, int) {
        if (ec) return;
        *interrupted = true;
        news->ring();
    });
    std::optional<progress> bar;
    for (int in_vain = 0;;) {
        auto const soon = real_clock().now() + 500ms;
        co_await news->wait(soon);
        if (std::exchange(*interrupted, false)) {
            sqs::cancel_message_move_task_request stop(started->task_handle);
            auto const stopped = co_await s.sqs.cancel_message_move_task(std::move(stop));
            if (!stopped)
                log_line(log_level::warning, fmt::format("the task goes on: {}", describe(stopped.error())));
        }
        auto const all = co_await tasks_of(s.sqs, *source);
        auto const task = all ? ours.in(*all) : std::nullopt;
        if (!task && ++in_vain < most_looks_in_vain) continue;
        if (!task) {
            auto const why = all ? failure(errc::bad_reply, "the move task is not listed") : all.error();
            co_return s.complain(why, o.queue + ": SQS may still be moving messages");
        }
        in_vain = 0;
        auto const moved = static_cast<std::size_t>(task->messages_moved);
        if (!bar)
            bar.emplace("moved", static_cast<std::size_t>(task->messages_to_move.value_or(0)), real_clock().now());
        if (task->status == "RUNNING" || task->status == "CANCELLING") {
            bar->show(moved, real_clock().now());
            continue;
        }
        bar->finish();
        say(stderr, "moved {}\n", moved);
        if (task->status == "COMPLETED") co_return ok;
        co_return complain(
            fmt::format("the move task ended {}: {}", printable(task->status), printable(task->failure_reason)),
            halted);
    }
}

} // namespace quern::app
