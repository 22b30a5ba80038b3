#include "doors.hpp"
#include "process.hpp"

#include <algorithm>

// The fingerprint of a process: whatever may make a difference to what comes, with times relative to now, in seconds.

namespace quern::test {

namespace {

void put(std::string& to, int n)
{
    to += static_cast<char>(n & 0xff);
    to += static_cast<char>((n >> 8) & 0xff);
}

int place_of(std::vector<int> const& order, int message)
{
    return static_cast<int>(std::ranges::find(order, message) - order.begin());
}

/// Puts parts in an order of their own, since that in which they came makes no difference.
void put_sorted(std::string& to, std::vector<std::string>& parts)
{
    std::ranges::sort(parts);
    put(to, static_cast<int>(parts.size()));
    for (auto const& p : parts)
        to += p;
}

constexpr int longest_age = 10 * static_cast<int>(lease.count());

} // namespace

int process::since(tick at, int most) const
{
    auto const d = std::chrono::round<std::chrono::seconds>(at - surroundings_.now).count();
    return static_cast<int>(std::clamp<std::int64_t>(d, -most, most));
}

void process::describe(std::string& to, std::vector<int> const& order) const
{
    auto& its = context();
    put(to, its.ended | asleep << 1 | paused_ << 2 | slept << 3 | hurried_ << 4 | its.ending.has_value() << 5);
    if (its.ended) return;
    if (its.ending) {
        put(to, since(its.ending->wake_at(surroundings_.now)));
        put(to, receive_ ? since(receive_ends_at_) : 0);
    }
    put(to, static_cast<int>(its.open_receives) | static_cast<bool>(receive_) << 4);
    auto const& rule = through<intake_of>(*pipe_).rule();
    put(to, std::max(0, since(rule.pauses_until())));
    for (auto const m : order) {
        describe_entry(to, m);
        describe_ward(to, m);
    }
    describe_calls(to, order);
    describe_queue(to, order);
    std::vector<std::string> parts;
    for (auto const& r : runs_) {
        auto& part = parts.emplace_back();
        put(part, r.told | r.asks << 1 | r.asked << 2 | static_cast<bool>(r.waits) << 3);
        for (auto const* d : r.all)
            put(part, place_of(order, d->body().front() - 'a'));
    }
    put_sorted(to, parts);
}

void process::describe_entry(std::string& to, int message) const
{
    auto const h = entry_of(message);
    put(to, h != nullptr);
    if (!h) return;
    auto const& l = h->life;
    auto const& m = surroundings_.queue.messages[static_cast<std::size_t>(message)];
    put(to,
        static_cast<int>(l.at()) | l.is_extending() << 5 | l.was_lost() << 6 | l.is_overdue() << 7 |
            l.is_cancelled() << 8);
    put(to, std::max(-1, since(h->message.lease_deadline())));
    put(to, m.receives - h->receive_count);
    auto const began = l.is_running() ? std::max(h->received_at, h->began_at) : h->received_at; // leases grow with it
    if (l.is_running() || l.is(detail::message_life::state::waiting)) put(to, std::max(-longest_age, since(began)));
    put(to, static_cast<int>(h->postponed.count()));
    auto& extending = through<extending_of>(context().leases);
    auto const& apart = through<apart_of>(extending);
    bool is_extending = false;
    for (auto const& one : through<in_order_of>(extending))
        is_extending = is_extending || &one == h.get();
    for (auto const& one : apart)
        is_extending = is_extending || one.what == h;
    put(to, is_extending);
    if (!h->asks) return;
    put(to, static_cast<int>(h->asks->deletes.size() | h->asks->extensions.size() << 4));
    put(to, static_cast<int>(h->asks->lease.count()));
}

void process::describe_ward(std::string& to, int message) const
{
    auto const& its = wards_[static_cast<std::size_t>(message)];
    auto const h = entry_of(message);
    put(to, its.may_delete | its.lost << 1 | its.unheard << 2 | its.extension_failed << 3 | its.lost_in_run << 4);
    auto const& m = surroundings_.queue.messages[static_cast<std::size_t>(message)];
    auto const matters = m.is_hidden(surroundings_.now) && m.owner == number_;
    put(to, matters ? std::max(-1, since(its.put_off_until)) : 0);
    put(to, h && its.extended_at >= h->message.lease_deadline() - lease / 3 - std::chrono::seconds(1));
}

void process::describe_calls(std::string& to, std::vector<int> const& order) const
{
    std::vector<std::string> parts;
    for (auto const& c : calls_) {
        auto& part = parts.emplace_back();
        put(part, static_cast<int>(c.what) | c.carried_out << 4);
        put(part, since(c.sent_at));
        for (auto const& e : c.entries) {
            auto const h = entry_of(e.message);
            auto const& m = surroundings_.queue.messages[static_cast<std::size_t>(e.message)];
            put(part, place_of(order, e.message));
            put(part, c.what == call::kind::copy ? 0 : m.receives - e.receive);
            put(part, static_cast<int>(e.timeout.count()) | !e.code.empty() << 12 | e.postpones << 13);
            if (!h) continue;
            auto const first = h->message.message().receipt_handle;
            put(part, std::atoi(std::string(first.substr(2)).c_str()) > e.receive); // it is an earlier entry's
        }
    }
    put_sorted(to, parts);
}

void process::describe_queue(std::string& to, std::vector<int> const& order) const
{
    std::vector<std::string> parts;
    auto const add = [&](detail::settlement const& s, int due) {
        auto& part = parts.emplace_back();
        put(part, place_of(order, s.what->message.id().front() - 'a'));
        put(part, static_cast<int>(s.why) | s.what->life.is(detail::message_life::state::gone) << 4);
        put(part, static_cast<int>(s.timeout.count()));
        put(part, s.attempts);
        put(part, s.extension == s.what->extensions);
        put(part, due);
    };
    auto const& queue = through<queue_of>(through<settle_of>(*pipe_));
    for (auto const& line : through<lines_of>(queue))
        line.entries.for_each([&](detail::settlement const& s) { add(s, -1); });
    for (auto const& [due, s] : through<later_of>(queue))
        add(s, since(due));
    put_sorted(to, parts);
}

} // namespace quern::test
