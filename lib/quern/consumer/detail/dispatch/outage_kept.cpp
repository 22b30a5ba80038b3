// The messages that wait here for what they depend on: which, for how long, and whose turn it is.

#include <quern/consumer/detail/dispatch/outage.hpp>

#include <algorithm>
#include <utility>

namespace quern::detail {

using namespace std::chrono_literals;

namespace {

bool waits(held_ptr const& h)
{
    return h->life.is(message_life::state::waiting); // else its lease was lost
}

} // namespace

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
        if ((last || next_probe) && kept(now) < (last ? most : (most + 1) / 2)) {
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
    if (d->next_turn) d->next_turn = std::min(*d->next_turn, rests_until(*d, *h));
    if (std::ranges::find(watched_, d, &dependency_ptr::get) == watched_.end()) watched_.push_back(d);
}

/// A quarter; of one place only it would be all.
std::size_t outage::places_to_wait() const
{
    return max_in_flight_ == 1 ? 0 : std::max<std::size_t>(1, max_in_flight_ / 4);
}

/// How many wait here; one whose lease was lost may count for a moment more.
std::size_t outage::kept(tick now)
{
    auto const tidies = now - tidied_at_ >= 100ms; // each time would be quadratic where many wait
    if (tidies) tidied_at_ = now;
    std::size_t out = 0;
    for (auto const& d : watched_) {
        for (auto* const line : {&d->kept, &d->tried}) {
            if (tidies) std::erase_if(*line, [](held_ptr const& h) { return !waits(h); });
            out += line->size();
        }
    }
    return out;
}

/// When the first of those that wait for it may run if there is a place; any time that is over says "now". What was
/// worked out before holds until something is heard of the dependency: others may start a message in each turn.
tick outage::next_turn(dependency& d, tick now)
{
    if (d.next_turn && *d.next_turn > now) return *d.next_turn;
    auto first = tick::max();
    for (auto const* const line : {&d.kept, &d.tried}) {
        for (auto at = line->begin(); at != line->end() && first > now; ++at)
            first = std::min(first, rests_until(d, **at));
    }
    d.next_turn = first;
    return first;
}

/// The number of those that wait for it and might run if there were places; `most` is as good as more.
std::size_t outage::runnable(dependency& d, std::size_t most, tick now)
{
    std::size_t out = 0;
    if (next_turn(d, now) > now) return out;
    for (auto const* const line : {&d.kept, &d.tried}) {
        for (auto at = line->begin(); at != line->end() && out < most; ++at)
            if (rests_until(d, **at) <= now) ++out;
    }
    return out;
}

/// One of those that wait for it may run now.
bool outage::can_run(dependency& d, tick now) const
{
    return !stopped() && d.seen != phase::open && d.working < d.breaker.allowance(now) && next_turn(d, now) <= now;
}

held_ptr outage::next_kept(tick now)
{
    if (watched_.empty()) return nullptr;
    look_at_all(now);
    for (auto const& d : watched_) {
        while (can_run(*d, now)) {
            auto const may = [&](held_ptr const& h) { return rests_until(*d, *h) <= now; };
            auto* line = &d->kept;
            auto at = std::ranges::find_if(*line, may);
            if (at == line->end()) at = std::ranges::find_if(*(line = &d->tried), may);
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
    return std::ranges::any_of(watched_, [&](dependency_ptr const& d) { return can_run(*d, now); });
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
        if (auto const at = gives_up_probes_at(*d)) consider(*at);
        if (d->seen == phase::open || d->working >= d->breaker.allowance(now)) continue;
        if (seeks_no_other(*d, now)) consider(d->search.rests_until());
        if (auto const at = next_turn(*d, now); at > now && at < tick::max()) consider(at);
    }
    return out;
}

} // namespace quern::detail
