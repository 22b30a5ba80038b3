#include <quern/consumer/detail/conclude/ages.hpp>

#include <functional>
#include <string_view>

namespace quern::detail {

/// A head that is put off holds up its group, which grows no older by that either.
std::uint64_t ages::owner(held const& h) const
{
    return std::hash<std::string_view>()(context_.fifo ? h.message.group() : h.message.id());
}

void ages::stand_back(bool on)
{
    if (!wanted_) return;
    if (on)
        all_.begin(service_time());
    else
        all_.end(service_time());
}

void ages::put_off(held const& h, std::chrono::milliseconds delay)
{
    if (!wanted_) return;
    auto const time = service_time();
    each_.of(owner(h), time).add(time, time + delay);
}

void ages::waited(held const& h, tick since)
{
    if (!wanted_) return;
    auto const time = service_time();
    each_.of(owner(h), time).add(time - (context_.now() - since), time);
}

std::chrono::milliseconds ages::of(held const& h)
{
    if (!wanted_) return {};
    auto const time = service_time();
    auto const first = h.message.first_received_at().value_or(time);
    auto const not_tried = age_book::stood_back(first, time, {&all_, &each_.known(owner(h))});
    return std::chrono::floor<std::chrono::milliseconds>(time - first) - not_tried;
}

} // namespace quern::detail
