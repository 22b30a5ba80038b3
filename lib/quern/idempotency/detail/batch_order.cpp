#include <quern/idempotency/detail/batch_order.hpp>

#include <utility>

namespace quern::idempotency::detail {

void batch_order::put(std::size_t which, place to)
{
    auto const count = [this](place at, std::size_t by) {
        if (at == place::asking) asking_ += by;
        if (at == place::ready) ready_ += by;
        if (at == place::running) running_ += by;
        if (at == place::ended) ended_ += by;
        if (is_active(at)) active_ += by;
    };
    count(std::exchange(all_[which].at, to), std::size_t(-1));
    count(to, 1);
}

bool batch_order::lines_up(std::size_t which, std::string const& key)
{
    auto const [it, is_first] = last_of_.try_emplace(key, which);
    auto const before = std::exchange(it->second, which);
    if (is_first || all_[before].at == place::ended) return true;
    all_[before].follower = which;
    put(which, place::following);
    return false;
}

std::vector<std::size_t> batch_order::those(place at) const
{
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < all_.size(); ++i)
        if (all_[i].at == at) out.push_back(i);
    return out;
}

std::vector<std::size_t> batch_order::begin_round()
{
    if (asking_ != 0 || running_ != 0 || ready_ == 0) return {};
    auto const out = those(place::ready);
    for (auto const one : out)
        put(one, place::running);
    return out;
}

void batch_order::end_round()
{
    for (auto const one : those(place::running))
        put(one, place::settling);
}

std::optional<std::size_t> batch_order::end(std::size_t which)
{
    put(which, place::ended);
    auto const next = all_[which].follower;
    if (!next || all_[*next].at != place::following) return {};
    put(*next, place::asking);
    return next;
}

std::vector<std::size_t> batch_order::overstaying()
{
    if (ended_ == 0 || active_ != 0) return {};
    auto out = those(place::waiting);
    std::erase_if(out, [this](std::size_t which) { return std::exchange(all_[which].named, true); });
    return out;
}

} // namespace quern::idempotency::detail
