// Days on which the speed is judged, and the age of messages.

#include <quern/sim/detail/shapes.hpp>
#include <quern/sim/subject.hpp>

#include <cmath>
#include <string>

namespace quern::sim::detail {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::minutes;

namespace {

constexpr milliseconds settled = 2min, first_trouble = 8min; // until then a consumer finds its speed, and shows it

/// Room for all that comes: what is judged is whether the consumer stands in its own way.
void roomy(scenario& s, dice& d)
{
    s.processes = static_cast<int>(d.between(1, 2));
    s.handlers = {};
    s.longest_body = 0;
    auto& c = s.consumer;
    c.limits.max_in_flight = static_cast<std::size_t>(d.between(40, 200));
    c.limits.max_polls = static_cast<std::size_t>(d.between(2, 16));
    c.limits.max_bytes_in_flight = consumer_limits().max_bytes_in_flight;
    c.wait_time = std::chrono::seconds(d.between(1, 20));
    c.visibility_timeout = std::chrono::seconds(d.between(10, 60));
    c.handler_timeout = 5min;
    c.limits.rate.reset();
    c.classify = classify;
}

/// One message every two seconds.
void flow(scenario& s, milliseconds until)
{
    s.sent_within = until;
    s.messages = static_cast<int>(until / 2s);
}

milliseconds longest_delay(policy::backoff const& b, int receives)
{
    std::mt19937_64 unused;
    return b.with(policy::jitter::none).delay(receives, unused);
}

} // namespace

void tenants(scenario& s, dice& d)
{
    roomy(s, d);
    s.tenants = 10;
    s.keyed = d.one_in(2);
    s.handlers.fails = d.up_to(0.05);
    milliseconds const notice = s.keyed ? 1min : 5min; // without a key it has to learn how many are down
    auto at = first_trouble;
    for (auto spells = d.between(1, 2); spells > 0; --spells) {
        spell one{at, at + notice + d.between(6min, 15min), {}};
        int down = 0;
        for (auto const wanted = d.between(1, s.tenants / 2); down < wanted;) {
            auto const bit = std::uint64_t(1) << d.between(0, s.tenants - 1);
            if ((one.tenants_down & bit) != 0) continue;
            one.tenants_down |= bit;
            ++down;
        }
        speed_promise others{settled, first_trouble, one.from + notice, one.until};
        others.of_tenants = ~one.tenants_down;
        others.when = "while " + std::to_string(down) + " of " + std::to_string(s.tenants) +
            " tenants are down, for the others";
        s.speeds.push_back(std::move(others));
        at = one.until + d.between(2min, 6min);
        s.spells.push_back(std::move(one));
    }
    flow(s, at);
}

/// Little room, and messages that do not stand back for ever: whole groups wait behind heads on their last receive.
void tenants_in_order(scenario& s, dice& d)
{
    tenants(s, d);
    s.groups = s.tenants * static_cast<int>(d.between(1, 5)); // each of one tenant
    s.consumer.fifo.on_failure = d.one_in(2) ? group_policy::retry_head : group_policy::park_group;
    s.consumer.fifo.park_for = d.between(1s, 20s);
    short_leases(s);
    s.consumer.limits.max_in_flight = static_cast<std::size_t>(d.between(20, 60));
    s.max_receives = static_cast<int>(d.between(2, 3));
    s.messages *= 3;
}

namespace {

std::uint64_t some_of(int tenants, dice& d)
{
    std::uint64_t out = 0;
    for (auto wanted = d.between(1, tenants - 1); wanted > 0;) {
        auto const bit = std::uint64_t(1) << d.between(0, tenants - 1);
        wanted -= (out & bit) == 0;
        out |= bit;
    }
    return out;
}

void order(scenario& s, dice& d)
{
    static constexpr int rows[] = {2, 10, 37, 50, 200, 500};
    s.in_turn = !d.one_in(3);
    s.in_a_row = d.one_in(3) ? 1 : rows[d.between(0, std::ssize(rows) - 1)];
}

} // namespace

/// From two messages a second to 500, so a day is as long as eight thousand take.
void orders_of_tenants(scenario& s, dice& d)
{
    static constexpr int rates[] = {2, 5, 10, 20, 50, 100, 200, 500}, most_receives[] = {0, 0, 3, 5, 10};
    roomy(s, d);
    s.processes = static_cast<int>(d.between(1, 4));
    s.tenants = 10;
    s.healthy = true;
    s.keyed = d.one_in(3);
    order(s, d);
    auto const rate = rates[d.between(0, std::ssize(rates) - 1)];
    auto const fifo = d.one_in(4);
    s.sent_within = std::min<milliseconds>((fifo ? 3'000s : 8'000s) / rate, d.between(6min, 18min));
    s.messages = static_cast<int>(s.sent_within * rate / 1s);
    s.max_receives = most_receives[d.between(0, std::ssize(most_receives) - 1)];
    if (s.max_receives == 0) s.handlers.fails = d.up_to(0.05);
    auto const part = [&](int least, int most) { return s.sent_within * d.between(least, most) / 100; };
    auto at = d.one_in(4) ? 0ms : part(5, 30);
    for (auto outages = d.between(1, 3); outages > 0; --outages) {
        spell one{at, at + part(15, 50), {}};
        one.tenants_down = some_of(s.tenants, d);
        at = one.until + part(2, 20);
        s.spells.push_back(std::move(one));
    }
    if (d.one_in(3)) s.piles.push_back({0ms, static_cast<int>(d.between(100, 1'000))});
    if (d.one_in(3)) s.piles.push_back({part(5, 60), static_cast<int>(d.between(100, 1'000))});
    for (auto const& p : s.piles)
        s.messages += p.messages;
    if (d.one_in(5)) { // plain functions, on a few threads
        s.functions = true;
        s.threads = static_cast<int>(d.between(1, 8));
    }
    if (!fifo) return;
    s.groups = s.tenants * static_cast<int>(d.between(1, 5));
    s.consumer.fifo.on_failure = d.one_in(2) ? group_policy::retry_head : group_policy::park_group;
    s.consumer.fifo.park_for = d.between(1s, 20s);
    short_leases(s);
}

/// Messages come all the time, and outages of all follow each other within the hour. None may make the next one look
/// usual.
void outages_in_turn(scenario& s, dice& d)
{
    static constexpr int rates[] = {1, 2, 5, 10, 20};
    roomy(s, d);
    s.tenants = 10;
    s.keyed = d.one_in(3);
    order(s, d);
    if (s.keyed) s.in_a_row = 1; // ten keys tell of an outage of all, and rows of them take their time
    s.consumer.limits.max_in_flight = static_cast<std::size_t>(d.between(100, 1'000));
    auto const rate = rates[d.between(0, std::ssize(rates) - 1)];
    auto outages = d.between(2, 4);
    s.max_receives = static_cast<int>(d.between(outages + 2, 10)); // where they follow at once, each costs a receive
    auto at = d.between(0ms, 5min);
    for (; outages > 0; --outages) {
        spell down{at, at + std::min<milliseconds>(d.between(30s, 30min), 4'000s / rate), {}};
        down.dependency_down = true;
        at = down.until + d.between(1min, 15min) / rate;
        s.spells.push_back(std::move(down));
    }
    s.sent_within = at;
    s.messages = static_cast<int>(at * rate / 1s);
    s.most_dead = s.processes * unnoticed * static_cast<int>(s.spells.size());
}

/// All that is to do is there from the beginning, so the speed is that of the handlers: two tries a second.
void stubborn(scenario& s, dice& d)
{
    roomy(s, d);
    s.handlers.fails = 0.1 + d.up_to(0.85);
    s.handlers.troubled_tries = 1'000'000;
    s.jitter = 0;
    s.consumer.backoff = policy::backoff::fixed({d.between(1s, 5s)}).with(policy::jitter::none);
    s.consumer.limits.max_in_flight = static_cast<std::size_t>(d.between(8, 40));
    s.takes = 500ms * s.processes * static_cast<int>(s.consumer.limits.max_in_flight);
    spell down{first_trouble, first_trouble + d.between(5min, 45min), {}};
    down.dependency_down = true;
    // Probes come every 15 s at most: in so long one of them succeeds, but for one outage in ten thousand.
    auto const noticed =
        std::chrono::duration_cast<std::chrono::seconds>(15s * std::log(1e-4) / std::log(s.handlers.fails));
    auto const from = down.until + 5min + noticed;
    speed_promise after{settled, first_trouble, from, from + 6min, 0.8};
    after.when = "once an outage is over for five minutes and what a success may take to come, " +
        std::to_string(int(100 * s.handlers.fails)) + " % of the tries failing as before";
    s.speeds.push_back(std::move(after));
    s.spells.push_back(std::move(down));
    s.sent_within = 0ms;
    auto const busy = first_trouble + 15min + noticed;
    s.messages = static_cast<int>(2.0 * static_cast<double>(busy / 1s) * (1 - s.handlers.fails));
    s.patience += 4h; // the last ones are tried again and again
}

void poisoned(scenario& s, dice& d)
{
    roomy(s, d);
    s.handlers.fails = d.up_to(0.05);
    s.max_receives = static_cast<int>(d.between(3, 6));
    s.poisoned = static_cast<int>(d.between(1, 3));
    s.dead_within =
        30min + s.max_receives * (longest_delay(s.consumer.backoff, s.max_receives) + s.consumer.visibility_timeout);
    auto const until = s.dead_within * 3 / 2; // others come all the time: nothing else tells them from an outage
    flow(s, until);
    speed_promise others{settled, until / 3, until / 3, until};
    others.when = "beside " + std::to_string(s.poisoned) + " that always find what they need down";
    s.speeds.push_back(std::move(others));
}

/// Outages and rests in turn. None of a moment: what the consumer cannot know of at once must not make the
/// difference.
void aged(scenario& s, dice& d)
{
    roomy(s, d);
    s.processes = 1;
    s.handlers.fails = d.up_to(0.5);
    s.handlers.troubled_tries = static_cast<int>(d.between(3, 30));
    s.consumer.max_age = d.between(3min, 15min);
    if (d.one_in(2)) s.consumer.poison_queue = "poison";
    s.counts_age = true;
    auto at = d.between(1min, 5min);
    for (auto times = d.between(1, 4); times > 0; --times) {
        auto const length = d.between(8min, 30min);
        if (d.one_in(2)) {
            spell one{at, at + length, {}};
            one.dependency_down = true;
            s.spells.push_back(std::move(one));
        } else {
            s.incidents.push_back({incident::kind::rest, 0, at, length});
        }
        at += length + d.between(3min, 8min);
    }
    s.sent_within = at;
    s.messages = static_cast<int>(at / 10s);
}

namespace {

/// Another capacity from each of a few times on, and a promise for each from when it must have been found. What the
/// rule alone reaches stands in docs/benchmarks.md; these are the bounds that none of many thousand days leaves.
void servers_in_turn(scenario& s, dice& d)
{
    milliseconds at{};
    double calls = 0;
    for (auto phases = d.between(2, 4); phases > 0; --phases) {
        auto const servers = static_cast<int>(d.between(1, 20));
        auto const rate = servers * 1e3 / static_cast<double>(s.call_takes.count());
        auto const found = 10s + 200 * s.call_takes + milliseconds(std::llround(1e6 / rate)); // a thousand calls
        auto const length = found + 60s;
        speed_promise enough{{}, {}, at + found, at + length, 0.6};
        enough.usual = rate;
        // Each process tries one or two more than it needs, which matters where a few are enough.
        enough.longest_mean = s.takes + 6 * s.call_takes * std::max(2 * servers, servers + 3 * s.processes) / servers;
        enough.when = "with " + std::to_string(servers) + " servers downstream, whose calls take " +
            std::to_string(s.call_takes.count()) + " ms";
        s.servers.push_back({at, servers});
        s.speeds.push_back(std::move(enough));
        at += length;
        calls += rate * std::chrono::duration<double>(length).count();
    }
    s.sent_within = 0ms;
    s.messages = static_cast<int>(calls) + 100;
}

} // namespace

/// More to do than what is downstream can, whose capacity changes: nobody tells the consumer how much that is.
void called(scenario& s, dice& d)
{
    roomy(s, d);
    s.calls = static_cast<call_times>(d.between(0, 2));
    s.call_takes = d.between(20ms, 200ms);
    s.takes = d.one_in(2) ? 1ms : d.between(1ms, 100ms);
    s.consumer.concurrency.emplace();
    s.consumer.limits.max_in_flight = 1'000;
    s.consumer.limits.max_polls = 16;
    servers_in_turn(s, d);
}

void share_client(scenario& s, dice& d)
{
    s.together = static_cast<int>(d.between(2, 5));
    s.processes = static_cast<int>(d.between(1, 2));
    s.queues = static_cast<int>(d.between(1, s.together));
    s.connections = static_cast<std::size_t>(d.between(s.together / 2, s.together));
    s.consumer.limits.max_polls = static_cast<std::size_t>(d.between(2, 16));
    s.consumer.wait_time = std::chrono::seconds(d.between(1, 5)); // it may stand in line for as long
    s.consumer.visibility_timeout = std::chrono::seconds(d.between(30, 60));
}

void differ(scenario& s, dice& d)
{
    s.processes = static_cast<int>(d.between(2, 3));
    s.together = static_cast<int>(d.between(1, 3));
    s.queues = static_cast<int>(d.between(1, s.together));
    for (int i = 0; i < s.processes; ++i) {
        auto const drawn = common(d, s.name, s.seed);
        version one{drawn.consumer, drawn.jitter, d.one_in(3)};
        auto& c = one.consumer;
        c.handler_timeout = s.consumer.handler_timeout;
        c.on_malformed = static_cast<malformed_policy>(d.between(0, 2));
        c.fifo.on_failure = s.consumer.fifo.on_failure;
        c.fifo.park_for = s.consumer.fifo.park_for;
        c.poison_queue = s.consumer.poison_queue;
        c.batch.size = one.batches ? static_cast<std::size_t>(d.between(2, 20)) : c.batch.size;
        if (d.one_in(2)) c.classify = classify;
        if (d.one_in(2)) c.outage.breaker.reset();
        if (s.groups == 0 && d.one_in(2))
            c.poison_queue = c.poison_queue ? std::nullopt : std::optional<std::string>("poison");
        s.versions.push_back(std::move(one));
    }
    s.patience *= 4;
}

} // namespace quern::sim::detail
