// The checker of a simulation: each function notes one event, and complains about broken promises.

#include <quern/sim/detail/limit_book.hpp>
#include <quern/sim/witness.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace quern::sim {

using namespace detail;
using namespace std::chrono_literals;

namespace {

constexpr int most_log_lines = 10; // in a second: one a cause; there are no more causes than that

} // namespace

std::string witness::name(int process, int number)
{
    return "process " + std::to_string(process) + ", message " + std::to_string(number);
}

std::string witness::in_seconds(tick::duration d)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.3f s", std::chrono::duration<double>(d).count());
    return text;
}

void witness::note(std::string what)
{
    if (keeps_trace) trace.push_back(in_seconds(time_.now().time_since_epoch()) + "  " + std::move(what));
}

void witness::complain(std::string what)
{
    note("VIOLATION: " + what);
    violations.push_back("at " + in_seconds(time_.now().time_since_epoch()) + ": " + std::move(what));
}

void witness::warn(std::string what)
{
    if (std::ranges::find(warnings, what) != warnings.end()) return;
    note("warning: " + what);
    warnings.push_back(std::move(what));
}

void witness::sent(int number, std::string group, std::string const& body, bool came_back)
{
    if (!numbers_.emplace(body, number).second) throw std::invalid_argument("two messages with one body: " + body);
    if (rules_.ordered) in_order_[group].push_back(number);
    messages_[number].group = std::move(group);
    messages_[number].bytes = body.size();
    messages_[number].came_back = came_back;
    note("message " + std::to_string(number) + ": sent");
}

int witness::number_of(std::string_view body) const
{
    auto const at = numbers_.find(body);
    if (at == numbers_.end()) throw std::invalid_argument("no message was sent with that body");
    return at->second;
}

void witness::started(int process, int number)
{
    auto& m = messages_.at(number);
    auto& mine = m.shares[process];
    note(name(process, number) + ": handler starts");
    if (mine.running++ != 0) complain(name(process, number) + ": runs twice at once");
    if (time_.now() > mine.until) complain(name(process, number) + ": starts without a lease");
    if (is_stopping(process)) complain(name(process, number) + ": starts though its process is stopping");
    if (rules_.ordered && in_group_[{process, m.group}]++ != 0) {
        complain(name(process, number) + ": runs beside another message of its group");
    }
    if (rules_.ordered) check_turn(process, number);
    complain_of(process, limits_of(process).starts(++running_[process], time_.now()));
    bytes_[process] += m.bytes;
    mine.began_at = time_.now();
    mine.postponed = false; // what hid it was an extension while it waited
    mine.covered = tick::max();
    mine.handled = mine.rejectable = mine.discarded = mine.failed = mine.lapsed = false;
    mine.accepted = mine.gone = mine.settling = mine.anew = false;
}

/// The message is this process's for certain, and one that was sent before it into its group is not done with.
void witness::check_turn(int process, int number)
{
    auto const& m = messages_.at(number);
    if (m.shares.at(process).handle != m.handle || m.until <= time_.now()) return;
    for (auto const earlier : in_order_[m.group]) {
        if (earlier >= number) break;
        if (is_settled(messages_.at(earlier), process)) continue;
        complain(name(process, number) + ": starts before " + std::to_string(earlier) + " of its group is done with");
        return;
    }
}

bool witness::is_settled(message const& m, int process) const
{
    if (m.in_turn || m.deleted || m.handed_off || m.discarded) return true;
    auto const last = rules_.max_receives != 0 && m.receives >= rules_.max_receives;
    if (last && m.until <= time_.now()) return true;
    auto const at = m.shares.find(process); // it cannot know that the lease was over in time
    if (at == m.shares.end()) return false;
    auto const& mine = at->second; // nor that its put-off of a message on its last receive has not arrived yet
    return mine.handled || mine.accepted || (last && mine.failed && mine.not_before <= time_.now());
}

