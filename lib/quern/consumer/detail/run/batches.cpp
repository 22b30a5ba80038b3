#include <quern/consumer/detail/run/batches.hpp>

#include <algorithm>
#include <deque>
#include <utility>

namespace quern::detail {

void batches::add(held_ptr h, tick now, bool hurries)
{
    line_.push_back({std::move(h), hurries ? now : now + window_});
    waiting_bytes_ += bytes_of(line_.back());
}

std::vector<held_ptr> batches::take_lost()
{
    return take_if([](held const& h) { return !h.life.is(message_life::state::gathering); });
}

std::vector<held_ptr> batches::take(tick now, bool no_more)
{
    std::vector<held_ptr> out;
    if (line_.empty() || (!is_full() && !no_more && *wake_at() > now)) return out;
    for (std::size_t taken = 0; out.size() < size_ && !line_.empty(); line_.pop_front()) {
        auto const bytes = bytes_of(line_.front());
        if (bytes_ != 0 && !out.empty() && taken + bytes > bytes_) break;
        taken += bytes;
        waiting_bytes_ -= bytes;
        out.push_back(std::move(line_.front().what));
    }
    return out;
}

std::vector<held_ptr> batches::take_waiting()
{
    return take_if([](held const&) { return true; });
}

std::optional<tick> batches::wake_at() const
{
    if (line_.empty()) return {};
    return std::ranges::min(line_, {}, &entry::due).due;
}

} // namespace quern::detail
