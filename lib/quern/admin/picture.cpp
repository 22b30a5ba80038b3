#include <quern/admin/picture.hpp>

#include <quern/core/detail/text/date.hpp>
#include <quern/core/detail/text/json_writer.hpp>

#include <algorithm>

namespace quern::admin {

using namespace quern::detail;

namespace {

using text::json_writer;

std::int64_t milliseconds(tick::duration d)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

void write(json_writer& to, char const* name, health const& of)
{
    to.key(name).begin_object().member("status", of.status).member("reason", of.reason).end_object();
}

void write(json_writer& to, char const* name, duration_counts const& of)
{
    to.key(name).begin_array();
    for (auto const n : of)
        to.integer(static_cast<std::int64_t>(n));
    to.end_array();
}

void write_counts(json_writer& to, consumer_counters const& c)
{
    std::pair<char const*, std::uint64_t> const all[] = {{"polls", c.polls}, {"empty_polls", c.empty_polls},
        {"failed_polls", c.failed_polls}, {"settle_calls", c.settle_calls}, {"received", c.received},
        {"adopted", c.adopted}, {"damaged", c.damaged}, {"acked", c.acked}, {"retried", c.retried},
        {"released", c.released}, {"rejected", c.rejected}, {"discarded", c.discarded}, {"malformed", c.malformed},
        {"extended", c.extended}, {"spilled", c.spilled}, {"lost", c.lost}};
    to.key("counts").begin_object();
    for (auto const& [name, n] : all)
        to.member(name, n);
    to.end_object();
}

void write_queue(std::string& text, json_writer& to, queue_picture const& q)
{
    auto const& said = q.said;
    auto const busy = said.running + said.settling;
    to.begin_object().member("name", q.name).member("text", to_string(said));
    to.key("stages").begin_object().member("receiving", said.polls);
    to.member("waiting", said.in_flight - std::min(said.in_flight, busy));
    to.member("handling", said.running).member("settling", said.settling).end_object();
    write_counts(to, q.counts);
    to.key("durations").begin_object();
    write(to, "queued", q.seen.queued);
    write(to, "waited", q.seen.waited);
    write(to, "handled", q.seen.handled);
    write(to, "settling", q.seen.settling);
    to.end_object().key("breakers").begin_array();
    for (auto const& [dependency, phase] : q.seen.breakers)
        to.begin_object().member("dependency", dependency).member("phase", phase).end_object();
    to.end_array().key("troubles").begin_array();
    for (auto const& one : q.seen.troubles) {
        to.begin_object().member("at", text::rfc3339(one.at)).member("what", one.what);
        if (!one.message.empty()) to.member("message_id", one.message).member("attempt", one.attempt);
        to.member("text", one.text).end_object();
    }
    to.end_array().key("explanation");
    text += to_json(said);
    to.end_object();
}

} // namespace

std::string to_json(picture const& of, health_limits const& limits, std::string_view program, tick now,
    wall_time calendar, wanted_processes const* wanted, bool can_probe)
{
    std::string text;
    json_writer to(text);
    to.begin_object().member("program", program).member("at", text::rfc3339(calendar));
    to.member("up_ms", milliseconds(now - of.signs.began_at)).member("beat_ms", milliseconds(now - of.signs.beat_at));
    to.member("seen", of.signs.seen).member("over", of.signs.over).key("health").begin_object();
    write(to, "live", liveness(of.signs, limits, now));
    write(to, "ready", readiness(of.signs, limits, now));
    write(to, "startup", startup(of.signs));
    to.end_object().member("can_probe", can_probe);
    if (wanted) {
        to.key("wanted").begin_object();
        if (wanted->replicas) to.member("replicas", static_cast<std::uint64_t>(*wanted->replicas));
        to.member("text", wanted->text).end_object();
    }
    to.key("bounds_ms").begin_array();
    for (int const bound : duration_bounds)
        to.integer(bound);
    to.end_array().key("queues").begin_array();
    for (auto const& q : of.queues)
        write_queue(text, to, q);
    to.end_array().end_object();
    return text;
}

} // namespace quern::admin
