#include "world.hpp"

#include <algorithm>
#include <numeric>

namespace quern::test {

namespace {

world* at_work = nullptr;

constexpr unsigned busiest = 60; // what may happen at one event
constexpr int longest_end = 120; // events
constexpr int most_wakes = 1000; // in this time, for nothing
constexpr std::chrono::minutes patience{10};

std::vector<int> counted(std::size_t n)
{
    std::vector<int> out(n);
    std::iota(out.begin(), out.end(), 0);
    return out;
}

} // namespace

world::world(scene const& s, std::vector<std::string>* story) : surroundings_(s)
{
    surroundings_.story = story;
    at_work = this;
    surroundings_.queue.refuses_old = s.refuses_old;
    for (int n = 0; n < s.processes; ++n) {
        all_.push_back(std::make_unique<process>(surroundings_, n));
        all_.back()->start();
    }
    settle();
}

world::~world()
{
    for (auto const& p : all_)
        p->forget();
    surroundings_.io.reset(); // coroutines refer to the processes
    at_work = nullptr;
}

world* world::now()
{
    return at_work;
}

void world::note_loss(detail::message_life const* whose, bool notes_lost, bool in_time)
{
    for (auto const& p : all_)
        if (p->note_loss(whose, notes_lost, in_time)) return;
}

bool world::any_drains() const
{
    return std::ranges::any_of(all_, [](auto const& p) { return p->is_draining() && !p->has_ended(); });
}

/// Does all that is to be done at this moment.
void world::settle()
{
    auto& io = *surroundings_.io;
    for (bool goes_on = true; goes_on;) {
        io.restart();
        io.poll();
        goes_on = false;
        for (auto const& p : all_)
            goes_on = goes_on || p->fire();
    }
}

/// When something is due for anybody, the queue included.
std::optional<tick> world::next() const
{
    std::optional<tick> out;
    auto const consider = [&](std::optional<tick> at) {
        if (at && *at > surroundings_.now) out = std::min(out.value_or(tick::max()), *at);
    };
    for (auto const& p : all_) {
        consider(p->next());
        consider(p->first_limit());
    }
    for (auto const& m : surroundings_.queue.messages)
        if (!m.deleted) consider(m.visible_at);
    return out;
}

/// Time passes until something happens, or to its end.
void world::pass(std::optional<tick> end, bool to_the_end)
{
    auto const before = surroundings_.happened;
    auto const began = surroundings_.now;
    for (int i = 0; i < most_wakes; ++i) {
        if (surroundings_.now - began > patience) return; // it is not time that it waits for
        auto const at = next();
        if (!at && !end) return;
        auto const to = std::min(at.value_or(tick::max()), end.value_or(tick::max()));
        auto const was = surroundings_.now;
        surroundings_.now = to;
        settle();
        for (auto const& m : surroundings_.queue.messages)
            surroundings_.happened += m.is_visible(to) && m.visible_at > was;
        for (auto const& p : all_) {
            auto const limit = p->first_limit();
            surroundings_.happened += !to_the_end && limit && *limit <= to;
        }
        if (to_the_end) {
            for (auto const& p : all_)
                while (!p->asleep && p->has_calls()) {
                    p->apply(*p->fair());
                    settle();
                }
        }
        if (end && to >= *end) return;
        if (!to_the_end && surroundings_.happened != before) return;
    }
    surroundings_.breaks("wakes a thousand times, and nothing happens");
}

/// Nothing of it runs for longer than a lease. Others go on, and SQS answers them at once.
void world::lie_still(process& p)
{
    --surroundings_.left.sleeps;
    p.asleep = p.slept = true;
    pass(surroundings_.now + lease + std::chrono::seconds(1), true);
    p.asleep = false;
    settle();
}

void world::apply(event const& e)
{
    auto const before = surroundings_.happened;
    if (surroundings_.story) surroundings_.tell(-1, "-- " + to_code({e}));
    switch (e.what) {
    case event::waits: pass({}, false); break;
    case event::waits_half:
        --surroundings_.left.halves;
        pass(surroundings_.now + lease / 2, false);
        break;
    case event::sleeps: lie_still(*all_[e.process]); break;
    default:
        all_[e.process]->apply(e);
        settle();
        if (surroundings_.happened - before > busiest) surroundings_.breaks("is busy without an end");
    }
    for (auto const& p : all_)
        p->check();
}

std::vector<event> world::possible() const
{
    std::vector<event> out;
    auto const& left = surroundings_.left;
    bool in_time = true;
    for (auto const& p : all_) {
        auto const limit = p->first_limit();
        in_time = in_time && !(limit && *limit <= surroundings_.now);
        if (p->has_ended() && !p->has_calls()) continue;
        for (auto const& e : p->possible())
            out.push_back(e);
        auto const others_call = std::ranges::any_of(all_, [&](auto const& o) { return o != p && o->has_calls(); });
        if (left.sleeps > 0 && !others_call && !p->is_done())
            out.push_back({event::sleeps, static_cast<std::uint8_t>(&p - all_.data())});
    }
    if (in_time && !is_idle()) {
        out.push_back({event::waits});
        if (left.halves > 0) out.push_back({event::waits_half});
    }
    return out;
}

/// Nothing is left to wait for.
bool world::is_idle() const
{
    auto const none_is_hidden = std::ranges::none_of(
        surroundings_.queue.messages, [this](auto const& m) { return m.is_hidden(surroundings_.now); });
    auto const idle = std::ranges::all_of(
        all_, [](auto const& p) { return p->has_ended() || (p->is_done() && !p->is_draining()); });
    return none_is_hidden && idle &&
        std::ranges::all_of(all_, [](auto const& p) { return p->polls() || p->has_ended(); });
}

bool world::is_done() const
{
    auto const all_end = std::ranges::all_of(all_, [](auto const& p) { return p->has_ended(); });
    if (all_end) return true;
    auto const idle = std::ranges::all_of(all_, [](auto const& p) { return p->has_ended() || p->is_done(); });
    auto const none_left = std::ranges::all_of(surroundings_.queue.messages, [](auto const& m) { return m.deleted; });
    return idle && none_left && !any_drains();
}

void world::go_on_well()
{
    for (int i = 0; i < longest_end; ++i) {
        if (is_done() || !broken().empty()) return;
        std::optional<event> next_one;
        for (auto const& p : all_)
            if (!next_one && !(p->has_ended() && !p->has_calls())) next_one = p->fair();
        if (!next_one && is_idle()) break;
        apply(next_one.value_or(event()));
    }
    surroundings_.breaks("does not come to its end though all goes well");
}

std::string world::described(std::vector<int> const& messages, std::vector<int> const& processes) const
{
    std::string out;
    auto const& left = surroundings_.left;
    for (auto const n :
        {left.faults, left.repeats, left.drains, left.sleeps, left.halves, left.pauses, left.reads_ahead})
        out += static_cast<char>(n);
    for (auto const m : messages) {
        auto const& its = surroundings_.queue.messages[static_cast<std::size_t>(m)];
        auto const hidden = its.is_hidden(surroundings_.now)
            ? std::chrono::round<std::chrono::seconds>(its.visible_at - surroundings_.now).count()
            : 0;
        auto const owner = std::ranges::find(processes, its.owner) - processes.begin();
        for (auto const n : {std::int64_t(hidden & 0xff), std::int64_t(hidden >> 8),
                 std::int64_t(its.deleted | its.disturbed << 1 | (its.copies != 0) << 2), std::int64_t(owner)})
            out += static_cast<char>(n);
    }
    for (auto const p : processes)
        all_[static_cast<std::size_t>(p)]->describe(out, messages);
    return out;
}

std::string world::fingerprint() const
{
    std::string out;
    auto messages = counted(surroundings_.queue.messages.size());
    do {
        auto processes = counted(all_.size());
        do {
            auto one = described(messages, processes);
            if (out.empty() || one < out) out = std::move(one);
        } while (std::ranges::next_permutation(processes).found);
    } while (std::ranges::next_permutation(messages).found);
    return out;
}

} // namespace quern::test
