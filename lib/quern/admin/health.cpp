#include <quern/admin/health.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace quern::admin {
namespace {

std::string seconds(tick::duration d)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(d).count());
    return text;
}

health sick(std::string why)
{
    return {503, std::move(why)};
}

bool answers(vital_signs const& all, health_limits const& limits, tick now)
{
    return all.over || now - all.beat_at <= limits.beat_within;
}

std::string silence(vital_signs const& all, tick now)
{
    return "the loop has not answered for " + seconds(now - all.beat_at) + ": something blocks its thread";
}

} // namespace

pulse next_pulse(pulse before, explanation const& said, consumer_counters const& counts, tick now)
{
    auto const done = counts.polls + counts.failed_polls + counts.repeated_polls + counts.acked + counts.retried +
        counts.released + counts.rejected + counts.lost;
    bool const first = !std::exchange(before.seen, true);
    auto const waits = [](auto const& o) { return o.name == "not_started"; };
    before.started = before.started || std::ranges::none_of(said.obstacles, waits);
    before.ready = said.ready;
    before.excused = !said.obstacles.empty();
    before.why.clear();
    for (auto const& o : said.obstacles)
        before.why.append(before.why.empty() ? "" : "; ").append(o.text);
    if (first || done != before.done || before.excused) before.moved_at = now;
    before.done = done;
    return before;
}

health liveness(vital_signs const& all, health_limits const& limits, tick now)
{
    if (!answers(all, limits, now)) return sick(silence(all, now));
    if (all.over) return {200, "ended"};
    for (auto const& one : all.loops) {
        auto const still = all.beat_at - one.moved_at;
        if (still <= limits.receive_within) continue;
        return sick(one.name + ": no receive has ended for " + seconds(still) + ", and nothing stands in its way");
    }
    return {200, all.seen ? "alive" : "alive, starting"};
}

health readiness(vital_signs const& all, health_limits const& limits, tick now)
{
    if (!answers(all, limits, now)) return sick(silence(all, now));
    if (all.over) return sick("ended");
    if (!all.seen) return sick("starting");
    for (auto const& one : all.loops) {
        if (!one.ready) return sick(one.name + ": " + (one.why.empty() ? "not ready" : one.why));
    }
    return {200, "ready"};
}

health startup(vital_signs const& all)
{
    if (!all.seen) return sick("starting");
    for (auto const& one : all.loops) {
        if (!one.started) return sick(one.name + ": not started");
    }
    return {200, "started"};
}

std::string details(vital_signs const& all, tick now)
{
    auto text = "the loop answered " + seconds(now - all.beat_at) + " ago\n";
    for (auto const& one : all.loops) {
        text.append(one.name).append(one.ready ? ": ready" : ": not ready");
        if (!one.why.empty()) text.append(": ").append(one.why);
        text.append("; moved ").append(seconds(now - one.moved_at)).append(" ago\n");
    }
    return text;
}

} // namespace quern::admin
