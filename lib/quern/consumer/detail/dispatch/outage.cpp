#include <quern/consumer/detail/dispatch/outage.hpp>
#include <quern/consumer/detail/message/ascii_excerpt.hpp>

#include <algorithm>
#include <functional>

namespace quern::detail {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

/// Our own receives that are still open have ended by then, and do not bring it back at the cost of one more receive.
constexpr milliseconds shortest_put_off = 30s, longest_put_off = 10min; // and up to half as much more

/// A message that waits here because it has found something down is tried again so much later, and up to twice that:
/// a failover, or a breaker's mind, is done by then. At random, because all at once would look like an outage.
constexpr milliseconds shortest_rest = 30s;

/// Limit of all its rests since its last try, but for one more: at random again, because many were tried together.
constexpr tick::duration longest_rest = 4min;

/// See gives_up_probes_at().
constexpr milliseconds longest_probe = 1min;

/// Half open for so long, a dependency that no message here needs is forgotten: nobody has complained since, and each
/// that was put off has come again, here or elsewhere.
constexpr tick::duration longest_silence = 20min;

std::uint64_t number_of(held const& h)
{
    return std::hash<std::string_view>()(h.message.id());
}

std::string of_name(dependency const& d)
{
    return d.name.empty() ? "" : "of " + ascii_excerpt(d.name, 80) + " ";
}

} // namespace

outage::outage(consumer_options const& options, std::uint64_t seed)
    : has_breaker_(options.breaker.has_value()), longest_probe_(options.handler_timeout), backoff_(options.backoff),
      random_(seed), known_(options.breaker.value_or(policy::breaker_options()), options.max_dependencies, seed)
{
    set_max_in_flight(options.max_in_flight);
    if (has_breaker_ && !options.dependency) only_ = known_.of_message("");
}

outage::~outage()
{
    take_kept(); // they refer to what refers to them
}

outage::news outage::news_of(outcome const& said)
{
    if (said.tells() == outcome::news::none) return {};
    if (said.tells() == outcome::news::bad) return {sign::bad, {}};
    switch (said.what()) {
    case outcome::kind::ack: return {sign::good, {}};
    case outcome::kind::retry: return {sign::bad, {}};
    case outcome::kind::unavailable: return {sign::down, said.dependency()};
    case outcome::kind::retry_after:
    case outcome::kind::release:
    case outcome::kind::reject: break;
    }
    return {};
}

void outage::pause(std::string why)
{
    worsened_ = paused_ = true;
    why_paused_ = std::move(why);
}

void outage::set_max_in_flight(std::size_t n)
{
    max_in_flight_ = n;
    known_.limit_full_speed(n);
}

void outage::force_open(tick now)
{
    auto const on = reported_ || flag_ == flag::raised;
    if (!has_breaker_ || on == forced_) return;
    forced_ = on;
    known_.for_each([&](dependency& d) {
        d.breaker.force_open(on);
        look_at(d, now);
    });
}

void outage::belongs(held& h, std::string_view name)
{
    if (!has_breaker_) return;
    h.depends_on = only_ ? only_ : known_.of_message(name);
    if (forced_) h.depends_on->breaker.force_open(true);
}

bool outage::admits(held const& h, tick now)
{
    if (stopped()) return false;
    if (!h.depends_on) return true;
    auto& d = *h.depends_on;
    return d.working < allowance(d, now) && rests_until(d, h) <= now;
}

/// While it is half open, others that have not found it down probe before.
tick outage::rests_until(dependency const& d, held const& h)
{
    if (d.seen != phase::half_open) return h.rests_until();
    return std::max(h.rests_until(), d.search.turn_of(number_of(h), h.has_found_down()));
}

bool outage::seeks_no_other(dependency const& d, tick now)
{
    return d.seen == phase::half_open && d.search.rests(now);
}

std::size_t outage::allowance(dependency& d, tick now)
{
    look_at(d, now);
    return d.seen == phase::closed ? policy::breaker::unlimited : d.breaker.allowance(now);
}

/// A probe that hangs must not keep all others waiting: at handler_timeout it has failed, whatever its thread does.
/// Without one at a minute, and at twice that each time, for probes may take long.
std::optional<tick> outage::gives_up_probes_at(dependency const& d) const
{
    if (d.seen != phase::half_open || d.working == 0) return {};
    if (longest_probe_.count() != 0) return d.probe_began + longest_probe_;
    return d.probe_began + longest_probe * (1 << std::min(d.hung_probes, 10));
}