/// It has heard of that before this moment, or is done.
bool witness::is_stopping(int process) const
{
    auto const at = stops_.find(process);
    auto const heard = at != stops_.end() && at->second.heard_at && *at->second.heard_at < time_.now();
    return heard || ended_.contains(process);
}

void witness::ended(int process, int number, verdict const& said, bool obeys_cancellation)
{
    auto& m = messages_.at(number);
    auto& mine = m.shares[process];
    auto const now = time_.now();
    --mine.running;
    --running_[process];
    bytes_[process] -= m.bytes;
    --in_group_[{process, m.group}];
    static constexpr char const* words[] = {"succeeds", "fails", "is cancelled", "rejects it", "throws it away"};
    note(name(process, number) + ": handler " + words[static_cast<int>(said.how)]);

    if (said.how != verdict::kind::cancelled && !said.found_down)
        speeds_.ended(rules_.tenant(number), now - mine.began_at, now);
    last_end_[process] = now;
    if (mine.gone) return; // there is no lease any more
    if (now > mine.until && obeys_cancellation && !wakes(process)) {
        complain(
            name(process, number) + ": its handler ran on for " + in_seconds(now - mine.until) + " without a lease");
    }
    auto const in_time = now < mine.until || wakes(process); // its next receive, or an answer, may lie in a socket
    mine.settling = in_time;
    mine.ended_at = now;
    mine.failed = said.how == verdict::kind::failed || said.how == verdict::kind::cancelled;
    auto const may_be_released = wakes(process) && stops_.contains(process); // told to stop twice while it slept
    mine.not_before = mine.lapsed || may_be_released ? now : now + said.delay;
    mine.rejectable = in_time && said.rejectable();
    mine.rejected_as = mine.receive;
    mine.unexplained = said.unexplained;
    mine.discarded = in_time && said.how == verdict::kind::discarded;
    mine.handled = in_time && said.how == verdict::kind::succeeded;
    mine.late = now >= mine.until;
    if (mine.handled) take_turn(process, number);
    m.succeeded = m.succeeded || mine.handled;
    if (mine.handled) handled.emplace(number, now);
}

/// Notes that the message is done with, as far as its process can know. It counts for its group's order only while
/// the service still hides the message; otherwise the message comes again.
void witness::take_turn(int process, int number)
{
    auto& m = messages_.at(number);
    if (m.in_turn || m.shares[process].handle != m.handle || m.until <= time_.now()) return;
    m.in_turn = true;
    if (!rules_.ordered) return;
    auto& last = last_success_.try_emplace(m.group, -1).first->second;
    if (number < last && !m.succeeded) // else it is a repetition
        complain(name(process, number) + ": succeeds after " + std::to_string(last) + " of its group");
    last = std::max(last, number);
}

void witness::acks(int process, int number)
{
    note(name(process, number) + ": handler asks for its delete");
    auto& mine = messages_.at(number).shares[process];
    mine.accepted = time_.now() < mine.until || wakes(process);
    if (!mine.accepted) return;
    mine.asked_as = mine.receive;
    take_turn(process, number);
    messages_.at(number).succeeded = true;
}

void witness::acked(int process, int number)
{
    auto& m = messages_.at(number);
    auto& mine = m.shares[process];
    mine.gone = true;
    if (m.was_deleted || mine.handle != m.handle) return;                       // or another has received it since
    if (mine.asked_as < mine.receive && mine.arrived_at == time_.now()) return; // with the answer comes a newer copy
    complain(name(process, number) + ": its handler is told that it is deleted, and it is not");
}

/// An answer of the guard means that more was asked for. That of a run that is over says nothing.
void witness::guarded(int process, int number, tick began_at, guard_news said, tick reach)
{
    auto& mine = messages_.at(number).shares[process];
    if (mine.running == 0 || mine.began_at != began_at) return;
    static constexpr char const* words[] = {"is asked", "agrees", "refuses"};
    note(name(process, number) + ": its guard " + words[static_cast<int>(said)]);
    mine.named = time_.now();
    if (said == guard_news::agrees) mine.covered = reach;
    if (said != guard_news::refuses) return;
    mine.until = std::min(mine.until, time_.now());
    mine.let_go = true;
}

