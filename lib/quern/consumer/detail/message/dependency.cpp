#include <quern/consumer/detail/message/dependency.hpp>

#include <quern/consumer/detail/message/held.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace quern::detail {

dependency::dependency(std::string what, policy::breaker_options const& options, std::uint64_t seed)
    : name(std::move(what)), breaker(options, seed)
{}

dependency::~dependency() = default;

dependency_table::dependency_table(policy::breaker_options options, std::size_t most, std::uint64_t seed)
    : options_(std::move(options)), full_speed_(options_.full_speed), most_(most), seed_(seed)
{}

dependency_ptr dependency_table::make(std::string_view name)
{
    return dependency_ptr(new dependency(std::string(name), options_, seed_++));
}

dependency_ptr dependency_table::of(std::string_view name)
{
    if (auto const known = by_name_.find(name); known != by_name_.end()) {
        by_use_.splice(by_use_.begin(), by_use_, known->second);
        return *known->second;
    }
    if (by_use_.size() >= most_ && !make_room()) {
        if (!rest_) rest_ = make("(others)");
        return rest_;
    }
    by_use_.push_front(make(name));
    by_name_.emplace(by_use_.front()->name, by_use_.begin());
    return by_use_.front();
}

dependency_ptr dependency_table::of_message(std::string_view name)
{
    auto out = of(name);
    if (!std::exchange(out->has_messages, true)) ++serving_;
    return out;
}

void dependency_table::limit_full_speed(std::size_t most)
{
    options_.full_speed = std::min(full_speed_, most);
    for_each([&](dependency& one) { one.breaker.set_full_speed(options_.full_speed); });
}

bool dependency_table::make_room()
{
    for (auto at = by_use_.end(); at != by_use_.begin();) {
        --at;
        auto const& one = **at;
        if (one.seen != dependency::phase::closed || one.use_count() != 1) continue;
        ages_of_gone_.add(one.ages);
        forget(one);
        return true;
    }
    return false;
}

bool dependency_table::knows(dependency const& one) const
{
    auto const at = by_name_.find(one.name);
    return at != by_name_.end() && at->second->get() == &one;
}

bool dependency_table::forget_unused(dependency const& one)
{
    if (!knows(one) || one.use_count() != 2) return false;
    forget(one);
    return true;
}

void dependency_table::keep_ages(dependency const& one)
{
    if (!knows(one) && &one != rest_.get()) ages_of_gone_.add(one.ages);
}

void dependency_table::forget(dependency const& one)
{
    if (one.has_messages) --serving_;
    auto const at = by_name_.find(one.name);
    auto const place = at->second;
    by_name_.erase(at); // before the name that it views
    by_use_.erase(place);
}

} // namespace quern::detail