void outage::look_closer(dependency& d, tick now)
{
    d.breaker.allowance(now);
    if (auto const at = gives_up_probes_at(d); at && *at <= now && d.counted == d.breaker.start()) {
        ++d.hung_probes;
        d.breaker.no_answer(d.counted, now);
    }
    if (std::exchange(d.counted, d.breaker.start()) != d.breaker.start()) d.working = 0;
    auto const is = d.breaker.state();
    auto const was = std::exchange(d.seen, is);
    if (is == was) return;
    d.next_turn.reset();
    events_.push_back({&d, was, is});
    worsened_ = worsened_ || is == phase::open || (is == phase::half_open && was != phase::open);
    if (is == phase::half_open) d.search.half_opens(now, d.breaker.one_probe_decides(), d.tried.size());
    if (was == phase::half_open && is != phase::open) let_others_go_first(d, now);
    if (is == phase::closed) return d.search.forget();
    if (was == phase::open || was == phase::half_open) return;
    d.down_since = now; // where a probe went well before, that outage was over
    d.search.outage_begins();
    if (std::ranges::find(watched_, &d, &dependency_ptr::get) == watched_.end()) watched_.push_back(&d);
}

/// A probe went well. Messages that found it down rest a while: where only some do, these would be all the news that
/// there is.
void outage::let_others_go_first(dependency& d, tick now)
{
    d.search.went_well();
    for (auto const* const line : {&d.kept, &d.tried}) {
        for (auto const& h : *line) {
            if (!h->has_found_down()) continue;
            auto& its = h->in_trouble();
            auto const most = its.found_down_at + longest_rest + rest();
            its.rests_until = std::max(its.rests_until, std::min(now + rest(), most));
        }
    }
}

void outage::look_at_all(tick now)
{
    std::erase_if(watched_, [&](dependency_ptr const& d) {
        look_at(*d, now);
        if (!d->kept.empty() || !d->tried.empty()) return false;
        return d->seen == phase::closed || forgets(d, now);
    });
}

/// Else one whose messages others receive would be half open for ever, and seek them.
bool outage::forgets(dependency_ptr const& d, tick now)
{
    if (d->seen != phase::half_open || now - d->search.quiet_since() < longest_silence) return false;
    if (d->working != 0 || !known_.forget_unused(*d)) return false;
    events_.push_back({d, d->seen, phase::closed}); // for those who count
    return true;
}

bool outage::halts(tick now)
{
    if (stopped() || forced_) return true;
    look_at_all(now);
    auto const down = [](dependency_ptr const& d) { return d->has_messages && d->seen != phase::closed; };
    auto const how_many = static_cast<std::size_t>(std::ranges::count_if(watched_, down));
    return how_many != 0 && how_many == known_.serving();
}

outage::places outage::room(std::size_t in_flight, std::size_t waiting, tick now)
{
    if (!halts(now)) return {in_flight, max_in_flight_};
    if (stopped() || forced_) return {in_flight, 0};
    // What began before the opening does not count against a probe, yet takes its place in memory.
    std::size_t allowed = 0, taken = waiting;
    for (auto const& d : watched_) {
        if (!d->has_messages) continue;
        auto const most = std::min(d->breaker.allowance(now), max_in_flight_);
        allowed = std::min(allowed + most, max_in_flight_);
        taken += seeks_no_other(*d, now) ? most : std::min(most, d->working + runnable(*d, most, now));
    }
    auto const free = max_in_flight_ - std::min(in_flight, max_in_flight_);
    return {taken, std::min(allowed, taken + free)};
}

void outage::started(held& h, tick now)
{
    if (!h.depends_on) return;
    auto& d = *h.depends_on;
    look_at(d, now);
    h.ticket = d.breaker.start();
    h.probe = d.seen == phase::half_open;
    if (h.probe) {
        d.search.begins(number_of(h));
        d.probe_began = now;
        d.next_turn.reset();
    }
    ++d.working;
}

