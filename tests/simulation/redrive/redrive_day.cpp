#include "simulation/redrive/redrive_day.hpp"

#include <quern/sim/detail/weather.hpp>

#include <algorithm>
#include <stdexcept>

namespace quern::sim {

using namespace detail;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

constexpr scenario_name names[] = {
    {"redrive", "dead letters go back; several redrivers at once are killed, drained and replaced"},
    {"redrive-fifo", "the same with FIFO queues: each group keeps its order"},
    {"redrive-journal", "the same with a journal: what is there twice was counted, wherever the kill came"},
};

/// A time in which no send is answered, though it may be carried out.
spell silence(dice& d)
{
    spell out;
    out.from = d.between(0ms, 40min);
    out.until = out.from + d.between(1s, 12min);
    auto& r = out.faults.by_operation["SendMessageBatch"];
    (d.one_in(2) ? r.dropped_after : r.half_open) = d.up_to(1);
    r.dropped_before = d.up_to(1);
    return out;
}

/// Faults at any time of the day.
std::vector<spell> faults(dice& d)
{
    scenario drawn;
    if (d.one_in(4)) return {};
    if (d.one_in(2))
        weather(drawn, d);
    else
        outages(drawn, d);
    auto const later = d.between(0ms, 30min);
    for (auto& one : drawn.spells) {
        one.from += later;
        one.until += later;
    }
    if (d.one_in(3)) drawn.spells.push_back(silence(d));
    return drawn.spells;
}

void settings(redrive::options& o, dice& d)
{
    o.plan.max_attempts = static_cast<int>(d.between(1, 4));
    o.plan.delay_base = d.one_in(3) ? 0s : std::chrono::seconds(d.between(1, 120));
    o.plan.jitter = d.one_in(2) ? policy::jitter::none : policy::jitter::full;
    o.cutoff = d.one_in(2);
    o.concurrency = static_cast<std::size_t>(d.between(1, 12));
    o.wait_time = std::chrono::seconds(d.between(1, 10));
    o.visibility_timeout = std::chrono::seconds(d.between(15, 60));
    o.drain_deadline = d.between(2s, 30s);
    o.speed.depth_lag = 0ms;
    if (d.one_in(4)) o.speed.rate = static_cast<double>(d.between(1, 50));
    if (d.one_in(4)) o.speed.limit = static_cast<std::size_t>(d.between(1, 20));
    if (d.one_in(6))
        o.speed.stop_on_failure = redrive::failure_limit{static_cast<std::size_t>(d.between(2, 20)), 1min};
}

/// Delays that are waited out in the dead-letter queue.
void long_waits(redrive_day& day, dice& d)
{
    auto& o = day.options;
    o.plan.delay_base = std::chrono::hours(d.between(1, 5));
    o.plan.delay_max = 14h;
    o.plan.jitter = policy::jitter::full;
    o.wait_time = 20s;
    day.patience = std::chrono::hours(24 * 12);
}

} // namespace

std::span<scenario_name const> redrive_scenarios()
{
    return names;
}

redrive_day draw_redrive(std::string_view name, std::uint64_t seed)
{
    if (std::ranges::find(names, name, &scenario_name::name) == std::end(names))
        throw std::invalid_argument("no scenario of a redrive " + std::string(name));
    dice d(seed * 0x9e3779b97f4a7c15 + 5);
    redrive_day out;
    out.name = name;
    out.seed = seed;
    settings(out.options, d);
    out.options.seed = seed * 2 + 1; // never 0, which would ask the system
    out.journal = out.options.plan.waits = name == "redrive-journal";
    out.fifo = name == "redrive-fifo" || (out.journal && d.one_in(3));
    out.redrivers = out.journal ? 1 : static_cast<int>(d.between(1, 3));
    out.sources = static_cast<int>(d.between(1, 3));
    out.max_receives = static_cast<int>(d.between(1, 3));
    out.messages = static_cast<int>(d.between(5, 40));
    out.sent_within = d.between(0ms, 40min);
    out.mended_after = d.between(0ms, 90min);
    out.rest = d.between(1s, 15min);
    out.most_kills = static_cast<int>(d.one_in(3) ? 0 : d.between(1, 12));
    out.most_stops = static_cast<int>(d.one_in(2) ? 0 : d.between(1, 6));
    out.latency = d.between(1ms, 60ms);
    out.spells = faults(d);
    if (out.journal && !out.fifo && d.one_in(5)) long_waits(out, d);
    return out;
}

} // namespace quern::sim
