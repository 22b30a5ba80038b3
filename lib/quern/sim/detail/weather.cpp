#include <quern/sim/detail/weather.hpp>

#include <iterator>
#include <utility>

namespace quern::sim::detail {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

broker::fault_settings storm(dice& d)
{
    broker::fault_settings f;
    f.seed = static_cast<std::uint64_t>(d.between(1, 1'000'000));
    auto& r = f.everywhere;
    double const strength = d.one_in(3) ? 0.15 : 0.05;
    for (auto* chance : {&r.throttled, &r.server_error, &r.dropped_before, &r.dropped_after, &r.half_open, &r.slow})
        *chance = d.up_to(strength);
    r.latency = d.up_to(1);
    r.latency_min = 0ms;
    r.latency_max = d.between(1ms, 900ms);
    r.entry_failed = d.up_to(0.2);
    return f;
}

broker::fault_settings outage(dice& d)
{
    broker::fault_rates r;
    double* const ways[] = {
        &r.throttled, &r.server_error, &r.dropped_before, &r.dropped_after, &r.half_open, &r.entry_failed};
    *ways[d.between(0, std::ssize(ways) - 1)] = 1;
    static constexpr char const* requests[] = {
        "ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"};
    broker::fault_settings f;
    if (d.one_in(2))
        f.everywhere = r;
    else
        f.by_operation[requests[d.between(0, std::ssize(requests) - 1)]] = r;
    return f;
}

} // namespace

broker::fault_settings delayed(broker::fault_settings faults, milliseconds latency, int process)
{
    faults.seed += static_cast<std::uint64_t>(process);
    auto const slow_down = [latency](broker::fault_rates& rates) {
        if (rates.latency != 0) return;
        rates.latency = 1;
        rates.latency_min = rates.latency_max = latency;
    };
    slow_down(faults.everywhere);
    for (auto& [operation, rates] : faults.by_operation)
        slow_down(rates);
    return faults;
}

broker::fault_settings with_short_answers(broker::fault_settings faults, double chance)
{
    faults.everywhere.short_answer = chance;
    for (auto& [operation, rates] : faults.by_operation)
        rates.short_answer = chance;
    return faults;
}

void weather(scenario& s, dice& d)
{
    for (auto from = d.between(0ms, 5s); from < 5min; from += d.between(10s, 2min)) {
        spell one{from, from + d.between(1s, 60s), storm(d)};
        from = one.until;
        s.spells.push_back(std::move(one));
    }
}

void outages(scenario& s, dice& d)
{
    for (auto from = d.between(0ms, 20s); from < 5min; from += d.between(20s, 2min)) {
        spell one{from, from + d.between(1s, 2min), outage(d)};
        from = one.until;
        s.spells.push_back(std::move(one));
    }
}

void blackouts(scenario& s, dice& d, bool spell::*what, milliseconds longest)
{
    for (auto from = d.between(0ms, 30s); from < 5min; from += d.between(20s, 2min)) {
        spell one{from, from + d.between(1s, longest), {}};
        one.*what = true;
        from = one.until;
        s.spells.push_back(std::move(one));
    }
}

void lose_receives(scenario& s, dice& d)
{
    for (auto from = d.between(0ms, 5s); from < 3min; from += d.between(1s, 1min)) {
        spell one{from, from + d.between(1s, 20s), {}};
        auto& r = one.faults.by_operation["ReceiveMessage"];
        r.dropped_after = d.up_to(0.5);
        r.half_open = d.up_to(0.2);
        r.throttled = d.up_to(0.2);
        from = one.until;
        s.spells.push_back(std::move(one));
    }
}

} // namespace quern::sim::detail