void witness::holds(int process, std::size_t in_flight)
{
    auto const said = limits_of(process).holds(in_flight);
    if (!rules_.ordered) complain_of(process, said); // of a group only the first takes a place: see asks()
}

/// Places taken, at least. Messages that wait in a group take no place, except the first; the witness cannot tell
/// which that is, so it counts none.
std::size_t witness::places_of(int process, std::size_t in_flight, std::size_t most) const
{
    if (!rules_.ordered || in_flight <= most) return in_flight; // as good, and quicker
    if (of(process).batches) return 0;
    std::size_t waiting = 0;
    for (auto const& [number, m] : messages_) {
        auto const found = m.shares.find(process);
        if (found == m.shares.end()) continue;
        auto const& mine = found->second;
        auto const has_ended = mine.settling && mine.ended_at != mine.arrived_at; // a damaged one has not begun
        auto const knows = mine.let_go && time_.now() >= mine.until; // else the answer that says so may be lost
        auto const is_over = knows || has_ended || mine.running != 0;
        waiting += mine.arrived_at != tick() && !is_over ? 1 : 0;
    }
    return in_flight - std::min(in_flight, waiting);
}

void witness::turned(int process, consumer_limits const& to)
{
    note("process " + std::to_string(process) + " is given other limits");
    limits_of(process).turn(to, time_.now());
}

limit_book& witness::limits_of(int process)
{
    auto& out = limits_[process];
    if (out) return *out;
    out = std::make_unique<limit_book>(of(process).limits);
    return *out;
}

void witness::complain_of(int process, std::string const& what)
{
    if (!what.empty()) complain("process " + std::to_string(process) + ' ' + what);
}

void witness::logged(int process, std::string_view text)
{
    note("process " + std::to_string(process) + " logs: " + std::string(text));
    auto const is_an_end = text.starts_with("message rejected: ") || text.starts_with("last receive: ");
    if (is_an_end) return; // one each: the line may be all that is left of the message
    if (!log_lines_[process].exceeds(most_log_lines, time_.now())) return;
    complain("process " + std::to_string(process) + " floods its log");
}

void witness::rests(int process, bool on)
{
    note("process " + std::to_string(process) + (on ? " is paused by its user" : " goes on"));
    if (on)
        resting_.insert(process);
    else
        resting_.erase(process);
}

void witness::sleeps(int process)
{
    asleep_.insert(process);
    slept_at_[process] = time_.now();
    note("process " + std::to_string(process) + " stands still");
}

void witness::woke(int process)
{
    asleep_.erase(process);
    woke_at_[process] = time_.now();
    note("process " + std::to_string(process) + " wakes");
    auto const at = stops_.find(process);
    if (at == stops_.end()) return;
    at->second.by = std::max(at->second.by, time_.now());
}

/// It has stood still until this moment.
bool witness::wakes(int process) const
{
    auto const at = woke_at_.find(process);
    return at != woke_at_.end() && at->second == time_.now();
}

/// It could act, all the time since.
bool witness::is_awake(int process, tick since) const
{
    auto const woke = woke_at_.find(process);
    auto const slept = asleep_.contains(process) || (woke != woke_at_.end() && woke->second >= since);
    return !slept && !ended_.contains(process);
}

void witness::killed(int process)
{
    note("process " + std::to_string(process) + " is killed");
    for (auto& [number, m] : messages_) {
        auto const at = m.shares.find(process); // what it has sent still counts
        if (at != m.shares.end()) at->second.running = 0;
    }
    std::erase_if(in_group_, [&](auto const& g) { return g.first.first == process; });
    stops_.erase(process);
    asleep_.erase(process);
    ended_.insert(process);
}

void witness::stops(int process, std::chrono::milliseconds limit)
{
    note("process " + std::to_string(process) + " is told to stop within " + std::to_string(limit.count()) + " ms");
    stops_.emplace(process, stop{time_.now() + limit, limit, {}});
}

