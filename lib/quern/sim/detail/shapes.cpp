#include <quern/sim/detail/shapes.hpp>

#include <quern/sim/detail/weather.hpp>

#include <bit>

namespace quern::sim::detail {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using kind = incident::kind;

namespace {

void patient(scenario& s, dice& d)
{
    using policy::backoff, policy::jitter;
    backoff const series[] = {backoff::exponential(1s, 2.0, 5min), backoff::linear(1s, 2s, 1min),
        backoff::fibonacci(2s, 1min), backoff::fixed({1s, 5s, 30s})};
    s.jitter = d.one_in(2) ? 0.5 : 0.5 + d.up_to(0.5); // never below the default's: another backoff may be put in
    s.consumer.backoff =
        series[d.between(0, std::ssize(series) - 1)].with(jitter::fraction(d.one_in(4) ? 0 : s.jitter));
}

} // namespace

/// Where all begin: a consumer with settings of every size.
scenario common(dice& d, std::string_view name, std::uint64_t seed)
{
    scenario s;
    s.name = name;
    s.seed = seed;
    s.messages = static_cast<int>(d.between(1, 120));
    s.sent_within = d.between(0ms, 60s);
    s.latency = d.between(1ms, 60ms);
    auto& c = s.consumer;
    c.seed = seed * 2 + 1; // never 0, which would ask the system
    c.limits.max_in_flight = static_cast<std::size_t>(d.between(1, d.one_in(3) ? 10 : 200));
    c.limits.max_polls = static_cast<std::size_t>(d.between(1, 16));
    c.wait_time = std::chrono::seconds(d.between(0, 20));
    c.visibility_timeout = std::chrono::seconds(d.one_in(3) ? d.between(3, 10) : d.between(10, 60));
    c.settle.linger = d.one_in(4) ? std::nullopt : std::optional(d.between(1ms, 200ms));
    c.settle.max_calls = static_cast<std::size_t>(d.between(2, 32));
    c.drain_deadline = d.between(3s, 40s);
    patient(s, d);
    s.handlers.slow = d.up_to(0.2);
    s.on_a_pool = d.one_in(4);
    if (d.one_in(10)) c.limits.rate = policy::rate{.count = d.between(1, 50)};
    s.longest_body = d.one_in(3) ? 0 : static_cast<std::size_t>(d.between(0, d.one_in(10) ? 100'000 : 2'000));
    if (s.longest_body > 0 && d.one_in(5))
        c.limits.max_bytes_in_flight = static_cast<std::size_t>(d.between(1, 10)) << 20;
    return s;
}

void trouble(scenario& s, dice& d)
{
    auto& h = s.handlers;
    for (auto* chance :
        {&h.fails, &h.backs_off, &h.releases, &h.hangs, &h.deaf, &h.rejects, &h.misreads, &h.condemns})
        *chance = d.up_to(0.15);
    h.slow = d.up_to(0.4);
    if (d.one_in(3)) h.unavailable = d.up_to(0.1);
    if (d.one_in(5)) h.blocks = d.up_to(0.05);
    if (d.one_in(2)) {
        h.hangs = 0; // for 12 hours each
    } else {
        s.consumer.handler_timeout = d.between(1s, 3min);
    }
    if (d.one_in(2)) s.consumer.poison_queue = "poison";
    if (d.one_in(2)) s.consumer.classify = classify;
    if (d.one_in(5)) s.consumer.max_age = d.between(30s, 10min);
    s.consumer.on_malformed = static_cast<malformed_policy>(d.between(0, 2));
    auto const one_by_one = s.messages * (h.troubled_tries + 1) *
        std::max<milliseconds>(s.consumer.handler_timeout.value_or(0ms), 3 * s.consumer.visibility_timeout);
    s.patience += one_by_one / s.consumer.limits.max_in_flight;
    if (h.unavailable > 0) s.patience += one_by_one; // one probe at a time
}

/// Up to three processes in trouble.
void crowd(scenario& s, dice& d)
{
    s.processes = static_cast<int>(d.between(1, 3));
    trouble(s, d);
}

void asking(scenario& s, dice& d)
{
    s.handlers.acks = d.up_to(0.2);
    s.handlers.extends = d.up_to(0.2);
}

void insisting(scenario& s, dice& d)
{
    crowd(s, d);
    asking(s, d);
    s.handlers.insists = 0.1 + d.up_to(0.5);
    auto& c = s.consumer;
    if (d.one_in(2)) c.visibility_timeout = std::chrono::seconds(d.between(6, 20));
    if (d.one_in(3)) ordered(s, d);
    if (d.one_in(4)) {
        s.batches = true;
        c.batch.size = static_cast<std::size_t>(d.between(2, 20));
        c.batch.window = d.between(1ms, 10s);
        s.patience *= 4;
    }
    if (d.one_in(2))
        incidents(s, d, {kind::pause, kind::kill, kind::stop, kind::hurry, kind::clock, kind::start, kind::rest});
    weather(s, d);
    auto const longest = std::min<milliseconds>(10s, milliseconds(c.visibility_timeout) / 6);
    for (auto& one : s.spells) {
        auto& r = one.faults.everywhere;
        r.latency = 1;
        r.latency_max = d.between(1ms, longest);
        r.duplicated = d.up_to(0.5);
        r.truncated = d.up_to(0.1);
        if (d.one_in(3)) r.receipt_expired = d.up_to(0.1);
        if (d.one_in(4)) r.access_denied = d.up_to(0.1);
    }
}

void crammed(scenario& s, dice& d)
{
    insisting(s, d);
    auto& h = s.handlers;
    if (!s.batches) h.guards = d.up_to(0.2);
    h.damaged = d.up_to(0.1);
    if (d.one_in(2)) h.rejects = 0.1 + d.up_to(0.2);
    for (auto n = d.between(2, 8); n != 0; --n)
        incidents(s, d,
            {kind::pause, kind::pause, kind::kill, kind::stop, kind::hurry, kind::clock, kind::start, kind::rest});
    if (d.one_in(3)) s.max_receives = static_cast<int>(d.between(1, 6));
    if (s.max_receives != 0 && d.one_in(2)) {
        s.receives_before = static_cast<int>(d.between(10, 100));
        s.lowered_at = d.between(0ms, 2min);
    }
    s.consumer.classify = classify;
    for (auto& one : s.spells) {
        one.credentials_expired = d.one_in(10);
        one.without_handles = d.one_in(10);
        one.dependency_down = d.one_in(5);
    }
    s.patience *= 4;
}

/// Handlers do well, but for what they depend on.
void dependency(scenario& s, dice& d)
{
    s.processes = static_cast<int>(d.between(1, 3));
    s.messages = static_cast<int>(d.between(20, 120));
    s.sent_within = d.between(1min, 40min);
    s.max_receives = 3;
    s.consumer.classify = classify;
    s.consumer.handler_timeout = 5min;
    s.consumer.limits.max_in_flight =
        4 * static_cast<std::size_t>(s.messages); // those on their last receive take a quarter
    blackouts(s, d, &spell::dependency_down, 45min);
    if (d.one_in(3)) { // before the first outage, so that no message has been received as often by then
        s.receives_before = static_cast<int>(d.between(20, 100));
        s.lowered_at = d.between(0ms, s.spells.front().from);
    }
    // Lowered within ten seconds since it was read, the policy takes what fails before ten have.
    auto const each = s.receives_before != 0 ? 6 : unnoticed;
    s.most_dead = static_cast<int>(s.spells.size()) * s.processes * each;
}

/// All that is to do is there when an outage begins.
void backlog(scenario& s, dice& d)
{
    s.processes = static_cast<int>(d.between(1, 2));
    s.messages = static_cast<int>(d.between(100, 400));
    s.sent_within = 0ms;
    s.max_receives = static_cast<int>(d.between(3, 5));
    s.handlers = {};
    if (d.one_in(2)) s.handlers.slow = d.up_to(0.2);
    auto& c = s.consumer;
    c.classify = classify;
    c.handler_timeout = 5min;
    c.limits.rate.reset();
    c.limits.max_in_flight =
        static_cast<std::size_t>(d.between(s.messages, 2 * s.messages)); // a quarter may wait here
    spell down{0ms, d.between(5min, 1h), {}};
    down.dependency_down = true;
    s.spells.push_back(std::move(down));
    s.most_dead = s.processes * unnoticed;
}

/// A backlog of whose messages a few are handled between two outages, often before the consumer is at full speed.
void flapping(scenario& s, dice& d)
{
    backlog(s, d);
    s.takes = d.between(100ms, 3s);
    s.messages = static_cast<int>(d.between(200, 600));
    s.max_receives = static_cast<int>(d.between(3, 4));
    s.longest_body = 0; // there is room for whole groups to wait here
    s.consumer.limits.max_in_flight = static_cast<std::size_t>(2 * s.messages);
    // All leases end together: two calls, 48 ms each, could not extend 430 of them within a second.
    s.consumer.settle.max_calls =
        std::max(s.consumer.settle.max_calls, 2 + static_cast<std::size_t>(s.messages) / 20);
    s.spells.clear();
    auto from = d.between(0ms, 30s);
    for (auto outages = d.between(3, 30); outages > 0; --outages) {
        spell down{from, from + d.between(20s, 5min), {}};
        down.dependency_down = true;
        from = down.until + d.between(2s, 15s);
        s.spells.push_back(std::move(down));
    }
    s.most_dead = s.processes * unnoticed * static_cast<int>(s.spells.size());
}

/// Some tenants are down, whose messages are told apart: each is an outage of its own. A quarter of the places is
/// enough for all of theirs.
void backlog_of_tenants(scenario& s, dice& d)
{
    backlog(s, d);
    s.tenants = 10;
    s.keyed = true;
    s.consumer.limits.max_in_flight = static_cast<std::size_t>(d.between(2 * s.messages, 4 * s.messages));
    auto& down = s.spells.front();
    down.dependency_down = false;
    for (auto wanted = d.between(1, s.tenants / 2); wanted > 0; --wanted)
        down.tenants_down |= std::uint64_t(1) << d.between(0, s.tenants - 1);
    s.most_dead = std::popcount(down.tenants_down) * s.processes * unnoticed;
}

void incidents(scenario& s, dice& d, std::initializer_list<incident::kind> kinds)
{
    auto const count = d.between(1, 5);
    for (std::int64_t i = 0; i < count; ++i) {
        incident one;
        one.what = *(kinds.begin() + d.between(0, static_cast<std::int64_t>(kinds.size()) - 1));
        one.process = static_cast<int>(d.between(0, s.processes - 1));
        one.at = d.one_in(3) ? d.between(0ms, 2s) : d.between(0ms, 3min);
        if (one.what == kind::pause || one.what == kind::rest) one.by = d.between(100ms, 2min);
        if (one.what == incident::kind::clock) one.by = d.between(-30min, 30min);
        if (one.what == incident::kind::hurry && !d.one_in(3)) one.then = d.between(0ms, 5s);
        if (one.what == kind::stop || one.what == kind::hurry || one.what == kind::start) {
            one.by = d.one_in(4) ? d.between(0ms, 3s) : d.between(3s, 60s);
        }
        s.incidents.push_back(one);
    }
}

/// A FIFO queue, and a policy for its groups.
void ordered(scenario& s, dice& d)
{
    s.groups = static_cast<int>(d.one_in(3) ? 1 : d.between(1, 20));
    s.consumer.fifo.on_failure = static_cast<group_policy>(d.between(0, 3));
    if (s.consumer.fifo.on_failure == group_policy::skip_head) s.consumer.poison_queue = "poison.fifo";
    if (s.consumer.poison_queue) s.consumer.poison_queue = "poison.fifo";
    s.consumer.fifo.park_for = d.between(1s, 5min);
    s.patience *= 2;
}

/// Leases that differ from all times for which an outage puts a message off: else the witness takes that of a message
/// which waited behind its head for one more extension.
void short_leases(scenario& s)
{
    s.consumer.visibility_timeout = std::min(s.consumer.visibility_timeout, std::chrono::seconds(29));
}

namespace {

consumer_limits some_limits(scenario const& s, dice& d)
{
    auto out = s.consumer.limits;
    if (d.one_in(2)) out.max_in_flight = static_cast<std::size_t>(d.between(1, d.one_in(2) ? 12 : 200));
    if (d.one_in(2)) out.max_polls = static_cast<std::size_t>(d.between(1, 16));
    if (d.one_in(2)) {
        auto const n = static_cast<std::size_t>(d.between(0, 30));
        out.handler_concurrency = n == 0 ? std::nullopt : std::optional(n);
    }
    if (d.one_in(3)) {
        auto const rate = policy::rate{.count = d.between(0, 20), .burst = d.between(1, 15)};
        out.rate = rate.count == 0 ? std::nullopt : std::optional(rate);
    }
    if (s.longest_body > 0 && d.one_in(3)) out.max_bytes_in_flight = static_cast<std::size_t>(d.between(1, 10)) << 20;
    return out;
}

} // namespace

/// Handlers start when the consumer lets them. In the end there is room for all that is left.
void turns(scenario& s, dice& d)
{
    s.handlers.blocks = 0;
    s.consumer.limits.rate.reset();
    if (d.one_in(2)) s.consumer.limits.handler_concurrency = static_cast<std::size_t>(d.between(1, 20));
    if (d.one_in(4)) {
        s.batches = true;
        s.consumer.batch.size = static_cast<std::size_t>(d.between(2, 20));
        if (d.one_in(2)) s.consumer.batch.window = d.between(1ms, 3s);
    }
    auto const length = s.sent_within + d.between(10s, 5min);
    auto roomy = s.consumer.limits;
    roomy.max_in_flight = 200;
    roomy.handler_concurrency.reset();
    for (int process = 0; process < s.processes; ++process) {
        for (auto times = d.between(1, 12); times > 0; --times)
            s.incidents.push_back({kind::turn, process, d.between(0ms, length), {}, {}, some_limits(s, d)});
        s.incidents.push_back({kind::turn, process, length + 1ms, {}, {}, roomy});
    }
    auto const tries = s.messages * (s.handlers.troubled_tries + 1); // of a process that begins anew, one by one
    s.patience +=
        tries * std::max<milliseconds>(s.consumer.handler_timeout.value_or(0ms), 3 * s.consumer.visibility_timeout);
}

/// Leases of what waits are long, and a process that is killed leaves it hidden for as long.
void fair_turns(scenario& s, dice& d)
{
    s.tenants = static_cast<int>(d.between(2, 20));
    s.in_turn = d.one_in(2);
    s.keyed = s.takes_turns = true;
    if (s.groups != 0) s.groups = s.tenants * static_cast<int>(d.between(1, 3));
    auto& c = s.consumer;
    c.limits.rate.reset();
    auto const handlers = static_cast<std::size_t>(d.between(1, 20));
    c.limits.handler_concurrency = handlers;
    if (d.one_in(2)) c.fairness.tenant_concurrency = static_cast<std::size_t>(d.between(1, 5));
    if (d.one_in(2)) c.fairness.weight = [](std::string const& name) { return name.ends_with('1') ? 3.0 : 1.0; };
    if (d.one_in(2)) {
        auto const ahead = static_cast<std::size_t>(d.between(5, 150));
        c.fairness.look_ahead = ahead;
        c.limits.max_in_flight = ahead + handlers + static_cast<std::size_t>(d.between(1, 50));
    }
    auto const kills = std::ranges::count(s.incidents, incident::kind::kill, &incident::what);
    s.patience += 10min * (kills + 1) + s.messages * (s.handlers.troubled_tries + 1) * 10s;
}

/// All leases end together: half of what the calls can extend in the last third of one is held, for deletes want
/// their share.
void few_calls(scenario& s, dice& d)
{
    crowd(s, d);
    auto& c = s.consumer;
    c.settle.max_calls = static_cast<std::size_t>(d.between(2, 4));
    c.visibility_timeout = std::chrono::seconds(d.between(3, 6));
    auto const calls =
        milliseconds(c.visibility_timeout) / 3 / s.latency * static_cast<std::int64_t>(c.settle.max_calls);
    c.limits.max_in_flight = static_cast<std::size_t>(std::clamp<std::int64_t>(calls * 10 / 2, 10, 400));
    c.limits.rate.reset();
    s.messages = static_cast<int>(d.between(50, 600));
    s.handlers.slow = 0.3 + d.up_to(0.7);
    s.patience *= 4;
}

/// More slow ones than threads, as a rule: many are called off before they begin.
void functions(scenario& s, dice& d)
{
    s.functions = true;
    s.threads = d.one_in(4) ? 0 : static_cast<int>(d.between(1, 8));
    s.handlers.hangs = 0; // for good
    if (d.one_in(2)) s.handlers.blocks = d.up_to(0.2);
    auto const twice = d.one_in(3);
    for (auto& one : s.spells)
        if (twice) one.faults.everywhere.duplicated = d.up_to(0.2);
    auto const tries = s.messages * (s.handlers.troubled_tries + 1);
    s.patience += tries * 3 * milliseconds(s.consumer.visibility_timeout) / std::max(s.threads, 1);
}

} // namespace quern::sim::detail
