#include <quern/consumer/detail/gate/waiting_room.hpp>

#include <vector>

namespace quern::detail {

std::optional<waiting_room::guest> waiting_room::add(guest one)
{
    std::optional<guest> gives_way;
    if (guests_.contains(one.number)) take(one.number); // its lease was lost meanwhile
    if (guests_.size() >= places_) {
        auto const most = by_left_.empty() ? by_left_.end() : by_left_.lower_bound({by_left_.rbegin()->first, 0});
        auto const left = most == by_left_.end() ? -1 : most->first;
        if (left <= one.receives_left) return one; // else none would be here until it is due
        gives_way = take(most->second);
    }
    near_last_receive_ += is_near_last_receive(one.receives_left);
    by_due_.emplace(one.due, one.number);
    by_left_.emplace(one.receives_left, one.number);
    guests_.insert_or_assign(one.number, std::move(one));
    return gives_way;
}

waiting_room::guest waiting_room::take(std::uint64_t number)
{
    auto const at = guests_.find(number);
    auto out = std::move(at->second);
    guests_.erase(at);
    by_due_.erase({out.due, number});
    by_left_.erase({out.receives_left, number});
    near_last_receive_ -= is_near_last_receive(out.receives_left);
    return out;
}

void waiting_room::put_off(std::uint64_t number, tick due)
{
    auto& one = guests_.at(number);
    by_due_.erase({one.due, number});
    one.due = due;
    by_due_.emplace(due, number);
}

void waiting_room::hurry(std::string const* key, tick now)
{
    std::vector<std::uint64_t> wanted;
    for (auto const& [number, one] : guests_)
        if (one.due > now && (!key || one.key == *key)) wanted.push_back(number);
    for (auto const number : wanted)
        put_off(number, now);
}

} // namespace quern::detail
