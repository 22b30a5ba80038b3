#include "relay/periodic_tasks.hpp"

#include "common/complaint.hpp"

#include <quern/core/detail/text/date.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace quern::app {

using namespace quern::detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;

sqs::send_message_request message_of(periodic_task const& of, std::string const& queue_url, wall_time due)
{
    sqs::send_message_request out(queue_url, "elasticbeanstalk scheduled job"); // as the daemon writes it
    auto const at = text::rfc3339(due);
    out.attributes["beanstalk.sqsd.path"] = {"String", of.path};
    out.attributes["beanstalk.sqsd.task_name"] = {"String", of.name};
    out.attributes["beanstalk.sqsd.scheduled_time"] = {"String", at};
    if (queue_url.ends_with(".fifo")) { // several relays make one message of it there
        out.group_id = of.name;
        out.deduplication_id = of.name + '-' + std::to_string(due.time_since_epoch() / 1s);
    }
    return out;
}

periodic_sender::periodic_sender(
    asio::any_io_executor ex, sqs::api& to, std::string queue_url, std::vector<periodic_task> tasks)
    : sqs_(to), queue_url_(std::move(queue_url)), tasks_(std::move(tasks)), ended_(real_clock(), std::move(ex))
{}

asio::awaitable<void> periodic_sender::run()
{
    auto& time = real_clock();
    auto looked_at = time.wall() + sqs_.clock_offset();
    while (!over_) {
        auto next = looked_at + 1min; // the clock may be set meanwhile
        for (auto const& task : tasks_)
            next = std::min(next, task.when.next_after(looked_at).value_or(next));
        auto const wake_at = time.now() + std::max<tick::duration>(next - (time.wall() + sqs_.clock_offset()), 0s);
        co_await ended_.wait(wake_at);
        if (over_) break;
        auto const now = time.wall() + sqs_.clock_offset();
        if (now < next) continue;
        for (auto const& task : tasks_) {
            auto const due = task.when.next_after(looked_at);
            if (!due || *due > next || now - next > 1min) continue;
            auto request = message_of(task, queue_url_, *due);
            auto const sent = co_await sqs_.send_message(std::move(request));
            if (sent)
                log_line(log_level::info, fmt::format("periodic task {} is sent", task.name));
            else
                log_line(log_level::error,
                    fmt::format("periodic task {} could not be sent: {}", task.name, describe(sent.error())));
        }
        looked_at = now - next > 1min ? now : next;
    }
}

void periodic_sender::end()
{
    over_ = true;
    ended_.ring();
}

} // namespace quern::app
