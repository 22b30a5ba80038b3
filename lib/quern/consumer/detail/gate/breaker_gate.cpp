#include <quern/consumer/detail/gate/breaker_gate.hpp>
#include <quern/consumer/detail/message/ascii_excerpt.hpp>

#include <algorithm>

namespace quern::detail {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

/// Delay after which no receive of ours that is open now can bring the message back, at the cost of one more receive.
constexpr milliseconds shortest_put_off = 30s;

/// Longest delay of all, so that all work is done within ten minutes after an outage.
constexpr milliseconds longest_put_off = 585s, nearly_longest = 570s;

/// Delay of messages whose key recovers: by then it is at full speed.
constexpr milliseconds least_recovery = 20s, most_recovery = 30s;

/// Rest of a message that waits here before it is tried again, and up to twice that: at random, because all at once
/// would look like an outage.
constexpr milliseconds between_tries = 30s;

/// Length of an outage from which on messages that were put off begin to come back, some for their last receive.
constexpr tick::duration long_outage = 540s;

/// In a long outage with every place taken by a message near its last receive, the gate waits a twentieth of the
/// outage's length between two receives.
constexpr int part_of_outage = 20;
constexpr tick::duration most_between_receives = 2min;

/// Time between two successes after which all that waits here is tried at once.
constexpr tick::duration between_hurries = 15s;

/// A message on its last receive waits here once so many messages in a row found the dependency down.
constexpr int enough = 3;

} // namespace

breaker_gate::breaker_gate(policy::breaker_options options, std::size_t most_keys, std::uint64_t seed, tick now)
    : options_(options), most_keys_(most_keys), random_(seed), whole_(options_, now)
{}

breaker_gate::entry* breaker_gate::find(std::string_view key, tick now)
{
    if (key.empty()) return nullptr;
    if (auto const known = keys_.find(key); known != keys_.end()) {
        by_use_.splice(by_use_.begin(), by_use_, known->second);
        by_use_.front().used_at = now;
        return &by_use_.front();
    }
    if (keys_.size() >= most_keys_) {
        auto const& last = by_use_.back();
        if (last.its.state() == phase::half_open)
            changes_.push_back({last.name, phase::half_open, phase::closed, "forgotten, for there are many keys"});
        keys_.erase(last.name);
        by_use_.pop_back();
    }
    by_use_.push_front({.name = std::string(key), .its = policy::breaker(options_, now), .used_at = now});
    keys_.emplace(by_use_.front().name, by_use_.begin());
    return &by_use_.front();
}

/// Notes what the event has changed.
template <class Event>
void breaker_gate::tell(policy::breaker& whom, std::string const& name, tick now, Event event)
{
    auto const was = whom.state();
    event();
    auto const is = whom.state();
    if (is != was) changes_.push_back({name, was, is, whom.explain(now)});
}

std::size_t breaker_gate::room(tick now)
{
    if (stopped_) return 0;
    auto const at = next_receive(now);
    return !at ? unlimited : now < *at ? 0 : 1;
}

/// Time from which the next message may be received; absent: at once. If every place is taken by a message near its
/// last receive, each new message may end in the dead-letter queue. Receives slow down and never stop, because the
/// failures may be those messages' own fault.
std::optional<tick> breaker_gate::next_receive(tick now) const
{
    if (!is_crammed(now)) return {};
    auto const lasts = std::max(received_at_ - *whole_.suspected_since(), long_outage);
    return received_at_ + std::min<tick::duration>(lasts / part_of_outage, most_between_receives);
}

bool breaker_gate::is_crammed(tick now) const
{
    auto const since = whole_.suspected_since();
    return since && now - *since >= long_outage && now - full_of_last_chances_at_ <= 2 * between_tries;
}

