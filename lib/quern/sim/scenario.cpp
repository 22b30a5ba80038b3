#include <quern/sim/scenario.hpp>

#include <quern/sim/detail/part.hpp>
#include <quern/sim/detail/shapes.hpp>
#include <quern/sim/detail/weather.hpp>

#include <algorithm>
#include <stdexcept>

namespace quern::sim {

using namespace detail;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

using kind = incident::kind;

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
            // A call that nobody answers extends twenty leases in time; deletes want their share too.
            auto const most_held = std::min(s.consumer.limits.max_in_flight, static_cast<std::size_t>(s.messages));
            s.consumer.settle.max_calls = std::max(s.consumer.settle.max_calls, 2 + most_held / 20);
        }},
    {{"damaged", "messages arrive unreadable, receive after receive; some answers hold nothing that can be settled"},
        [](scenario& s, dice& d) {
            trouble(s, d);
            s.handlers.damaged = d.up_to(0.3);
            if (d.one_in(3)) blackouts(s, d, &spell::without_handles, 3min);
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
            if (d.one_in(3)) s.consumer.give_up.after = d.between(0ms, 2min); // another takes its place
        }},
    {{"asks", "handlers await their deletes and longer leases; their processes are stopped, paused and killed"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            if (d.one_in(2)) weather(s, d);
            if (d.one_in(3)) ordered(s, d);
            incidents(s, d, every_incident);
            asking(s, d);
        }},
    {{"insists", "handlers ask for their deletes and await none; messages come twice, answers late"}, insisting},
    {{"crammed", "as much at once as there is: dozens of incidents in a few minutes, storms, all that handlers do"},
        crammed},
    {{"guards", "extensions of leases wait for guards, which are slow, refuse and throw"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            if (d.one_in(2)) weather(s, d);
            if (d.one_in(3)) ordered(s, d);
            if (d.one_in(2)) incidents(s, d, every_incident);
            s.handlers.guards = 0.1 + d.up_to(0.5);
            s.patience *= 2;
        }},
    {{"few-calls", "leases of a few seconds, and hardly the calls that extend them"}, few_calls},
    {{"bytes", "large messages, and a limit on the bytes in flight that they reach"},
        [](scenario& s, dice& d) {
            trouble(s, d);
            if (d.one_in(2)) weather(s, d);
            if (d.one_in(3)) {
                ordered(s, d);
                s.patience *= 2; // heads that fail come again after a quarter of an hour, one after the other
            }
            s.longest_body = static_cast<std::size_t>(d.between(100'000, 900'000));
            s.consumer.limits.max_in_flight = 200;
            s.consumer.limits.max_bytes_in_flight = static_cast<std::size_t>(d.between(1, 4)) << 20;
            s.handlers.slow = 0.2 + d.up_to(0.4);
        }},
    {{"batches", "handlers take several messages at once; some of these fail"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            if (d.one_in(2)) weather(s, d);
            if (d.one_in(3)) ordered(s, d);
            if (d.one_in(2)) incidents(s, d, every_incident);
            s.batches = true;
            s.consumer.batch.size = static_cast<std::size_t>(d.between(2, 20));
            if (d.one_in(2)) s.consumer.batch.window = d.between(1ms, 5s);
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
    {{"backlog", "what the handlers depend on is down when a long backlog is there; no message may die of it"},
        backlog},
    {{"tenants-backlog",
         "the dependency of up to five of ten tenants is down when a long backlog is there; no message may die of "
         "it"},
        backlog_of_tenants},
    {{"flapping-dependency",
         "what the handlers depend on comes and goes while a backlog is there; each outage may cost a few"},
        flapping},
    {{"outages-in-turn",
         "what all handlers depend on is down again and again within the hour; no message may die of it"},
        outages_in_turn},
    {{"tenants", "some of ten tenants are down for a while; the messages of the others are handled as fast as ever"},
        tenants},
    {{"tenants-orders",
         "up to nine of ten tenants are down, in any order of their messages; the others have nine tenths of what "
         "they have without a breaker"},
        orders_of_tenants},
    {{"stubborn", "many tries fail, for reasons of the messages; after an outage all is as fast as before"},
        stubborn},
    {{"poisoned", "a few messages always find what they need down, and end in the dead-letter queue"}, poisoned},
    {{"aged", "messages may not grow old, but outages and pauses by the user do not count"}, aged},
    {{"called", "handlers call something whose capacity changes; how many at once finds itself"}, called},
    {{"shared", "several consumers share a client that has too few connections for their long polls"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            share_client(s, d);
            if (d.one_in(2)) incidents(s, d, {kind::pause, kind::stop, kind::hurry, kind::kill});
        }},
    {{"several", "several queues, several consumers in a process, and processes with different settings"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            if (d.one_in(2)) weather(s, d);
            if (d.one_in(3)) ordered(s, d);
            if (d.one_in(3)) s.max_receives = static_cast<int>(d.between(1, 6));
            asking(s, d);
            differ(s, d);
            if (d.one_in(2)) incidents(s, d, every_incident);
        }},
    {{"paced", "messages begin at a limited rate; processes are stopped, paused and killed"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            incidents(s, d, {kind::stop, kind::kill, kind::pause, kind::hurry, kind::rest});
            if (d.one_in(2)) ordered(s, d);
            auto& rate = s.consumer.limits.rate.emplace();
            rate.count = d.between(1, 30);
            rate.per = d.between(1s, 10s);
            rate.burst = d.between(1, 20);
            auto const tries = s.messages * (s.handlers.troubled_tries + 1) * 4;
            s.patience += std::chrono::duration_cast<milliseconds>(rate.per) * tries / rate.count;
            if (s.groups != 0) s.patience += 5min * s.messages * s.handlers.troubled_tries / s.groups; // one by one
        }},
    {{"fair", "tenants have turns, some a cap, a weight, a look-ahead; processes are stopped, paused and killed"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            incidents(s, d, {kind::stop, kind::kill, kind::pause, kind::hurry});
            if (d.one_in(3)) ordered(s, d);
            fair_turns(s, d);
        }},
    {{"turned", "limits are turned while messages are received and handled; processes are stopped and killed"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            if (d.one_in(2)) weather(s, d);
            if (d.one_in(3)) ordered(s, d);
            if (d.one_in(2)) incidents(s, d, {kind::stop, kind::kill, kind::hurry});
            turns(s, d);
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
            if (d.one_in(3)) blackouts(s, d, &spell::without_handles, 3min);
            // A damaged head keeps its group waiting for minutes each time, and there may be one group.
            s.patience += s.messages * most_damaged_receives * 5min / 3;
        }},
    {{"fifo-dead-letters", "a dead-letter queue takes the heads of groups that have been received too often"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            if (d.one_in(2)) weather(s, d);
            ordered(s, d);
            s.max_receives = static_cast<int>(d.between(1, 6));
        }},
    {{"fifo-dependency",
         "the dependency of a FIFO queue's handlers is down for up to 45 minutes; no message may die of it"},
        [](scenario& s, dice& d) {
            dependency(s, d);
            ordered(s, d);
            s.groups = static_cast<int>(d.between(6, 20)); // of one or two only the heads could tell, again and again
            short_leases(s);
            s.max_receives *= 3; // each time that a head comes again may cost those behind it a receive as well
        }},
    {{"fifo-flapping-dependency",
         "the dependency of a FIFO queue's handlers comes and goes; each outage may cost a few messages"},
        [](scenario& s, dice& d) {
            flapping(s, d);
            ordered(s, d);
            s.groups = static_cast<int>(d.between(20, 40)); // few heads cannot tell
            s.handlers.slow = 0; // heads that take minutes let the few others find out alone, again and again
            short_leases(s);
        }},
    {{"fifo-tenants", "some of ten tenants are down, each with groups of its own; the others go on"},
        tenants_in_order},
    {{"fifo-everything", "a FIFO queue, bad weather, and processes that are stopped, paused and killed"},
        [](scenario& s, dice& d) {
            crowd(s, d);
            weather(s, d);
            incidents(s, d, every_incident);
            ordered(s, d);
            if (d.one_in(3)) s.max_receives = static_cast<int>(d.between(1, 6));
        }},
    {{"swarm", "some of all kinds of trouble, other ones each day"}, swarm},
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
        dice apart(seed * 0x9e3779b97f4a7c15 + 2); // what is drawn for every scenario alike
        if (apart.one_in(4)) out.short_answers = apart.up_to(1);
        // Where a day bounds what an outage may cost, or a speed, the number of handlers at once is given.
        auto const finds = out.speeds.empty() && out.max_receives == 0;
        if (apart.one_in(4) && finds) out.consumer.concurrency.emplace();
        if (apart.one_in(3)) out.consumer.receive_latency = apart.one_in(2) ? 0ms : apart.between(1ms, 1s);
        if (out.tenants != 0 && out.groups == 0 && apart.one_in(2))
            out.fair_queue = apart.one_in(3) ? 0s : std::chrono::seconds(apart.between(1, 420)); // as was seen of SQS
        std::ranges::stable_sort(out.incidents, {}, &incident::at);
        return out;
    }
    std::string known;
    for (auto const& e : catalogue)
        known.append(known.empty() ? "" : ", ").append(e.name.name);
    throw std::invalid_argument("no scenario " + std::string(name) + "; there are " + known);
}

} // namespace quern::sim
