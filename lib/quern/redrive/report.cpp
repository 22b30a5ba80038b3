#include <quern/redrive/report.hpp>

#include <quern/core/detail/text/json_writer.hpp>

namespace quern::redrive {

using namespace quern::detail;

namespace {

void write(text::json_writer& to, std::string_view name, std::size_t count)
{
    to.member(name, static_cast<std::int64_t>(count));
}

void write(text::json_writer& to, std::string_view name, std::map<std::string, std::size_t> const& counts)
{
    to.key(name).begin_object();
    for (auto const& [what, count] : counts)
        write(to, what, count);
    to.end_object();
}

} // namespace

std::string to_json(report const& r)
{
    std::string text;
    text::json_writer to(text);
    to.begin_object();
    to.member("dry_run", r.dry_run);
    write(to, "depth", r.depth);
    write(to, "redriven", r.redriven);
    write(to, "isolated", r.isolated);
    write(to, "deleted", r.deleted);
    write(to, "skipped", r.skipped);
    write(to, "unreadable", r.unreadable);
    write(to, "came_back", r.came_back);
    write(to, "left", r.left);
    write(to, "failures", r.failures);
    write(to, "maybe_twice", r.maybe_twice);
    write(to, "elsewhere", r.elsewhere);
    write(to, "behind", r.behind);
    write(to, "still_hidden", r.still_hidden);
    write(to, "waiting", r.waiting);
    write(to, "unknown", r.unknown);
    write(to, "by_queue", r.by_queue);
    write(to, "by_reason", r.by_reason);
    to.key("left_messages").begin_array();
    for (auto const& one : r.left_messages)
        to.begin_object().member("id", one.id).member("reason", one.reason).end_object();
    to.end_array();
    if (r.stopped) to.member("stopped", *r.stopped);
    if (r.cancelled) to.member("cancelled", true);
    if (r.interrupted) to.member("interrupted", true);
    to.member("took_ms", static_cast<std::int64_t>(r.took.count()));
    to.member("drained", r.drain.clean());
    to.end_object();
    return text;
}

} // namespace quern::redrive