gate::answer breaker_gate::ask(subject const& what, tick now)
{
    auto* const its = find(what.key, now);
    received_at_ = now;
    if (stopped_) {
        if (what.receives_left == 0) return keep(what, its, tick::max(), now);
        return {answer::way::go_back, put_off(what.receives_left, its, now)};
    }
    if (its && !its->its.admits(now)) {
        auto const fresh = !failed_.contains(what.id);
        // An ill key counts as one failure in each run, or an outage of all would hide behind those held back.
        if (fresh && counts_once(its)) tell(whole_, {}, now, [&] { whole_.failed(failing::fresh, now); });
        auto where = keep(what, its, its->its.next(), now);
        if (where.spilled && its->its.recovers(now)) return {};
        // Without a turn taken, messages of ill keys would be received at full speed, and lose a receive each.
        where.took_turn = fresh && whole_.state() == phase::half_open;
        return where;
    }
    // A message that has failed before tells nothing: it waits here and leaves its turn to others. Where none may
    // wait, or nearly nothing is received, there may be no others, and it alone can find out that the outage is over.
    auto const may_wait = waits_.has_places() && !is_crammed(now);
    if (whole_.state() == phase::half_open && failed_.contains(what.id) && may_wait)
        return keep(what, its, after_a_rest(now), now);
    answer out;
    out.hurries = whole_.state() != phase::closed || (its && its->its.state() != phase::closed);
    return out;
}

/// True when each key of the last hour has failed in this run, and is ill, and one at least was well before: of a key
/// that never was, nobody knows whether there are others behind it.
bool breaker_gate::all_keys_are_ill(tick now) const
{
    bool any_was_well = false;
    for (auto const& one : by_use_) {
        if (now - one.used_at > 1h) break;
        if (one.counted != run_number_ || one.its.state() != phase::half_open) return false;
        any_was_well = any_was_well || one.was_well;
    }
    return any_was_well;
}

void breaker_gate::started(subject const& what, tick now)
{
    ++begun_;
    whole_.started(now);
    if (auto* const its = find(what.key, now)) its->its.started(now);
}

/// True once in each run of failures for a key, and always without one. Counts it.
bool breaker_gate::counts_once(entry* its)
{
    return !its || std::exchange(its->counted, run_number_) != run_number_;
}

gate::answer breaker_gate::ended(subject const& what, news const& said, tick now)
{
    using sign = news::sign;
    if (said.what == sign::none) return {};
    auto* const its = find(said.about ? std::string_view(*said.about) : what.key, now);
    if (said.what == sign::good) {
        succeeded(what, its, now);
        return {};
    }
    auto const fresh = failed_.add(what.id);
    auto& of = its ? its->said : nameless_;
    of.down = said.what == sign::down ? of.down + 1 : 0;
    auto const of_its_own = fresh ? failing::fresh : failing::again;
    // Messages without a key of their own cannot be held back by one: what they find down is news of all.
    auto const of_all = fresh && !counts_once(what.key.empty() ? nullptr : its) ? failing::counted : of_its_own;
    tell(whole_, {}, now, [&] { whole_.failed(of_all, now); });
    if (its) tell(its->its, its->name, now, [&] { its->its.failed(of_its_own, now); });
    if (its && whole_.state() == phase::closed && all_keys_are_ill(now))
        tell(whole_, {}, now, [&] { whole_.suspect(now); });

    auto const suspected =
        stopped_ || whole_.state() == phase::half_open || (its && its->its.state() == phase::half_open);
    auto const last = what.receives_left == 0;
    if (suspected && (last || said.what == sign::down)) return keep(what, its, after_a_rest(now), now);
    if (suspected) return {answer::way::go_back, put_off(what.receives_left, its, now)};
    if (!last || said.what != sign::down || (of.down < enough && !doubtful_.add(what.id + of.outages))) return {};
    auto const here = keep(what, its, after_a_rest(now), now);
    return here.to == answer::way::wait_here ? here : answer();
}

/// Lets what waited for it begin again.
void breaker_gate::succeeded(subject const& what, entry* its, tick now)
{
    auto const again = failed_.forget(what.id);
    auto& of = its ? its->said : nameless_;
    if (std::exchange(of.down, 0) >= enough) { // it is up again, perhaps
        ++of.outages;
        if (now >= hurried_at_ + between_hurries) {
            hurried_at_ = now;
            waits_.hurry(its ? &its->name : nullptr, now);
        }
    }
    auto const were = whole_.state();
    tell(whole_, {}, now, [&] {
        auto const means = whole_.succeeded(what.began_at, again, now);
        run_number_ += means != policy::breaker::meaning::nothing;
        if (means == policy::breaker::meaning::over) failed_ = {}; // in the next outage they are news
    });
    if (its) {
        its->was_well = true;
        auto const was = its->its.state();
        tell(its->its, its->name, now, [&] { its->its.succeeded(what.began_at, again, now); });
        if (was != its->its.state()) waits_.hurry(&its->name, now);
        if (whole_.recovers(now)) its->its.recover();
    }
    if (were != whole_.state()) probe(now); // each key
}

