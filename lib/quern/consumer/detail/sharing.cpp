#include <quern/consumer/detail/sharing.hpp>

#include <algorithm>
#include <numeric>

namespace quern::detail {

namespace {

constexpr std::size_t one_receive = 10;

std::size_t sum(limits_of_all const& of)
{
    return std::reduce(of.begin(), of.end());
}

/// Gives `left` to those who demand more than they have, by weight; what one does not need goes to the others.
void pour(std::size_t left, std::vector<sharer> const& who, limits_of_all const& demands, limits_of_all& have)
{
    for (bool whole = true; left != 0;) {
        std::size_t weights = 0;
        for (std::size_t i = 0; i < who.size(); ++i)
            if (have[i] < demands[i]) weights += who[i].weight;
        if (weights == 0) return;
        auto const round = left;
        for (std::size_t i = 0; i < who.size(); ++i) {
            if (have[i] >= demands[i]) continue;
            auto const part = whole ? round * who[i].weight / weights : std::min<std::size_t>(left, 1);
            auto const got = std::min(part, demands[i] - have[i]);
            have[i] += got;
            left -= got;
        }
        whole = left != round; // else there is less than one each by weight
    }
}

/// One each, then by weight.
limits_of_all shares(std::size_t all, std::vector<sharer> const& who, limits_of_all const& demands)
{
    limits_of_all out(who.size(), 1);
    pour(all - std::min(all, out.size()), who, demands, out);
    return out;
}

limits_of_all highest(std::vector<sharer> const& who)
{
    limits_of_all out;
    for (auto const& s : who)
        out.push_back(s.ending ? std::min(s.in_flight, s.most) : s.most);
    return out;
}

/// Places for a receive that is worth it, of so many.
std::size_t worth_it(std::size_t places)
{
    return std::clamp<std::size_t>(places / 4, 1, one_receive);
}

/// A receive that is worth it finds no place.
bool is_full(sharer const& s)
{
    return !s.ending && s.limit < s.most && s.in_flight + worth_it(s.limit) > s.limit;
}

} // namespace

limits_of_all fair_shares(std::size_t all, std::vector<sharer> const& who)
{
    return shares(all, who, highest(who));
}

/// Messages that are coming do not count: long polls of a queue that has just run empty may reserve all it has, and
/// bring nothing.
limits_of_all wanted_limits(std::size_t all, std::vector<sharer> const& who)
{
    auto const fair = fair_shares(all, who);
    limits_of_all now;
    bool fits = true; // into the fair shares, all that there is
    for (std::size_t i = 0; i < who.size(); ++i) {
        now.push_back(who[i].limit);
        fits = fits && who[i].in_flight + who[i].coming <= fair[i];
    }
    if (fits && std::ranges::none_of(who, is_full)) return fair;
    if (sum(now) <= all && std::ranges::none_of(who, is_full)) return now;

    auto demands = highest(who);
    for (std::size_t i = 0; i < who.size(); ++i)
        if (!is_full(who[i])) demands[i] = std::min(demands[i], who[i].in_flight + worth_it(fair[i]));
    return shares(all, who, demands);
}

limits_of_all next_limits(std::size_t all, std::vector<sharer> const& who, limits_of_all const& wanted)
{
    limits_of_all taken, out;
    for (std::size_t i = 0; i < who.size(); ++i) {
        out.push_back(std::min(who[i].limit, wanted[i]));
        taken.push_back(std::max(out[i], who[i].in_flight + who[i].coming));
    }
    auto const free = all - std::min(all, sum(taken));
    auto const before = taken;
    pour(free, who, wanted, taken);
    for (std::size_t i = 0; i < who.size(); ++i)
        if (wanted[i] > out[i]) out[i] = std::min(wanted[i], std::max(before[i], taken[i]));
    return out;
}

} // namespace quern::detail
