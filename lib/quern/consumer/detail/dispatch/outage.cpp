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

/// A message on its last receive is tried again so much later: a failover, or a breaker's mind, is done by then.
constexpr tick::duration doubt = 30s;

/// Half open for so long, a dependency that no message here needs is forgotten: nobody has complained since, and each
/// that was put off has come again, here or elsewhere.
constexpr tick::duration longest_silence = 20min;

std::uint64_t number_of(held const& h)
{
    return std::hash<std::string_view>()(h.message.id());
}

policy::breaker_options settings_of(consumer_options const& options)
{
    auto out = options.breaker.value_or(policy::breaker_options());
    out.full_speed = std::min(out.full_speed, options.max_in_flight);
    return out;
}

bool waits(held_ptr const& h)
{
    return h->life.is(message_life::state::waiting); // else its lease was lost
}

std::string of_name(dependency const& d)
{
    return d.name.empty() ? "" : "of " + ascii_excerpt(d.name, 80) + " ";
}

} // namespace

outage::outage(consumer_options const& options, std::uint64_t seed)
    : has_breaker_(options.breaker.has_value()), max_in_flight_(options.max_in_flight), backoff_(options.backoff),
      random_(seed), known_(settings_of(options), options.max_dependencies, seed)
{
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
    return std::max(h.rests_until(), d.search.turn_of(number_of(h)));
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

void outage::look_closer(dependency& d, tick now)
{
    d.breaker.allowance(now);
    if (std::exchange(d.counted, d.breaker.start()) != d.breaker.start()) d.working = 0;
    auto const is = d.breaker.state();
    auto const was = std::exchange(d.seen, is);
    if (is == was) return;
    events_.push_back({&d, was, is});
    worsened_ = worsened_ || is == phase::open;
    if (is == phase::half_open) d.search.half_opens(now, d.breaker.one_probe_decides(), d.tried.size());
    if (is == phase::slow_start) d.search.went_well();
    if (is == phase::closed) return d.search.forget();
    if (was == phase::open || was == phase::half_open) return;
    d.down_since = now; // where a probe went well before, that outage was over
    d.search.outage_begins();
    if (std::ranges::find(watched_, &d, &dependency_ptr::get) == watched_.end()) watched_.push_back(&d);
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
        taken += seeks_no_other(*d, now) ? most : std::min(most, d->working + runnable(*d, now));
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
    if (h.probe) d.search.begins(number_of(h));
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
    if (said.what != sign::none && ticket == d.counted) d.search.ended(now);
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
    look_at(*h->depends_on, now);
    auto const is = h->depends_on->seen;
    if (stopped() || is == phase::open || is == phase::half_open) return place(h, h->probe && !other, now);
    auto const last = is_last_receive(*h), recovers = is == phase::slow_start;
    auto const most = recovers ? 2 * places_to_wait() : (places_to_wait() + 1) / 2;
    if (last && kept() < most && (recovers || is_doubted_anew(*h))) {
        h->in_trouble().rests_until = now + doubt;
        keep(h, &dependency::tried);
        return {};
    }
    return way_back{backoff_.delay(h->message.receive_count(), random_), false, last && recovers};
}

/// True when no doubt has spared it since the last outage: one whose own fault it is must not stay for ever.
bool outage::is_doubted_anew(held& h)
{
    auto const& its = h.depends_on->breaker;
    return its.in_doubt() && std::exchange(h.in_trouble().doubted, its.start()) != its.start();
}

std::optional<outage::way_back> outage::place(held_ptr const& h, bool probed, tick now)
{
    auto* const d = h->depends_on.get();
    auto const last = is_last_receive(*h);
    if (d) {
        // Messages that only probe leave half to those that would be lost, which need not wait for long if it
        // recovers.
        auto const most = (d->seen == phase::slow_start ? 2 : 1) * places_to_wait();
        auto const one_more =
            probed ? d->tried.size() < probe_search::most_to_wait && d->search.is_hopeless() : d->kept.empty();
        auto const next_probe = !stopped() && one_more;
        if ((last || next_probe) && kept() < (last ? most : (most + 1) / 2)) {
            keep(h, probed ? &dependency::tried : &dependency::kept);
            return {};
        }
    }
    return way_back{put_off(d, now), true, last};
}

void outage::keep(held_ptr const& h, std::deque<held_ptr> dependency::*line)
{
    auto* const d = h->depends_on.get();
    h->life.on(message_life::event::keep);
    (d->*line).push_back(h);
    if (std::ranges::find(watched_, d, &dependency_ptr::get) == watched_.end()) watched_.push_back(d);
}

/// A quarter; of one place only it would be all.
std::size_t outage::places_to_wait() const
{
    return max_in_flight_ == 1 ? 0 : std::max<std::size_t>(1, max_in_flight_ / 4);
}

/// Longer with the outage, so that a long one costs few receives.
milliseconds outage::put_off(dependency const* d, tick now)
{
    auto const lasts = d && (d->seen == phase::open || d->seen == phase::half_open);
    auto const since = lasts ? std::chrono::floor<milliseconds>(now - d->down_since) : 0ms;
    auto const delay = std::clamp(since, shortest_put_off, longest_put_off);
    return delay + milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, delay.count() / 2)(random_));
}

