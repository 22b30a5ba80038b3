#include <quern/telemetry/span.hpp>

#include <algorithm>
#include <iterator>

namespace quern::telemetry {

bool span_buffer::add(span what)
{
    if (spans_.size() >= room_) {
        ++dropped_;
        return false;
    }
    spans_.push_back(std::move(what));
    return true;
}

std::vector<span> span_buffer::take(std::size_t most)
{
    auto const end = spans_.begin() + static_cast<std::ptrdiff_t>(std::min(most, spans_.size()));
    std::vector<span> out(std::make_move_iterator(spans_.begin()), std::make_move_iterator(end));
    spans_.erase(spans_.begin(), end);
    return out;
}

} // namespace quern::telemetry
