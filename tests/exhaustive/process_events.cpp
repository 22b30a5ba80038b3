#include "doors.hpp"
#include "process.hpp"

#include <algorithm>

namespace quern::test {

using life = detail::message_life;
using state = life::state;

namespace {

constexpr std::chrono::seconds third = lease / 3, a_moment{1};

std::string named(std::string_view what, int message)
{
    return std::string(what) + ' ' + static_cast<char>('a' + message);
}

event at(event::kind what, int process, std::size_t which = 0, std::size_t entry = 0)
{
    event out;
    out.what = what;
    out.process = static_cast<std::uint8_t>(process);
    out.which = static_cast<std::uint8_t>(which);
    out.entry = static_cast<std::uint8_t>(entry);
    return out;
}

} // namespace

std::vector<event> process::possible() const
{
    auto const& plan = surroundings_.plan;
    auto const& left = surroundings_.left;
    std::vector<event> out;
    auto const add = [&](event::kind what, std::size_t which = 0, std::size_t entry = 0) {
        out.push_back(at(what, number_, which, entry));
    };
    auto const& all = surroundings_.queue.messages;
    for (std::size_t m = 0; m < all.size() && receive_; ++m) {
        if (all[m].is_visible(surroundings_.now)) add(event::receives, m);
        if (all[m].is_visible(surroundings_.now) && left.faults > 0) add(event::receive_lost, m);
        if (all[m].receives != 0 && !all[m].is_visible(surroundings_.now) && left.repeats > 0)
            add(event::receives_again, m);
    }
    if (receive_ && is_draining()) add(event::poll_ends);
    for (std::size_t c = 0; c < calls_.size(); ++c) {
        add(event::answered, c);
        if (!calls_[c].carried_out && left.reads_ahead > 0) add(event::carried_out, c);
        if (left.faults == 0) continue;
        add(event::answer_lost, c);
        if (calls_[c].carried_out) continue;
        add(event::request_lost, c);
        if (calls_[c].what == call::kind::copy) add(event::refused, c);
        for (std::size_t e = 0; e < calls_[c].entries.size() && calls_[c].entries.size() > 1; ++e)
            add(event::entry_fails, c, e);
    }
    std::size_t number = 0;
    for (auto const& r : runs_) {
        auto const which = number++;
        if (!r.waits) continue;
        add(event::succeeds, which);
        if (plan.fails) add(event::fails, which);
        if (plan.rejects) add(event::rejects, which);
        if (r.told) add(event::obeys, which);
        if (plan.asks && !r.told && !r.asked) add(event::asks_delete, which);
        if (plan.asks_longer && !r.told && !r.asked) add(event::asks_lease, which);
    }
    if (left.drains > 0 && !is_draining()) add(event::drains);
    if (plan.drains > 0 && is_draining() && !hurried_ && !has_ended()) add(event::hurries);
    if (left.pauses > 0 && !paused_ && !is_draining()) add(event::pauses);
    if (paused_ && !is_draining()) add(event::resumes);
    return out;
}

std::optional<event> process::fair() const
{
    if (!calls_.empty()) return at(event::answered, number_);
    std::size_t which = 0;
    for (auto const& r : runs_) {
        if (r.waits) return at(r.told ? event::obeys : event::succeeds, number_, which);
        ++which;
    }
    if (paused_ && !is_draining()) return at(event::resumes, number_);
    if (!receive_) return {};
    if (is_draining()) return at(event::poll_ends, number_);
    auto const& all = surroundings_.queue.messages;
    for (std::size_t m = 0; m < all.size(); ++m)
        if (all[m].is_visible(surroundings_.now)) return at(event::receives, number_, m);
    return {};
}

detail::held_ptr process::entry_of(int message) const
{
    auto const id = std::string(1, static_cast<char>('a' + message));
    return context().in_flight.find(detail::message_id(id));
}

/// Notes what is wrong with a request when it leaves.
void process::note_sent(call& c)
{
    for (auto& e : c.entries) {
        auto& its = wards_[static_cast<std::size_t>(e.message)];
        if (c.what == call::kind::remove && !its.may_delete)
            surroundings_.breaks(named("deletes without a success under its lease:", e.message));
        if (c.what != call::kind::change) continue;
        auto const h = entry_of(e.message);
        if (!h || h->message.lease_deadline() <= surroundings_.now)
            surroundings_.breaks(named("changes the visibility without a lease:", e.message));
        if (!h) continue;
        e.postpones = h->life.is_given_back();
        if (e.postpones) continue;
        its.extended_at = surroundings_.now;
        its.extension_failed = false;
    }
}

/// Where a lease is lost, as our own life says, more time was asked for before, unless it was impossible.
bool process::note_loss(life const* whose, bool notes_lost, bool in_time)
{
    detail::held_ptr h;
    context().in_flight.for_each([&](detail::held_ptr const& one) {
        if (&one->life == whose) h = one;
    });
    if (!h || !notes_lost) return h != nullptr;
    auto const m = h->message.id().front() - 'a';
    auto& its = wards_[static_cast<std::size_t>(m)];
    auto const was_lost = std::exchange(its.lost, true);
    its.lost_in_run = true;
    auto const end = h->message.lease_deadline();
    auto const has_asked = its.extended_at >= end - third - a_moment;
    auto const has_tried =
        has_asked && !(its.extension_failed && its.extended_at < end - longest_call - 2 * a_moment);
    auto const needs_none = slept || !in_time || context().hangs(*h, surroundings_.now);
    if (!was_lost && end <= surroundings_.now && !has_tried && !needs_none)
        surroundings_.breaks(named("loses a lease that it has not asked to extend in time:", m));
    auto const& there = surroundings_.queue.messages[static_cast<std::size_t>(m)];
    auto const has_it =
        there.is_hidden(surroundings_.now) && there.owner == number_ && !there.disturbed && !its.unheard;
    if (has_it && end > surroundings_.now) surroundings_.breaks(named("gives up a lease that it has:", m));
    return true;
}

/// Messages that are hidden for this process, which knows nothing of them and has no excuse.
int process::hidden_for_nothing() const
{
    int out = 0;
    auto const& all = surroundings_.queue.messages;
    for (std::size_t m = 0; m < all.size(); ++m) {
        auto const& its = wards_[m];
        auto const ours = all[m].is_hidden(surroundings_.now) && all[m].owner == number_ && !all[m].disturbed;
        auto const excused = its.lost || its.unheard || all[m].visible_at <= its.put_off_until;
        auto const held = !has_ended() && entry_of(static_cast<int>(m));
        out += ours && !excused && !held;
    }
    return out;
}

void process::check_entry(detail::held const& h)
{
    auto const m = h.message.id().front() - 'a';
    auto const& its = surroundings_.queue.messages[static_cast<std::size_t>(m)];
    auto const end = h.message.lease_deadline();
    auto const believes =
        h.life.is_held() && !h.life.is_deleted() && !h.life.is_given_back() && end > surroundings_.now;
    auto const hears = its.owner == number_ && !its.disturbed && !wards_[static_cast<std::size_t>(m)].unheard;
    if (believes && hears && !its.deleted && its.visible_at < end)
        surroundings_.breaks(named("takes a lease for longer than it is:", m));
    auto const works = h.life.is(state::waiting) || h.life.is(state::gathering) || h.life.is(state::running) ||
        h.life.is(state::running_returned) || h.life.is(state::deleting_early);
    if (works && end <= surroundings_.now && !asleep) surroundings_.breaks(named("works on without a lease:", m));
    auto const settles = (h.life.is_settling() && !h.life.is(state::kept_back)) || h.life.wants_delete();
    if (settles && !asleep && !is_on_its_way(h)) surroundings_.breaks(named("forgets to tell SQS what became of", m));
    if (h.life.is(state::running_lost) && h.run && !h.life.is_told() && !asleep)
        surroundings_.breaks(named("does not cancel the handler that lost its lease:", m));
}

/// A request for it is under way, or will be.
bool process::is_on_its_way(detail::held const& h) const
{
    auto const m = h.message.id().front() - 'a';
    bool out = false;
    for (auto const& c : calls_)
        for (auto const& e : c.entries)
            out = out || e.message == m;
    auto const& queue = through<queue_of>(through<settle_of>(*pipe_));
    auto const look = [&](detail::settlement const& s) { out = out || s.what == &h; };
    for (auto const& line : through<lines_of>(queue))
        line.entries.for_each(look);
    for (auto const& [due, s] : through<later_of>(queue))
        look(s);
    return out;
}

void process::check()
{
    if (asleep) return;
    if (has_ended()) {
        if (std::exchange(end_is_checked_, true)) return;
        auto const& r = context().report;
        auto const told = r.stranded + r.running + r.at_risk + r.lost + r.polls;
        if (hidden_for_nothing() > static_cast<int>(told))
            surroundings_.breaks("leaves a message hidden, and its report does not say so");
        return;
    }
    context().in_flight.for_each([this](detail::held_ptr const& h) { check_entry(*h); });
    auto const& counts = context().counters;
    if (counts.acked + counts.rejected > static_cast<std::uint64_t>(deletions_))
        surroundings_.breaks("counts as deleted what is not");
    if (hidden_for_nothing() != 0) surroundings_.breaks("forgets a message that is hidden for it");
}

} // namespace quern::test
