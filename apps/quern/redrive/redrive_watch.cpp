#include "redrive/redrive_watch.hpp"

#include "common/complaint.hpp"
#include "redrive/redrive_text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

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
    boost::json::array metrics;
    boost::json::object line;
    line["QueueName"] = queue;
    for (auto const& [name, count] : counts) {
        boost::json::object one;
        one["Name"] = name;
        one["Unit"] = "Count";
        metrics.push_back(std::move(one));
        line[name] = count;
    }
    boost::json::object group;
    group["Namespace"] = "DLQRedriver";
    boost::json::array dimension, dimensions, groups;
    dimension.emplace_back("QueueName");
    dimensions.push_back(std::move(dimension));
    group["Dimensions"] = std::move(dimensions);
    group["Metrics"] = std::move(metrics);
    groups.push_back(std::move(group));
    boost::json::object aws;
    aws["Timestamp"] = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count();
    aws["CloudWatchMetrics"] = std::move(groups);
    line["_aws"] = std::move(aws);
    return boost::json::serialize(line) + '\n';
}

redrive_watch::redrive_watch(boost::asio::io_context& io, redrive::redriver& of, std::size_t expected,
    std::function<void(redrive::report const&)> also)
    : of_(of), timer_(io), told_(io, SIGINT, SIGTERM), expected_(expected), also_(std::move(also)),
      began_at_(real_clock().now()), bar_("settled", expected, began_at_)
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
        if (done != 0 && self->expected_ > done) {
            auto const each = (now - self->began_at_) / static_cast<tick::rep>(done);
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
