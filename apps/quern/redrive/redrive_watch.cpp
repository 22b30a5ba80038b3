#include "redrive/redrive_watch.hpp"

#include "common/complaint.hpp"
#include "redrive/redrive_text.hpp"

#include <fmt/core.h>

#include <csignal>
#include <utility>

namespace quern::app {

using namespace quern::detail;
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
        if (r.watches_for) {
            more += ", the canary is watched for " + time_text(*r.watches_for) + " more";
            self->began_at_ = now; // the rest takes no such time
            self->settled_ = done;
        } else if (done > self->settled_ && self->expected_ > done) {
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
