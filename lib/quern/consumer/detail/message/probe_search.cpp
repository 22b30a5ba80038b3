#include <quern/consumer/detail/message/probe_search.hpp>

#include <algorithm>
#include <utility>

namespace quern::detail {

void probe_search::half_opens(tick now, bool one_probe_decides, std::size_t waiting)
{
    one_decides_ = one_probe_decides;
    quiet_since_ = now;
    too_early_ = 0;
    auto const turns = waiting < most_to_wait || !was_dear_ ? turns_to_a_search : turns_where_enough_wait;
    tries_again_ = is_hopeless() && ++turns_ % turns == 0;
    searches_ = tries_again_ || !is_hopeless();
}

void probe_search::begins(std::uint64_t who)
{
    barren_ = found_down_.contains(who);
    if (!barren_) turn_ = turn_of_others;
    if (!std::exchange(tries_again_, false)) return;
    was_dear_ = !barren_ || too_early_ != 0;
    turn_ = was_dear_ ? turn_of_others : std::min(2 * turn_, longest_turn);
}

void probe_search::ended(tick now)
{
    quiet_since_ = now;
    searches_ = true; // if one is not enough, the next is another
}

void probe_search::all_is_well(tick now)
{
    if (!found_down_.empty() && now - last_found_down_ > longest_memory) forget();
}

void probe_search::found_down(std::uint64_t who, bool as_probe, tick now)
{
    last_found_down_ = now;
    if (found_down_.size() >= most_remembered && !found_down_.contains(who)) forget();
    auto const [at, is_new] = found_down_.emplace(who, as_probe);
    at->second |= as_probe;
    if (as_probe && is_new) ++in_vain_;
}

tick probe_search::turn_of(std::uint64_t who, bool found_down) const
{
    auto const at = found_down_.find(who);
    auto const is_known = at != found_down_.end();
    if (!is_known && !found_down) return tick::min();
    if (!searches_) return quiet_since_;
    return quiet_since_ + (is_known && at->second ? turn_ : turn_of_fresh);
}

bool probe_search::rests(tick now) const
{
    return one_decides_ && too_early_ >= (searches_ ? most_too_early : 1) && now < rests_until();
}

} // namespace quern::detail
