#include <quern/consumer/detail/dispatch/batches.hpp>

#include <algorithm>
#include <deque>
#include <utility>

namespace quern::detail {

void batches::add(held_ptr h, tick now, bool hurries)
{
    line_.push_back({std::move(h), hurries ? now : now + window_});
}

std::vector<held_ptr> batches::take_lost()
{
    return take_if([](held const& h) { return !h.life.is(message_life::state::gathering); });
}

std::vector<held_ptr> batches::take(tick now, bool no_more)
{
    std::vector<held_ptr> out;
    if (line_.empty() || (line_.size() < size_ && !no_more && *wake_at() > now)) return out;
    while (out.size() < size_ && !line_.empty()) {
        out.push_back(std::move(line_.front().what));
        line_.pop_front();
    }
    return out;
}

std::vector<held_ptr> batches::take_waiting()
{
    std::vector<held_ptr> out;
    for (auto& e : std::exchange(line_, {}))
        out.push_back(std::move(e.what));
    return out;
}

std::optional<tick> batches::wake_at() const
{
    if (line_.empty()) return {};
    return std::ranges::min(line_, {}, &entry::due).due;
}

} // namespace quern::detail
