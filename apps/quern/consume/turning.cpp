#include "consume/turning.hpp"

#include "common/complaint.hpp"
#include "consume/settings_file.hpp"

#include <quern/core/detail/printable.hpp>

#include <fmt/ranges.h>

#include <utility>

namespace quern::app {

using namespace quern::detail;

result<settings_again> settings_now(
    consume_options const& o, consumer_limits base, std::function<result<settings_again>()> const& read_again)
{
    settings_again now;
    now.limits = std::move(base);
    if (read_again) {
        auto read = read_again();
        if (!read) return read;
        now = std::move(*read);
    }
    if (o.settings.empty()) return now;
    auto const found = load_limits(o.settings, now.limits);
    if (!found) return found.error();
    now.of = o.settings;
    now.limits = *found;
    return now;
}

boost::asio::awaitable<void> turn(consume_work& of, settings_again now)
{
    auto const said = co_await of.set_limits(now.limits);
    auto const turned = fmt::format("{}", fmt::join(now.turned, ", "));
    if (said)
        log_line(log_level::info,
            fmt::format(
                "the settings of {} are in force{}", printable(now.of), turned.empty() ? "" : ": changed " + turned));
    else if (said.error().code != errc::stopped)
        log_line(log_level::error, fmt::format("the settings stay as they are: {}", said.error().message));
    if (!now.need_restart.empty())
        log_line(log_level::warning,
            fmt::format("these settings have changed and need a restart: {}", fmt::join(now.need_restart, ", ")));
}

namespace {

std::string closing_line(consumer_counters const& done)
{
    auto text = fmt::format("received {}, acknowledged {}", done.received, done.acked);
    if (done.rejected != 0) text += fmt::format(", rejected {}", done.rejected);
    if (done.discarded != 0) text += fmt::format(" ({} deleted: there is no queue for them)", done.discarded);
    return text + fmt::format(", with {} requests", done.polls + done.settle_calls);
}

} // namespace

int judged(consume_work const& all, drain_report const& report)
{
    bool const has_one = all.queues().size() == 1;
    std::uint64_t discarded = 0;
    for (auto const& q : all.queues()) {
        auto const its = q.of.counters();
        log_line(log_level::info, (has_one ? "" : q.url + ": ") + closing_line(its));
        discarded += its.discarded;
    }
    log_line(log_level::info, fmt::format("drained: {}", to_json(report)));
    int code = ok;
    if (!report.clean()) {
        code = complain("the drain left messages behind that come again later: " + to_json(report), not_drained);
    }
    if (discarded != 0) {
        code =
            complain(fmt::format("{} rejected and deleted unhandled; --poison-queue would have kept them", discarded),
                deleted);
    }
    return code;
}

} // namespace quern::app