void witness::hears(int process)
{
    auto const at = stops_.find(process);
    if (at == stops_.end() || at->second.heard_at) return;
    at->second.heard_at = time_.now();
    at->second.by = time_.now() + at->second.limit;
}

void witness::drained(int process, drain_report const& said, bool undisturbed)
{
    auto const now = time_.now();
    auto const who = "process " + std::to_string(process);
    note(who + " has drained: " + to_json(said));
    std::size_t hidden = 0;
    for (auto const& [number, m] : messages_) {
        auto const at = m.shares.find(process);
        if (at == m.shares.end() || m.deleted) continue;
        auto const& mine = at->second;
        if (mine.handle != m.handle || mine.postponed || mine.let_go || mine.doubtful) continue;
        if (mine.arrived_at == now && said.polls != 0) continue; // one of these has brought it, unread
        if (std::min(m.until, mine.until) <= now)
            continue; // what was extended, and the answer was lost, counts as over
        note(name(process, number) + ": left hidden for " + in_seconds(m.until - now));
        ++hidden;
    }
    // Who wakes within a second of a lease's end may take it for over, and says so.
    auto const known = said.stranded + said.running + said.at_risk + (wakes(process) ? said.lost : 0);
    if (hidden > known)
        complain(who + " leaves " + std::to_string(hidden) + " messages hidden and reports " + to_json(said));
    auto const lately = [&](tick ended_at) { return ended_at + 1s >= now; };
    auto const idle = !lately(last_end_[process]); // a handler that ends with the drain leaves its settlement behind
    auto const unsettled = std::ranges::count_if(messages_, [&](auto const& m) {
        auto const at = m.second.shares.find(process);
        return at != m.second.shares.end() && lately(at->second.ended_at);
    });
    if (undisturbed && (std::cmp_greater(said.stranded, unsettled) || (idle && said.at_risk != 0)))
        complain(who + " strands messages without need: " + to_json(said));
    auto const verdicts_unread = last_end_[process] == now || wakes(process);
    if (said.running > running_[process] && !verdicts_unread)
        complain(who + " reports " + std::to_string(said.running) + " handlers running, and " +
            std::to_string(running_[process]) + " are");
    if (auto const at = stops_.find(process); at != stops_.end()) {
        if (now > at->second.by) complain(who + " drains for longer than it may: " + to_json(said));
        stops_.erase(at);
    }
    ended_.insert(process);
    if (said.polls == 0) left_nothing_open_.insert(process);
}

void witness::finished(bool queue_is_empty, std::set<int> const& dead)
{
    if (!queue_is_empty) complain("the queue does not run empty");
    for (auto const& [process, s] : stops_)
        complain("process " + std::to_string(process) + " does not end its drain");
    if (rules_.most_dead >= 0 && std::ssize(dead) > rules_.most_dead) {
        complain(std::to_string(dead.size()) + " messages are dead, the first is " + std::to_string(*dead.begin()) +
            "; an outage may cost " + std::to_string(rules_.most_dead));
    }
    for (auto const& broken : speeds_.broken())
        complain(broken);
    for (auto const number : rules_.poisoned) {
        auto const& m = messages_.at(number);
        auto const took = m.last_received_at - m.first_received_at;
        auto const who = "message " + std::to_string(number) + ", which always finds what it needs down, ";
        if (!dead.contains(number))
            complain(who + "is not in the dead-letter queue");
        else if (took > rules_.dead_within)
            complain(who + "is received for " + in_seconds(took) + "; promised: dead after " +
                in_seconds(rules_.dead_within));
    }
    std::size_t lost = 0;
    int first = 0;
    for (auto const& [number, m] : messages_) {
        if (m.succeeded || m.handed_off || m.discarded || dead.contains(number) || !queue_is_empty) continue;
        if (lost++ == 0) first = number;
    }
    if (lost != 0) complain(std::to_string(lost) + " messages are lost, the first is " + std::to_string(first));
}

} // namespace quern::sim
