#include <quern/redrive/detail/held_messages.hpp>

#include <quern/sqs/limits.hpp>

#include <algorithm>

namespace quern::redrive::detail {

std::chrono::seconds held_messages::lease(tick now) const
{
    using std::chrono::seconds;
    auto const by_number = seconds(all_.size() * 15 / 1'000); // two thirds of it at a hundred a second
    return std::clamp(began_ ? std::chrono::duration_cast<seconds>(now - *began_) : by_number, shortest, longest);
}

void held_messages::set(std::string const& id, entry& one, tick asked_at, std::chrono::seconds lease)
{
    turns_.erase({one.extend_at, id});
    one.until = asked_at + lease;
    one.extend_at = asked_at + std::chrono::milliseconds(lease) * 2 / 3;
    turns_.emplace(one.extend_at, id);
}

void held_messages::received(std::string id, std::string handle, tick asked_at, std::chrono::seconds lease)
{
    auto& one = all_[id];
    one.handle = std::move(handle);
    set(id, one, asked_at, lease);
}

std::vector<held_messages::held> held_messages::due(tick now) const
{
    std::vector<held> out;
    if (turns_.empty() || turns_.begin()->first > now) return out;
    for (auto turn = turns_.begin(); turn != turns_.end() && out.size() < sqs::max_batch_entries; ++turn)
        out.push_back({turn->second, all_.at(turn->second).handle});
    return out;
}

void held_messages::extended(std::string const& id, tick asked_at, std::chrono::seconds lease)
{
    if (auto const at = all_.find(id); at != all_.end()) set(id, at->second, asked_at, lease);
}

void held_messages::not_extended(std::string const& id)
{
    if (auto const at = all_.find(id); at != all_.end()) turns_.erase({at->second.extend_at, id});
}

void held_messages::forget(std::string const& id)
{
    auto const at = all_.find(id);
    if (at == all_.end()) return;
    turns_.erase({at->second.extend_at, id});
    all_.erase(at);
}

std::vector<std::string> held_messages::handles(tick now) const
{
    std::vector<std::string> out;
    for (auto const& [id, one] : all_)
        if (one.until > now) out.push_back(one.handle);
    return out;
}

} // namespace quern::redrive::detail
