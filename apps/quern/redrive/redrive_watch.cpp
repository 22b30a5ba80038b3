#include "redrive/redrive_watch.hpp"

#include "common/complaint.hpp"
#include "redrive/redrive_text.hpp"

#include <quern/core/detail/text/json_writer.hpp>

#include <fmt/core.h>

#include <csignal>
#include <utility>

namespace quern::app {

using namespace std::chrono_literals;

std::string counts_text(redrive::report const& r)
{
    auto text = fmt::format("{} {}", r.dry_run ? "would redrive" : "redriven", r.redriven);
    auto const add = [&](char const* what, std::size_t count) {
        if (count != 0) text += fmt::format(", {} {}", what, count);
    };
    add(r.dry_run ? "isolate" : "isolated", r.isolated);
    add("skipped", r.skipped);
    add("came back", r.came_back);
    add("left", r.left);
    add("failed sends", r.failures);
    add("maybe twice", r.maybe_twice);
    add("waiting", r.waiting);
    add("unknown", r.unknown);
    return text;
}

std::string metrics_line(redrive::report const& r, std::string_view queue, wall_time now)
{
    std::pair<char const*, std::size_t> const counts[] = {{"SuccessfulRedrives", r.redriven},
        {"PoisonPillsIsolated", r.isolated}, {"RedriveFailures", r.failures + r.left}, {"Returned", r.came_back},
        {"Skipped", r.skipped}, {"Unknown", r.maybe_twice}, {"Waiting", r.waiting}};
    std::string out;
    text::json_writer json(out);
    json.begin_object().member("QueueName", queue);
    for (auto const& [name, count] : counts)
        json.member(name, static_cast<std::int64_t>(count));
    json.key("_aws").begin_object();
    json.member("Timestamp", std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count());
    json.key("CloudWatchMetrics").begin_array().begin_object().member("Namespace", "DLQRedriver");
    json.key("Dimensions").begin_array().begin_array().string("QueueName").end_array().end_array();
    json.key("Metrics").begin_array();
    for (auto const& [name, count] : counts)
        json.begin_object().member("Name", name).member("Unit", "Count").end_object();
    json.end_array().end_object().end_array().end_object().end_object();
    return out + '\n';
}

redrive_watch::redrive_watch(boost::asio::io_context& io, redrive::redriver& of, std::size_t expected,
    std::size_t settled, std::function<void(redrive::report const&)> also)
    : of_(of), timer_(io), told_(io, SIGINT, SIGTERM), expected_(expected), settled_(settled), also_(std::move(also)),
      began_at_(real_clock().now()), bar_("settled", expected, began_at_, settled)
{}

void redrive_watch::begin()
{
    show_soon();
    await_signal();
}

void redrive_watch::end()
{
    over_ = true;
    timer_.cancel();
    told_.cancel();
    bar_.finish();
}

void redrive_watch::show_soon()
{
    timer_.expires_after(100ms);
    timer_.async_wait([self = shared_from_this()](boost::system::error_code ec) {
        if (ec || self->over_) return;
        auto const& r = self->of_.so_far();
        if (self->also_) self->also_(r);
        auto const done = r.redriven + r.isolated + r.left;
        auto const now = real_clock().now();
        auto more = counts_text(r);
        if (done > self->settled_ && self->expected_ > done) {
            auto const each = (now - self->began_at_) / static_cast<tick::rep>(done - self->settled_);
            auto const rest = each * static_cast<tick::rep>(self->expected_ - done);
            more += ", " + time_text(std::chrono::ceil<std::chrono::seconds>(rest)) + " to go";
        }
        self->bar_.show(done, now, more);
        self->show_soon();
    });
}

void redrive_watch::await_signal()
{
    told_.async_wait([self = shared_from_this()](boost::system::error_code ec, int) {
        if (ec || self->over_) return;
        log_line(log_level::info, "draining; a second signal cancels what waits");
        self->of_.stop();
        self->await_signal();
    });
}

} // namespace quern::app
