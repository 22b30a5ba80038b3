#include <quern/sim/guide.hpp>

#include <algorithm>

namespace quern::sim {

guide::guide(std::size_t scenarios, std::uint64_t seed)
    : random_(seed), arms_(scenarios), reached_(coverage::places().size())
{}

double guide::worth(arm const& of) const
{
    if (of.days == 0) return 0; // its first day is under way
    double sum = 0;
    for (auto const& [place, days] : of.reached)
        sum += static_cast<double>(days) / reached_[place];
    return sum / static_cast<double>(of.days);
}

std::size_t guide::next()
{
    auto const fresh = std::ranges::find(arms_, std::size_t(0), &arm::begun);
    auto chosen = static_cast<std::size_t>(fresh - arms_.begin());
    if (fresh == arms_.end()) {
        std::vector<double> chances;
        for (auto const& one : arms_)
            chances.push_back(worth(one));
        std::uniform_int_distribution<std::size_t> any(0, arms_.size() - 1);
        auto const blindly = any(random_) % 10 == 0 || std::ranges::max(chances) <= 0;
        chosen =
            blindly ? any(random_) : std::discrete_distribution<std::size_t>(chances.begin(), chances.end())(random_);
    }
    ++arms_[chosen].begun;
    return chosen;
}

void guide::learn(std::size_t scenario, coverage const& of_its_day)
{
    auto& its = arms_[scenario];
    ++its.days;
    for (std::size_t place = 0; place < reached_.size(); ++place) {
        if (of_its_day.times(place) == 0) continue;
        ++reached_[place];
        ++its.reached[place];
    }
}

} // namespace quern::sim
