// Days on which some of all kinds of trouble meet, drawn anew for each: no scenario that was made by hand has to have
// thought of them together.

#include <quern/sim/detail/shapes.hpp>
#include <quern/sim/detail/weather.hpp>

#include <algorithm>
#include <vector>

namespace quern::sim::detail {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using kind = incident::kind;

namespace {

/// A third of these chances, each up to that one; the others are zero.
void some(dice& d, double most, std::initializer_list<double*> chances)
{
    for (auto* chance : chances)
        *chance = d.one_in(3) ? d.up_to(most) : 0;
}

void some_tries_fail(scenario& s, dice& d)
{
    auto& h = s.handlers;
    some(d, 0.3,
        {&h.fails, &h.backs_off, &h.releases, &h.rejects, &h.misreads, &h.condemns, &h.unavailable, &h.hangs, &h.deaf,
            &h.acks, &h.insists, &h.extends, &h.guards, &h.damaged, &h.slow});
    if (d.one_in(5)) h.blocks = d.up_to(0.05);
    h.troubled_tries = static_cast<int>(d.between(1, 5));
    if (h.hangs > 0 || d.one_in(2)) s.consumer.handler_timeout = d.between(1s, 3min);
}

void some_settings(scenario& s, dice& d)
{
    auto& c = s.consumer;
    if (d.one_in(2)) c.classify = classify;
    if (d.one_in(4)) c.outage.breaker.reset();
    if (d.one_in(3)) c.poison_queue = "poison";
    if (d.one_in(5)) c.max_age = d.between(30s, 10min);
    c.on_malformed = static_cast<malformed_policy>(d.between(0, 2));
    if (d.one_in(5)) c.limits.handler_concurrency = static_cast<std::size_t>(d.between(1, 30));
    if (d.one_in(3)) s.max_receives = static_cast<int>(d.between(1, 6));
    if (s.max_receives != 0 && d.one_in(4)) {
        s.receives_before = static_cast<int>(d.between(10, 100));
        s.lowered_at = d.between(0ms, 2min);
    }
}

/// Handlers are coroutines that take one message each, as a rule. Plain functions begin when a thread is free, not
/// when limits let them, so these stay what they are.
void some_handlers(scenario& s, dice& d)
{
    if (!s.takes_turns && d.one_in(6)) {
        turns(s, d);
    } else if (d.one_in(5)) {
        s.functions = true;
        s.threads = d.one_in(4) ? 0 : static_cast<int>(d.between(1, 8));
        s.handlers.hangs = 0; // for good
        return;
    } else if (d.one_in(5)) {
        s.batches = true;
        s.consumer.batch.size = static_cast<std::size_t>(d.between(2, 20));
        if (d.one_in(2)) s.consumer.batch.window = d.between(1ms, 5s);
    }
    if (s.batches) s.handlers.guards = 0;
}

void some_servers(scenario& s, dice& d)
{
    s.calls = static_cast<call_times>(d.between(0, 2));
    s.call_takes = d.between(5ms, 500ms);
    for (auto from = 0ms; from < 5min; from += d.between(10s, 3min))
        s.servers.push_back({from, static_cast<int>(d.between(1, 20))});
    if (d.one_in(2)) s.consumer.concurrency.emplace();
}

/// The same kinds of faults all day, in spells of other strengths.
void some_weather(scenario& s, dice& d)
{
    broker::fault_rates kinds;
    some(d, 1,
        {&kinds.throttled, &kinds.server_error, &kinds.dropped_before, &kinds.dropped_after, &kinds.half_open,
            &kinds.slow, &kinds.entry_failed, &kinds.duplicated, &kinds.receipt_expired, &kinds.access_denied,
            &kinds.truncated});
    auto const expires = d.one_in(6), loses_handles = d.one_in(6), breaks = d.one_in(4);
    static constexpr char const* requests[] = {
        "ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"};
    for (auto from = d.between(0ms, 20s); from < 5min; from += d.between(5s, 2min)) {
        spell one{from, from + d.between(1s, 90s), {}};
        one.faults.seed = static_cast<std::uint64_t>(d.between(1, 1'000'000));
        auto r = kinds;
        auto const strength = d.one_in(4) ? 0.4 : 0.1;
        for (auto* rate : {&r.throttled, &r.server_error, &r.dropped_before, &r.dropped_after, &r.half_open, &r.slow,
                 &r.entry_failed, &r.duplicated, &r.receipt_expired, &r.access_denied, &r.truncated})
            *rate *= strength;
        r.latency = 1;
        r.latency_max = d.between(1ms, 900ms);
        if (d.one_in(4))
            one.faults.by_operation[requests[d.between(0, std::ssize(requests) - 1)]] = r;
        else
            one.faults.everywhere = r;
        one.credentials_expired = expires && d.one_in(3);
        one.without_handles = loses_handles && d.one_in(3);
        one.dependency_down = breaks && d.one_in(2);
        from = one.until;
        s.spells.push_back(std::move(one));
    }
}

void some_incidents(scenario& s, dice& d)
{
    std::vector<kind> kinds;
    for (auto one : {kind::pause, kind::kill, kind::stop, kind::hurry, kind::start, kind::clock, kind::rest})
        if (d.one_in(3)) kinds.push_back(one);
    if (kinds.empty()) return;
    for (auto times = d.between(1, 6); times != 0; --times)
        incidents(s, d, {kinds[static_cast<std::size_t>(d.between(0, std::ssize(kinds) - 1))]});
}

} // namespace

void swarm(scenario& s, dice& d)
{
    s.processes = static_cast<int>(d.between(1, 4));
    if (d.one_in(4)) s.messages = static_cast<int>(d.between(100, 1'000));
    if (d.one_in(4)) s.sent_within = 0ms;
    if (d.one_in(5)) share_client(s, d);
    some_tries_fail(s, d);
    some_settings(s, d);
    if (d.one_in(4)) some_servers(s, d);
    if (d.one_in(3)) ordered(s, d);
    if (d.one_in(2)) some_weather(s, d);
    if (d.one_in(2)) some_incidents(s, d);
    if (d.one_in(5)) fair_turns(s, d);
    some_handlers(s, d);
    auto& c = s.consumer;
    auto const held = std::min(c.limits.max_in_flight, static_cast<std::size_t>(s.messages));
    c.settle.max_calls = std::max(c.settle.max_calls, 2 + held / 20); // an answer that never comes holds a call
    short_leases(s);
    if (s.groups != 0 && s.handlers.damaged > 0) s.messages = std::min(s.messages, 30); // of one group, one by one
    s.patience = 72h;                                                                   // and SQS keeps them for 96
}

} // namespace quern::sim::detail