void outage::ended(held& h, news const& said, tick now)
{
    if (!h.depends_on) return;
    auto& own = *h.depends_on;
    look_at(own, now);
    if (h.ticket == own.counted) --own.working;
    if (said.about) look_at_all(now); // it may be long forgotten
    auto const other = said.about && *said.about != own.name ? known_.of(*said.about) : nullptr;
    auto& d = other ? *other : own;
    if (other) look_at(d, now);
    auto const ticket = other ? d.breaker.start() : h.ticket;
    if (said.what != sign::none && ticket == d.counted) {
        d.search.ended(now);
        d.hung_probes = 0;
    }
    if (d.seen == phase::half_open) d.next_turn.reset();
    switch (said.what) {
    case sign::good:
        d.breaker.succeeded(ticket, now);
        if (d.seen == phase::closed) d.search.all_is_well(now);
        break;
    case sign::bad: d.breaker.failed(ticket, number_of(h), now); break;
    case sign::down:
        d.breaker.unavailable(ticket, number_of(h), now);
        d.search.found_down(number_of(h), h.probe && !other, now);
        break;
    case sign::none: return;
    }
    look_at(d, now);
}

std::optional<outage::way_back> outage::stand_back(held_ptr const& h, tick now)
{
    if (h->depends_on && rests_until(*h->depends_on, *h) > now) h->depends_on->search.came_too_early();
    return place(h, false, now);
}

std::optional<outage::way_back> outage::found_down(held_ptr const& h, news const& said, tick now)
{
    if (!h->depends_on) return way_back{put_off(nullptr, now)};
    auto const other = said.about && *said.about != h->depends_on->name;
    if (other) h->depends_on = known_.of(*said.about); // until it is up
    h->in_trouble().found_down_at = now;
    look_at(*h->depends_on, now);
    auto const is = h->depends_on->seen;
    if (stopped() || is == phase::open || is == phase::half_open) return place(h, h->probe && !other, now);
    auto const last = is_last_receive(*h), recovers = is == phase::slow_start;
    auto const most = recovers ? 2 * places_to_wait() : (places_to_wait() + 1) / 2;
    if (last && kept(now) < most && (recovers || takes_its_doubt(*h))) {
        h->in_trouble().rests_until = now + rest();
        keep(h, &dependency::tried);
        return {};
    }
    return way_back{backoff_.delay(h->message.receive_count(), random_), false, last && recovers};
}

/// Notes that a doubt spares it. False when one has done so since the last outage, or there is none: a message whose
/// own fault it is must not stay for ever.
bool outage::takes_its_doubt(held& h)
{
    auto const& its = h.depends_on->breaker;
    return its.in_doubt() && std::exchange(h.in_trouble().doubted, its.start()) != its.start();
}

milliseconds outage::rest()
{
    std::uniform_int_distribution<milliseconds::rep> more(0, shortest_rest.count());
    return shortest_rest + milliseconds(more(random_));
}

/// Longer with the outage, so that a long one costs few receives.
milliseconds outage::put_off(dependency const* d, tick now)
{
    auto const lasts = d && (d->seen == phase::open || d->seen == phase::half_open);
    auto const since = lasts ? std::chrono::floor<milliseconds>(now - d->down_since) : 0ms;
    auto const delay = std::clamp(since, shortest_put_off, longest_put_off);
    return delay + milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, delay.count() / 2)(random_));
}

std::string outage::explain(tick now) const
{
    constexpr std::size_t most = 5; // names
    if (paused_) return why_paused_.empty() ? "paused" : "paused: " + why_paused_;
    if (forced_ && watched_.empty()) return "breaker open as long as its flag is set";
    std::string out;
    std::size_t down = 0, here = 0;
    for (auto const& d : watched_) {
        here += d->kept.size() + d->tried.size();
        if (d->breaker.state() == phase::closed || ++down > most) continue;
        out += (out.empty() ? "breaker " : ", ") + of_name(*d) + d->breaker.explain(now);
    }
    if (down > most) out += ", and " + std::to_string(down - most) + " more";
    if (here != 0 && down != 0)
        out += "; " + std::to_string(here) + (here == 1 ? " message waits" : " messages wait") + " here";
    return out;
}

std::string to_string(outage::event const& e, tick now)
{
    auto const name = e.of->name.empty() ? "" : ascii_excerpt(e.of->name, 80) + ": ";
    return name + (e.to == dependency::phase::closed ? "closed again" : e.of->breaker.explain(now));
}

} // namespace quern::detail
