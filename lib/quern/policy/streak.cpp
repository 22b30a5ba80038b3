#include <quern/policy/streak.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace quern::policy {

void streak::bad(std::uint64_t who)
{
    ++length_;
    if (who_.size() < most_different && std::ranges::find(who_, who) == who_.end()) who_.push_back(who);
}

namespace {

constexpr int memory = 64;
constexpr std::size_t all_there_is_to_learn = 1'000; // then usual_ is 1 to the last digit that matters

} // namespace

void streak::good()
{
    for (auto i = std::min(length_, all_there_is_to_learn); i != 0; --i)
        learn(1);
    learn(0);
    forget();
}

/// (With little weight, even where there is little news: whether it was ordinary is a guess.)
void streak::recall(std::size_t length)
{
    for (auto i = std::min(length, all_there_is_to_learn); i != 0; --i)
        usual_ += (1 - usual_) / memory;
}

void streak::forget()
{
    length_ = 0;
    who_.clear();
}

std::size_t streak::needed(double probability) const
{
    if (usual_ <= 0) return 1;
    auto const news = std::ceil(std::log(probability) / std::log(usual_));
    constexpr auto most = std::numeric_limits<std::size_t>::max() / 2;
    return news < static_cast<double>(most) ? std::max<std::size_t>(1, static_cast<std::size_t>(news)) : most;
}

void streak::learn(double news)
{
    seen_ =
        std::min(seen_ + 1, memory); // at first the plain average, so that the first news weigh no more than others
    usual_ += (news - usual_) / seen_;
}

} // namespace quern::policy
