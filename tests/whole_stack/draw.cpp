#include "day.hpp"

#include <algorithm>

namespace quern::test {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;
using kind = stack_day::event::kind;

namespace {

/// A third of all kinds, each up to that chance.
wire_faults draw_faults(sim::dice& d)
{
    wire_faults f;
    auto const some = [&d](double most) { return d.one_in(3) ? d.up_to(most) : 0; };
    f.refused = some(0.5);
    f.ignored = some(0.3);
    f.reset = some(0.1);
    f.closed = some(0.1);
    f.halved = some(0.05);
    f.slow = some(0.1);
    f.torn = some(0.5);
    f.latency = d.one_in(2) ? d.between(0ms, 400ms) : 0ms;
    return f;
}

void draw_events(stack_day& day, sim::dice& d)
{
    std::vector<kind> kinds;
    for (auto one : {kind::kill, kind::stop, kind::cut, kind::silence, kind::skew, kind::keys_gone})
        if (d.one_in(3)) kinds.push_back(one);
    if (kinds.empty()) return;
    for (auto times = d.between(1, 6); times != 0; --times) {
        stack_day::event one{
            kinds[static_cast<std::size_t>(d.between(0, std::ssize(kinds) - 1))], d.between(0ms, 4min)};
        one.process = static_cast<std::size_t>(d.between(0, static_cast<std::int64_t>(day.processes) - 1));
        if (one.what == kind::stop) one.by = d.between(0ms, 40s);
        if (one.what == kind::skew) one.by = d.between(-3h, 3h);
        if (one.what == kind::keys_gone) one.by = d.between(1s, 2min);
        day.events.push_back(one);
    }
    std::ranges::stable_sort(day.events, {}, &stack_day::event::at);
}

} // namespace

stack_day draw_stack_day(std::uint64_t seed)
{
    sim::dice d(seed * 0x9e3779b97f4a7c15 + 3);
    stack_day day;
    day.seed = seed;
    day.tls = d.one_in(2);
    day.messages = static_cast<int>(d.between(20, 300));
    day.processes = static_cast<std::size_t>(d.between(1, 3));
    day.in_flight = static_cast<std::size_t>(d.between(1, d.one_in(3) ? 10 : 200));
    day.visibility = seconds(d.between(6, 60));
    day.wait = seconds(d.between(0, 20));
    day.longest_work = d.one_in(4) ? d.between(0ms, 60s) : d.between(0ms, 1s);
    day.fails = d.one_in(3) ? d.up_to(0.2) : 0;
    day.keys_last = seconds(d.one_in(2) ? d.between(400, 1'200) : 86'400);
    for (auto from = d.between(0ms, 20s); from < 4min && !d.one_in(5);) {
        day.spells.push_back({from, from + d.between(1s, 60s), draw_faults(d)});
        from = day.spells.back().until + d.between(1s, 90s);
    }
    draw_events(day, d);
    milliseconds last = 10s;
    for (auto const& s : day.spells)
        last = std::max(last, s.until);
    for (auto const& e : day.events)
        last = std::max(last, e.at + (e.what == kind::keys_gone ? e.by : 0ms));
    day.calm_from = last + 2min; // what hangs by then has been given up
    day.sent_until = day.calm_from + 1min;
    return day;
}

} // namespace quern::test
