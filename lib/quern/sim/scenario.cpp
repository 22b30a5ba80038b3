#include <quern/sim/scenario.hpp>

#include <quern/sim/weather.hpp>

#include <algorithm>
#include <stdexcept>

namespace quern::sim {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

using kind = incident::kind;

void patient(scenario& s, dice& d)
{
    using policy::backoff, policy::jitter;
    backoff const series[] = {backoff::exponential(1s, 2.0, 5min), backoff::linear(1s, 2s, 1min),
        backoff::fibonacci(2s, 1min), backoff::fixed({1s, 5s, 30s})};
    s.jitter = d.one_in(2) ? 0.5 : 0.5 + d.up_to(0.5); // never below the default's: another backoff may be put in
    s.consumer.backoff =
        series[d.between(0, std::ssize(series) - 1)].with(jitter::fraction(d.one_in(4) ? 0 : s.jitter));
}

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
    c.max_in_flight = static_cast<std::size_t>(d.between(1, d.one_in(3) ? 10 : 200));
    c.max_polls = static_cast<std::size_t>(d.between(1, 16));
    c.wait_time = std::chrono::seconds(d.between(0, 20));
    c.visibility_timeout = std::chrono::seconds(d.one_in(3) ? d.between(3, 10) : d.between(10, 60));
    c.settle_linger = d.one_in(4) ? 0ms : d.between(1ms, 200ms);
    c.max_settle_calls = static_cast<std::size_t>(d.between(2, 32));
    c.drain_deadline = d.between(3s, 40s);
    patient(s, d);
    s.handlers.slow = d.up_to(0.2);
    s.on_a_pool = d.one_in(4);
    if (d.one_in(10)) c.rate = policy::rate{.count = d.between(1, 50)};
    s.longest_body = d.one_in(3) ? 0 : static_cast<std::size_t>(d.between(0, d.one_in(10) ? 100'000 : 2'000));
    if (s.longest_body > 0 && d.one_in(5)) c.max_bytes_in_flight = static_cast<std::size_t>(d.between(1, 10)) << 20;
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
    if (d.one_in(2)) s.consumer.poison_queue_url = "poison";
    if (d.one_in(2)) s.consumer.classify = classify;
    if (d.one_in(5)) s.consumer.max_age = d.between(30s, 10min);
    s.consumer.on_malformed = static_cast<malformed_policy>(d.between(0, 2));
    auto const one_by_one = s.messages * (h.troubled_tries + 1) *
        std::max<milliseconds>(s.consumer.handler_timeout, 3 * s.consumer.visibility_timeout);
    s.patience += one_by_one / s.consumer.max_in_flight;
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

/// Handlers do well, but for what they depend on.
void dependency(scenario& s, dice& d)
{
    s.processes = static_cast<int>(d.between(1, 3));
    s.messages = static_cast<int>(d.between(20, 120));
    s.sent_within = d.between(1min, 40min);
    s.max_receives = 3;
    s.consumer.classify = classify;
    s.consumer.handler_timeout = 5min;
    s.consumer.max_in_flight = 4 * static_cast<std::size_t>(s.messages); // those on their last receive take a quarter
    blackouts(s, d, &spell::dependency_down, 45min);
    auto const unnoticed = 2 * (s.consumer.breaker->unavailable_in_a_row - 1); // earlier ones make bad news usual
    s.most_dead = static_cast<int>(s.spells.size()) * s.processes * unnoticed;
}

void incidents(scenario& s, dice& d, std::initializer_list<incident::kind> kinds)
{
    auto const count = d.between(1, 5);
    for (std::int64_t i = 0; i < count; ++i) {
        incident one;
        one.what = *(kinds.begin() + d.between(0, static_cast<std::int64_t>(kinds.size()) - 1));
        one.process = static_cast<int>(d.between(0, s.processes - 1));
        one.at = d.one_in(3) ? d.between(0ms, 2s) : d.between(0ms, 3min);
        if (one.what == incident::kind::pause) one.by = d.between(100ms, 2min);
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
    s.consumer.on_group_failure = static_cast<group_policy>(d.between(0, 3));
    if (s.consumer.on_group_failure == group_policy::skip_head) s.consumer.poison_queue_url = "poison.fifo";
    if (!s.consumer.poison_queue_url.empty()) s.consumer.poison_queue_url = "poison.fifo";
    s.consumer.park_for = d.between(1s, 5min);
    s.patience *= 2;
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

constexpr auto every_incident = {kind::pause, kind::clock, kind::kill, kind::stop, kind::hurry, kind::start};

struct entry {
    scenario_name name;
    void (*shape)(scenario&, dice&);
};

entry const catalogue[] = {
    {{"calm", "nothing goes wrong"}, [](scenario&, dice&) {}},
    {{"handlers", "handlers fail, hang, take longer than their leases and ignore being cancelled"},
        [](scenario& s, dice& d) { trouble(s, d), asking(s, d); }},
    {{"weather", "requests and answers are lost, refused, late; entries of batches fail"},
        [](scenario& s, dice& d) {
            trouble(s, d);
            weather(s, d);
            asking(s, d);
        }},
    {{"stops", "processes are stopped at any moment, some twice, and replaced"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            incidents(s, d, {kind::stop, kind::stop, kind::hurry, kind::start});
        }},
    {{"kills", "processes are killed at any moment and replaced"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            incidents(s, d, {kind::kill});
        }},
    {{"pauses", "processes stand still for longer than their leases; calendars jump"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            incidents(s, d, {kind::pause, kind::clock});
        }},
    {{"duplicates", "the service delivers messages twice, and forgets receipt handles"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            asking(s, d);
            weather(s, d);
            for (auto& one : s.spells) {
                one.faults.everywhere.duplicated = d.up_to(0.3);
                one.faults.everywhere.receipt_expired = d.up_to(0.1);
            }
        }},
    {{"outages", "nothing works for a while, or one kind of request does not"},
        [](scenario& s, dice& d) {
            trouble(s, d);
            outages(s, d);
        }},
    {{"damaged", "messages arrive unreadable, receive after receive"},
        [](scenario& s, dice& d) {
            trouble(s, d);
            s.handlers.damaged = d.up_to(0.3);
        }},
    {{"blocking", "handlers hold the thread of their process"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            s.handlers.blocks = d.up_to(0.3);
        }},
    {{"credentials", "the credentials expire, and for a while there are no new ones"},
        [](scenario& s, dice& d) {
            trouble(s, d);
            blackouts(s, d, &spell::credentials_expired, 3min);
        }},
    {{"asks", "handlers await their deletes and longer leases; their processes are stopped, paused and killed"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            if (d.one_in(2)) weather(s, d);
            if (d.one_in(3)) ordered(s, d);
            incidents(s, d, every_incident);
            asking(s, d);
        }},
    {{"bytes", "large messages, and a limit on the bytes in flight that they reach"},
        [](scenario& s, dice& d) {
            trouble(s, d);
            if (d.one_in(2)) weather(s, d);
            if (d.one_in(3)) ordered(s, d);
            s.longest_body = static_cast<std::size_t>(d.between(100'000, 900'000));
            s.consumer.max_in_flight = 200;
            s.consumer.max_bytes_in_flight = static_cast<std::size_t>(d.between(1, 4)) << 20;
            s.handlers.slow = 0.2 + d.up_to(0.4);
        }},
    {{"batches", "handlers take several messages at once; some of these fail"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            if (d.one_in(2)) weather(s, d);
            if (d.one_in(3)) ordered(s, d);
            if (d.one_in(2)) incidents(s, d, every_incident);
            s.batches = true;
            s.consumer.batch_size = static_cast<std::size_t>(d.between(2, 20));
            if (d.one_in(2)) s.consumer.batch_window = d.between(1ms, 5s);
            s.patience *= 4; // one slow message holds up all of its batch
        }},
    {{"functions", "handlers are plain functions, which nothing can stop; they wait for a few threads"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            if (d.one_in(2)) weather(s, d);
            if (d.one_in(3)) ordered(s, d);
            incidents(s, d, every_incident);
            functions(s, d);
        }},
    {{"dead-letters", "a dead-letter queue takes what has been received too often"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            if (d.one_in(2)) weather(s, d);
            s.max_receives = static_cast<int>(d.between(1, 6));
        }},
    {{"dependency", "what the handlers depend on is down for up to 45 minutes; no message may die of it"},
        dependency},
    {{"paced", "messages begin at a limited rate; processes are stopped, paused and killed"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            incidents(s, d, {kind::stop, kind::kill, kind::pause, kind::hurry});
            if (d.one_in(2)) ordered(s, d);
            auto& rate = s.consumer.rate.emplace();
            rate.count = d.between(1, 30);
            rate.per = d.between(1s, 10s);
            rate.burst = d.between(1, 20);
            auto const tries = s.messages * (s.handlers.troubled_tries + 1) * 4;
            s.patience += std::chrono::duration_cast<milliseconds>(rate.per) * tries / rate.count;
        }},
    {{"fifo", "a FIFO queue whose handlers fail"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            asking(s, d);
            ordered(s, d);
        }},
    {{"fifo-weather", "a FIFO queue in bad weather"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            asking(s, d);
            weather(s, d);
            ordered(s, d);
        }},
    {{"fifo-stops", "a FIFO queue whose processes are stopped at any moment, some twice, and replaced"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            incidents(s, d, {kind::stop, kind::stop, kind::hurry, kind::start});
            ordered(s, d);
        }},
    {{"fifo-lost", "a FIFO queue; the answers of receives are lost, and what they held is asked for again"},
        [](scenario& s, dice& d) {
            s.processes = static_cast<int>(d.between(1, 3));
            if (d.one_in(2)) trouble(s, d);
            ordered(s, d);
            lose_receives(s, d);
        }},
    {{"fifo-damaged", "messages of a FIFO queue arrive unreadable, receive after receive"},
        [](scenario& s, dice& d) {
            trouble(s, d);
            s.handlers.damaged = d.up_to(0.3);
            ordered(s, d);
            s.patience *= 4; // a damaged head keeps its group waiting for minutes, one after the other
        }},
    {{"fifo-dead-letters", "a dead-letter queue takes the heads of groups that have been received too often"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            if (d.one_in(2)) weather(s, d);
            ordered(s, d);
            s.max_receives = static_cast<int>(d.between(1, 6));
        }},
    {{"fifo-dependency", "the same of a FIFO queue"}, [](scenario& s, dice& d) { dependency(s, d), ordered(s, d); }},
    {{"fifo-everything", "a FIFO queue, bad weather, and processes that are stopped, paused and killed"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            weather(s, d);
            incidents(s, d, every_incident);
            ordered(s, d);
            if (d.one_in(3)) s.max_receives = static_cast<int>(d.between(1, 6));
        }},
    {{"everything", "all of these at once"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            weather(s, d);
            incidents(s, d, every_incident);
            if (d.one_in(3)) s.max_receives = static_cast<int>(d.between(1, 6));
            auto const twice = d.one_in(3);
            for (auto& one : s.spells) {
                one.credentials_expired = d.one_in(10);
                if (twice) one.faults.everywhere.duplicated = d.up_to(0.2);
            }
        }},
};

} // namespace

std::optional<outcome> classify(std::exception_ptr thrown)
{
    try {
        std::rethrow_exception(thrown);
    } catch (condemned const& e) {
        return reject(e.what());
    } catch (dependency_down const&) {
        return unavailable();
    } catch (...) {
        return {};
    }
}

std::span<scenario_name const> scenarios()
{
    static auto const names = [] {
        std::vector<scenario_name> out;
        for (auto const& e : catalogue)
            out.push_back(e.name);
        return out;
    }();
    return names;
}

scenario draw(std::string_view name, std::uint64_t seed)
{
    for (auto const& e : catalogue) {
        if (e.name.name != name) continue;
        dice d(seed * 0x9e3779b97f4a7c15 + 1);
        auto out = common(d, name, seed);
        e.shape(out, d);
        std::ranges::stable_sort(out.incidents, {}, &incident::at);
        return out;
    }
    std::string known;
    for (auto const& e : catalogue)
        known.append(known.empty() ? "" : ", ").append(e.name.name);
    throw std::invalid_argument("no scenario " + std::string(name) + "; there are " + known);
}

} // namespace quern::sim
