#include <quern/consumer/detail/byte_limit.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace quern::detail {

std::size_t bytes_of(sqs::message const& m)
{
    auto out =
        m.id.size() + m.receipt_handle.size() + m.body.size() + m.md5_of_body.size() + m.md5_of_attributes.size();
    for (auto const& a : m.attributes)
        out += a.name.size() + a.data_type.size() + a.value.size();
    for (auto const& a : m.system_attributes)
        out += a.name.size() + a.value.size();
    return out;
}

std::size_t byte_limit::room(std::size_t held_bytes, std::size_t coming) const
{
    if (!most_) return std::numeric_limits<std::size_t>::max();
    auto const taken = held_bytes + coming * expected_;
    if (taken == 0) return std::max<std::size_t>(*most_ / expected_, 1);
    return taken < *most_ ? (*most_ - taken) / expected_ : 0;
}

void byte_limit::seen(std::size_t largest)
{
    largest = std::max<std::size_t>(largest, 1);
    if (!std::exchange(seen_any_, true) || largest >= expected_)
        expected_ = largest;
    else
        expected_ -= (expected_ - largest) / 8;
}

} // namespace quern::detail
