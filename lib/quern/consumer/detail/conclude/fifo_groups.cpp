#include <quern/consumer/detail/conclude/fifo_groups.hpp>

#include <algorithm>
#include <iterator>

namespace quern::detail {

namespace {

/// Sequence numbers grow within a group and are numbers of up to 128 bits, written without leading zeros.
bool sent_before(held const& a, held const& b)
{
    auto const x = a.message.sequence_number(), y = b.message.sequence_number();
    return x.size() != y.size() ? x.size() < y.size() : x < y;
}

std::string name_of(held const& h)
{
    return std::string(h.message.group());
}

} // namespace

void fifo_groups::list(std::string const& name, group& g)
{
    if (g.running || !g.awaited.empty() || std::exchange(g.listed, true)) return;
    ready_.push_back(name);
}

void fifo_groups::add(held_ptr h)
{
    auto name = name_of(*h);
    auto& g = groups_[name];
    if (g.awaited == h->message.id()) g.awaited.clear();
    auto at = g.line.end(); // nearly always: an answer is in order
    auto const first = g.line.begin() + (g.running ? 1 : 0);
    while (at != first && sent_before(*h, **std::prev(at)))
        --at;
    g.line.insert(at, std::move(h));
    ++size_;
    list(name, g);
}

std::vector<held_ptr> fifo_groups::runnable()
{
    std::vector<held_ptr> out;
    for (auto const& name : std::exchange(ready_, {})) {
        auto const at = groups_.find(name);
        if (at == groups_.end()) continue;
        auto& g = at->second;
        g.listed = false;
        if (!g.awaited.empty()) continue;
        if (std::exchange(g.running, true)) continue;
        out.push_back(g.line.front());
    }
    return out;
}

void fifo_groups::await(held const& h, tick until, head which)
{
    auto const name = name_of(h);
    auto const at = groups_.find(name);
    if (at == groups_.end() || at->second.line.front().get() != &h) return;
    at->second.awaited = h.message.id();
    at->second.until = until;
    at->second.awaited_one = which;
    waits_.emplace(until, name);
    leave(h);
}

std::vector<held_ptr> fifo_groups::take_forsaken(tick now)
{
    std::vector<held_ptr> out;
    for (; !waits_.empty() && waits_.begin()->first <= now; waits_.erase(waits_.begin())) {
        auto const at = groups_.find(waits_.begin()->second);
        if (at == groups_.end() || at->second.awaited.empty() || at->second.until > now) continue;
        auto& [name, g] = *at;
        if (g.awaited_one == head::dies) {
            g.awaited.clear();
            list(name, g);
            continue;
        }
        std::ranges::move(g.line, std::back_inserter(out));
        groups_.erase(at);
    }
    size_ -= out.size();
    return out;
}

std::optional<tick> fifo_groups::wake_at() const
{
    if (waits_.empty()) return {};
    return waits_.begin()->first;
}

std::vector<held_ptr> fifo_groups::take_tail(held const& h)
{
    auto const at = groups_.find(name_of(h));
    if (at == groups_.end()) return {};
    auto& line = at->second.line;
    auto const mine = std::ranges::find(line, &h, [](held_ptr const& one) { return one.get(); });
    if (mine == line.end()) return {};
    std::vector<held_ptr> out(std::move_iterator(std::next(mine)), std::move_iterator(line.end()));
    line.erase(std::next(mine), line.end());
    size_ -= out.size();
    return out;
}

void fifo_groups::leave(held const& h)
{
    auto const at = groups_.find(name_of(h));
    if (at == groups_.end()) return;
    auto& [name, g] = *at;
    auto const mine = std::ranges::find(g.line, &h, [](held_ptr const& one) { return one.get(); });
    if (mine == g.line.end()) return;
    if (mine == g.line.begin()) g.running = false;
    g.line.erase(mine);
    --size_;
    if (g.line.empty())
        groups_.erase(at);
    else
        list(name, g);
}

std::vector<held_ptr> fifo_groups::take_waiting()
{
    std::vector<held_ptr> out;
    for (auto at = groups_.begin(); at != groups_.end();) {
        auto& g = at->second;
        auto const first = g.line.begin() + (g.running ? 1 : 0);
        std::move(first, g.line.end(), std::back_inserter(out));
        g.line.erase(first, g.line.end());
        at = g.line.empty() ? groups_.erase(at) : std::next(at);
    }
    size_ -= out.size();
    return out;
}

} // namespace quern::detail
