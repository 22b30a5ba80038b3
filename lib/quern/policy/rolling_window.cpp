#include <quern/policy/rolling_window.hpp>

#include <algorithm>

namespace quern::policy {

void rolling_window::add(counts more, tick now)
{
    move_on(now);
    for (auto* const to : {&buckets_[current_], &total_}) {
        to->calls += more.calls;
        to->failures += more.failures;
    }
}

rolling_window::counts rolling_window::total(tick now)
{
    move_on(now);
    return total_;
}

void rolling_window::clear()
{
    std::fill(buckets_.begin(), buckets_.end(), counts{});
    total_ = {};
}

void rolling_window::move_on(tick now)
{
    if (now < current_began_ + width_) return;
    auto const passed = (now - current_began_) / width_;
    current_began_ += passed * width_;
    if (passed >= static_cast<tick::rep>(buckets_.size())) return clear();
    for (auto i = passed; i != 0; --i) {
        current_ = (current_ + 1) % buckets_.size();
        auto& oldest = buckets_[current_];
        total_.calls -= oldest.calls;
        total_.failures -= oldest.failures;
        oldest = {};
    }
}

} // namespace quern::policy
