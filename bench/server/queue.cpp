#include "queue.hpp"

namespace yardstick {

queue::queue(options const& what) : what_(what), arrivals_(what), hidden_(what.visibility), groups_(what.groups)
{
    for (std::uint32_t i = 0; i < what.groups; ++i) {
        groups_[i].ready = true;
        ready_.push_back(i);
    }
}

void queue::wake(micros now)
{
    if (awake_) return;
    awake_ = true;
    if (!arrivals_.is_rehearsal()) arrivals_.start(now);
}

void queue::measure(micros now)
{
    measured_ = !arrivals_.is_rehearsal();
    if (awake_) arrivals_.start(now);
}

void queue::take(std::size_t max, micros visibility, micros now, std::vector<handed>& out)
{
    if (is_fifo())
        take_fifo(max, visibility, now, out);
    else
        take_standard(max, visibility, now, out);
}

void queue::take_standard(std::size_t max, micros visibility, micros now, std::vector<handed>& out)
{
    while (out.size() < max && !returned_.empty()) {
        auto const at = returned_.front();
        returned_.pop_front();
        out.push_back(hand_out(at, visibility, now));
    }
    while (out.size() < max) {
        auto one = hand_out_new(next_number_, 0, visibility, now);
        if (!one) return;
        ++next_number_;
        out.push_back(*one);
    }
}

void queue::take_fifo(std::size_t max, micros visibility, micros now, std::vector<handed>& out)
{
    for (auto groups = ready_.size(); groups > 0 && out.size() < max; --groups) {
        auto const of = ready_.front();
        ready_.pop_front();
        auto& from = groups_[of];
        from.ready = false;
        while (out.size() < max) {
            if (!from.returned.empty()) {
                auto const at = from.returned.begin()->second;
                from.returned.erase(from.returned.begin());
                out.push_back(hand_out(at, visibility, now));
            } else if (auto one = hand_out_new(of + from.taken * groups_.size(), of, visibility, now)) {
                ++from.taken;
                out.push_back(*one);
            } else {
                break;
            }
            ++from.hidden;
        }
    }
}

handed queue::hand_out(std::uint32_t at, micros visibility, micros now)
{
    hidden_.hide(at, visibility, now);
    auto& one = hidden_[at];
    ++one.receives;
    return {{one.number, at, one.receives}, one.due, one.first_received, one.group};
}

std::optional<handed> queue::hand_out_new(std::uint64_t number, std::uint32_t of, micros visibility, micros now)
{
    auto const due = arrivals_.take(now);
    if (!due) return {};
    auto const told = measured_ ? *due : 0;
    if (!what_.remember) return handed{{number, 0, 1}, told, now, of};
    auto const at = hidden_.add({.number = number, .due = told, .first_received = now, .group = of});
    return hand_out(at, visibility, now);
}

fate queue::remove(ticket const& which, micros& due)
{
    due = 0;
    if (!what_.remember) return fate::done;
    if (!hidden_.holds(which)) {
        bool const given = is_fifo() ? which.number / groups_.size() < groups_[which.number % groups_.size()].taken
                                     : which.number < next_number_;
        return given ? fate::repeated : fate::unknown;
    }
    auto& one = hidden_[which.slot];
    if (which.receives > one.receives) return fate::unknown;
    if (which.receives < one.receives) return fate::stale;
    due = one.due;
    auto const of = one.group;
    bool const was_hidden = one.row >= 0;
    if (is_fifo() && !was_hidden) groups_[of].returned.erase({one.number, which.slot});
    if (!is_fifo() && !was_hidden) std::erase(returned_, which.slot); // rare
    hidden_.forget(which.slot);
    if (was_hidden) unhidden(of);
    return fate::done;
}

fate queue::change(ticket const& which, micros visibility, micros now)
{
    if (!what_.remember) return fate::done;
    if (!hidden_.holds(which)) return fate::unknown;
    auto& one = hidden_[which.slot];
    if (which.receives != one.receives || one.row < 0) return fate::stale;
    if (visibility > 0) {
        hidden_.hide(which.slot, visibility, now);
        return fate::done;
    }
    came_back(which.slot);
    return fate::done;
}

std::size_t queue::expire(micros now)
{
    std::size_t many = 0;
    for (auto first = hidden_.first(); first && hidden_[*first].hidden_until <= now; first = hidden_.first()) {
        came_back(*first);
        ++many;
    }
    return many;
}

void queue::came_back(std::uint32_t at)
{
    hidden_.show(at);
    auto const of = hidden_[at].group;
    if (is_fifo())
        groups_[of].returned.emplace(hidden_[at].number, at);
    else
        returned_.push_back(at);
    unhidden(of);
}

void queue::unhidden(std::uint32_t of)
{
    if (!is_fifo()) return;
    auto& from = groups_[of];
    if (--from.hidden > 0 || from.ready) return;
    from.ready = true;
    ready_.push_back(of);
}

std::optional<micros> queue::next(micros now) const
{
    std::optional<micros> out;
    auto const sooner = [&](std::optional<micros> at) {
        if (at && (!out || *at < *out)) out = at;
    };
    if (!is_fifo()) sooner(arrivals_.next(now));
    if (!returned_.empty() || !ready_.empty()) sooner(now);
    if (auto const first = hidden_.first()) sooner(hidden_[*first].hidden_until);
    return out;
}

micros queue::behind(micros now) const
{
    auto const due = arrivals_.next(now);
    return due && *due < now ? now - *due : 0;
}

} // namespace yardstick