gate::answer breaker_gate::keep(subject const& what, entry* its, tick due, tick now)
{
    auto gone = waits_.add({what.number, its ? its->name : std::string(), what.receives_left, due});
    if (waits_.is_full_of_last_chances()) full_of_last_chances_at_ = now;
    if (!gone) return {answer::way::wait_here};
    if (gone->number == what.number)
        return {.to = answer::way::go_back,
            .delay = put_off(what.receives_left, its, now),
            .spilled = what.receives_left == 0};
    leaving_.push_back(*std::move(gone));
    return {answer::way::wait_here};
}

tick breaker_gate::after_a_rest(tick now)
{
    return now + between_tries +
        milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, between_tries.count())(random_));
}

/// Delay before a message comes back: the longest where receives are limited, else as long as the outage has lasted.
milliseconds breaker_gate::put_off(int left, entry* its, tick now)
{
    auto const between = [this](milliseconds least, milliseconds most) {
        return milliseconds(std::uniform_int_distribution<milliseconds::rep>(least.count(), most.count())(random_));
    };
    if (its && its->its.recovers(now)) return between(least_recovery, most_recovery);
    if (left != unlimited && !stopped_) return between(nearly_longest, longest_put_off);
    auto since = whole_.suspected_since();
    if (its && !since) since = its->its.suspected_since();
    auto const lasts = since ? std::chrono::floor<milliseconds>(now - *since) : 0ms;
    auto const least = std::clamp(lasts, shortest_put_off, longest_put_off);
    return std::min(between(least, least * 3 / 2), longest_put_off);
}

std::optional<gate::leave> breaker_gate::due(bool may_begin, tick now)
{
    if (!leaving_.empty()) {
        auto const one = std::move(leaving_.front());
        leaving_.pop_front();
        answer back{answer::way::go_back, put_off(one.receives_left, find(one.key, now), now)};
        back.spilled = one.receives_left == 0;
        return leave{one.number, back};
    }
    if (!may_begin || stopped_) return {};
    for (auto const* first = waits_.first(); first && first->due <= now; first = waits_.first()) {
        auto* const its = find(first->key, now);
        if (its && !its->its.admits(now)) {
            waits_.put_off(first->number, std::max(its->its.next(), now + 1ms));
            continue;
        }
        return leave{waits_.take(first->number).number, {answer::way::on, {}, true}};
    }
    return {};
}

std::optional<tick> breaker_gate::wake_at(tick now)
{
    if (!leaving_.empty()) return now;
    if (stopped_) return {};
    std::optional<tick> out;
    if (auto const* first = waits_.first(); first && first->due != tick::max()) out = first->due;
    if (auto const at = next_receive(now); at && *at > now) out = std::min(out.value_or(*at), *at);
    return out;
}

void breaker_gate::stop(bool set, tick now)
{
    stopped_ = set;
    if (!set) waits_.hurry(nullptr, now);
}

void breaker_gate::probe(tick now)
{
    whole_.probe(now);
    for (auto& one : by_use_)
        one.its.probe(now);
    waits_.hurry(nullptr, now);
}

std::string breaker_gate::explain(tick now)
{
    constexpr std::size_t most = 5; // names
    std::string out;
    auto const add = [&](std::string const& what) { out += (out.empty() ? "breaker " : ", ") + what; };
    if (whole_.limit(now)) add(whole_.explain(now));
    std::size_t ill = 0;
    for (auto& one : by_use_) {
        if (one.its.state() == phase::closed || ++ill > most) continue;
        add("of " + ascii_excerpt(one.name, 80) + ' ' + one.its.explain(now));
    }
    if (ill > most) out += ", and " + std::to_string(ill - most) + " more";
    auto const here = waits_.size();
    if (here != 0 && !out.empty())
        out += "; " + std::to_string(here) + (here == 1 ? " message waits" : " messages wait") + " here";
    return out;
}

} // namespace quern::detail