/// How many wait here.
std::size_t outage::kept()
{
    std::size_t out = 0;
    for (auto const& d : watched_) {
        for (auto* const line : {&d->kept, &d->tried}) {
            std::erase_if(*line, [](held_ptr const& h) { return !waits(h); });
            out += line->size();
        }
    }
    return out;
}

/// The number of those that wait for it and might run if there were places.
std::size_t outage::runnable(dependency const& d, tick now) const
{
    auto const may = [&](held_ptr const& h) { return rests_until(d, *h) <= now; };
    return static_cast<std::size_t>(std::ranges::count_if(d.kept, may) + std::ranges::count_if(d.tried, may));
}

bool outage::can_run(dependency const& d, tick now) const
{
    return !stopped() && d.seen != phase::open && runnable(d, now) != 0;
}

held_ptr outage::next_kept(tick now)
{
    if (watched_.empty()) return nullptr;
    look_at_all(now);
    for (auto const& d : watched_) {
        while (can_run(*d, now) && d->working < d->breaker.allowance(now)) {
            auto const may = [&](held_ptr const& h) { return rests_until(*d, *h) <= now; };
            auto* line = &d->kept;
            auto at = std::ranges::find_if(*line, may);
            if (at == line->end()) at = std::ranges::find_if(*(line = &d->tried), may);
            if (at == line->end()) break;
            auto out = std::move(*at);
            line->erase(at);
            if (waits(out)) return out;
        }
    }
    return nullptr;
}

bool outage::lets_go(tick now)
{
    look_at_all(now);
    return std::ranges::any_of(watched_,
        [&](dependency_ptr const& d) { return can_run(*d, now) && d->working < d->breaker.allowance(now); });
}

std::vector<held_ptr> outage::take_kept()
{
    std::vector<held_ptr> out;
    for (auto const& d : watched_) {
        for (auto* const line : {&d->kept, &d->tried})
            for (auto& h : std::exchange(*line, {}))
                if (waits(h)) out.push_back(std::move(h));
    }
    return out;
}

std::optional<tick> outage::wake_at(tick now) const
{
    std::optional<tick> out;
    if (stopped()) return out;
    auto const consider = [&](tick at) { out = std::min(out.value_or(at), at); };
    for (auto const& d : watched_) {
        if (auto const at = d->breaker.wake_at()) consider(*at);
        if (d->seen == phase::open || d->working >= d->breaker.allowance(now)) continue;
        if (seeks_no_other(*d, now)) consider(d->search.rests_until());
        for (auto const* const line : {&d->kept, &d->tried}) {
            for (auto const& h : *line)
                if (auto const at = rests_until(*d, *h); at > now) consider(at);
        }
    }
    return out;
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
