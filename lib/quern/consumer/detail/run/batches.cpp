#include <quern/consumer/detail/run/batches.hpp>

#include <algorithm>
#include <utility>

namespace quern::detail {

void batches::add(held_ptr h, tick now, bool hurries)
{
    gathered_.push_back({std::move(h), hurries ? now : now + window_});
    waiting_bytes_ += bytes_of(gathered_.back());
}

std::vector<held_ptr> batches::take_lost()
{
    return take_if([](held const& h) { return !h.life.is(message_life::state::gathering); });
}

std::vector<held_ptr> batches::take(tick now, bool no_more)
{
    std::vector<held_ptr> out;
    if (gathered_.empty() || (!is_full() && !no_more && *wake_at() > now)) return out;
    for (std::size_t taken = 0; out.size() < size_ && !gathered_.empty(); gathered_.pop_front()) {
        auto const bytes = bytes_of(gathered_.front());
        if (bytes_ != 0 && !out.empty() && taken + bytes > bytes_) break;
        taken += bytes;
        waiting_bytes_ -= bytes;
        out.push_back(std::move(gathered_.front().what));
    }
    return out;
}

std::optional<tick> batches::wake_at() const
{
    if (gathered_.empty()) return {};
    return std::ranges::min(gathered_, {}, &entry::due).due;
}

} // namespace quern::detail
