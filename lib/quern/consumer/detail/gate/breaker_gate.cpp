#include <quern/consumer/detail/gate/breaker_gate.hpp>
#include <quern/consumer/detail/message/ascii_excerpt.hpp>

#include <algorithm>

namespace quern::detail {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

/// Our own receives that are still open have ended by then, and do not bring it back at the cost of one more receive.
constexpr milliseconds shortest_put_off = 30s;

/// Everything is done so soon after an outage.
constexpr milliseconds longest_put_off = 585s, nearly_longest = 570s;

/// A message that waits here is tried again so much later, and up to twice that: at random, because all at once would
/// look like an outage.
constexpr milliseconds rest = 30s;

/// From then on messages that were put off are about to come back, and some for the last time.
constexpr tick::duration long_outage = 540s;

/// Part of the time that an outage has lasted, between two messages received while it is long and all places are
/// taken by messages that may not go back: so many are received each time that it has lasted e times as long.
constexpr int receives = 20;

/// Between two times at which all that waits here is tried at once, for something has succeeded.
constexpr tick::duration between_hurries = 15s;

/// Found down so often in a row, by any messages: what a message on its last receive asks for.
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
        return &by_use_.front();
    }
    if (keys_.size() >= most_keys_) {
        auto const& last = by_use_.back();
        if (last.its.state() == phase::half_open)
            changes_.push_back({last.name, phase::half_open, phase::closed, "forgotten, for there are many keys"});
        keys_.erase(last.name);
        by_use_.pop_back();
    }
    by_use_.push_front({std::string(key), policy::breaker(options_, now)});
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

/// Where all places are taken by messages that may not go back, each one received may die. But those that are here
/// may all be ill for themselves, so it never stops. Absent: anybody may come.
std::optional<tick> breaker_gate::next_receive(tick now) const
{
    auto const since = whole_.suspected_since();
    if (!since || now - *since < long_outage || now - full_at_ > 2 * rest) return {};
    return received_at_ + std::max(received_at_ - *since, long_outage) / receives;
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
        if (is_news(!failed_.contains(what.id), its)) tell(whole_, {}, now, [&] { whole_.failed(true, now); });
        return keep(what, its, its->its.next(), now);
    }
    // A message that has failed before tells nothing: it leaves its turn to others.
    if (whole_.state() == phase::half_open && failed_.contains(what.id))
        return keep(what, its, after_a_rest(now), now);
    answer out;
    out.hurries = whole_.state() != phase::closed || (its && its->its.state() != phase::closed);
    return out;
}

void breaker_gate::started(subject const& what, tick now)
{
    whole_.started(now);
    if (auto* const its = find(what.key, now)) its->its.started(now);
}

/// True when the failure tells something about other messages: the first of its key in a run, and each without a key.
bool breaker_gate::is_news(bool fresh, entry* its) const
{
    return fresh && (!its || std::exchange(its->counted, run_) != run_);
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
    auto const is_new = is_news(fresh, its);
    tell(whole_, {}, now, [&] { whole_.failed(is_new, now); });
    if (its) tell(its->its, its->name, now, [&] { its->its.failed(fresh, now); });

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
    failed_.forget(what.id);
    auto& of = its ? its->said : nameless_;
    if (std::exchange(of.down, 0) >= enough) { // it is up again, perhaps
        ++of.outages;
        if (now >= hurried_at_ + between_hurries) {
            hurried_at_ = now;
            waits_.hurry(its ? &its->name : nullptr, now);
        }
    }
    ++run_;
    auto const were = whole_.state();
    tell(whole_, {}, now, [&] { whole_.succeeded(what.began_at, now); });
    if (its) {
        auto const was = its->its.state();
        tell(its->its, its->name, now, [&] { its->its.succeeded(what.began_at, now); });
        if (was != its->its.state()) waits_.hurry(&its->name, now);
    }
    if (were != whole_.state()) waits_.hurry(nullptr, now);
}

gate::answer breaker_gate::keep(subject const& what, entry const* its, tick due, tick now)
{
    auto gone = waits_.add({what.number, its ? its->name : std::string(), what.receives_left, due});
    if (waits_.is_full_of_dear()) full_at_ = now;
    if (!gone) return {answer::way::wait_here};
    if (gone->number == what.number)
        return {answer::way::go_back, put_off(what.receives_left, its, now), false, what.receives_left == 0};
    leaving_.push_back(*std::move(gone));
    return {answer::way::wait_here};
}

tick breaker_gate::after_a_rest(tick now)
{
    return now + rest + milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, rest.count())(random_));
}

/// Longer with the outage, so that a long one costs few receives; as long as can be where they are numbered.
milliseconds breaker_gate::put_off(int left, entry const* its, tick now)
{
    auto const between = [this](milliseconds least, milliseconds most) {
        return milliseconds(std::uniform_int_distribution<milliseconds::rep>(least.count(), most.count())(random_));
    };
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
