#include <quern/consumer/detail/dispatch/batches.hpp>

#include <algorithm>
#include <deque>
#include <utility>

namespace quern {

void batches::add(held_ptr h, tick now, bool hurries)
{
    h->at = held::stage::gathering;
    line_.push_back({std::move(h), hurries ? now : now + window_});
}

/// Those whose lease has run out have left without a word.
void batches::forget_lost()
{
    std::erase_if(line_, [](entry const& e) { return e.what->at != held::stage::gathering; });
}

std::vector<held_ptr> batches::take(tick now, bool no_more)
{
    forget_lost();
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
    forget_lost();
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

} // namespace quern
