#include <quern/sim/detail/healthy.hpp>

#include <quern/sim/detail/part.hpp>

#include <algorithm>
#include <cstdio>

namespace quern::sim::detail {

using namespace std::chrono_literals;
using times = std::map<int, tick>;
using seconds = std::chrono::duration<double>;

namespace {

constexpr std::size_t together = 20;                // messages, one sent after the other, are judged together
constexpr tick::duration late = 5s;                 // and may be so much later in any case: receives differ
constexpr auto noticed = 1min, all_noticed = 10min; // after an outage of its tenant, who is healthy then
constexpr tick::duration never = 1000h;

tick when(int number, times const& handled)
{
    auto const at = handled.find(number);
    return at == handled.end() ? tick() + never : at->second;
}

tick sent(scenario const& day, int number)
{
    return tick() + sent_at(day, number);
}

bool is_healthy(scenario const& day, int number, tick until)
{
    auto const after = day.groups > 0 || day.keyed ? all_noticed : noticed;
    return std::ranges::none_of(day.spells, [&](spell const& s) {
        auto const overlaps = tick() + s.from <= until && tick() + s.until + after > sent(day, number);
        return overlaps && covers(s, tenant_of(day, number));
    });
}

/// The time that it takes to pass the longest row of ill messages, slowly: a false alarm ends with the first healthy
/// one. What failed in one process is news to each of the others. There is none where the messages of tenants are
/// told apart.
tick::duration false_alarm(scenario const& day, spell const& s, times const& without)
{
    if (day.keyed) return {};
    int longest = 0, row = 0;
    for (int i = 0; i < day.messages && sent(day, i) < tick() + s.until; ++i) {
        if (when(i, without) < tick() + s.from) continue;
        row = covers(s, tenant_of(day, i)) ? row + 1 : 0;
        longest = std::max(longest, row);
    }
    auto evenly = day.messages;
    for (auto const& p : day.piles)
        evenly -= p.messages;
    auto const usual = evenly / seconds(day.sent_within).count();
    auto const seen = std::min(1.0, seconds(s.from).count() / 10); // the first moments count as ten seconds
    auto const slow =
        std::max(policy::breaker_options().share * usual * seen, std::min<double>(usual, day.processes));
    return std::chrono::duration_cast<tick::duration>(seconds(longest * day.processes / slow));
}

/// Messages that were sent one after the other.
struct party {
    std::vector<int> numbers;

    std::vector<tick> in_order(times const& handled) const
    {
        std::vector<tick> out;
        for (auto const n : numbers)
            out.push_back(when(n, handled));
        std::ranges::sort(out);
        return out;
    }

    /// Nine tenths of any number of them are handled so much later, at the most.
    tick::duration behind(times const& without, times const& with) const
    {
        auto const before = in_order(without), now = in_order(with);
        tick::duration out{};
        for (std::size_t i = 1; i < before.size(); ++i)
            out = std::max(out, now[(i + 1) * 9 / 10 - 1] - before[i]);
        return out;
    }
};

std::string told(std::string const& what, tick::duration is, tick::duration most)
{
    char text[80];
    std::snprintf(text, sizeof text, " %.1f s; promised: %.1f s at most", seconds(is).count(), seconds(most).count());
    return "beside the day without a breaker, " + what + text;
}

} // namespace

std::vector<std::string> worse_for_the_healthy(scenario const& day, times const& without, times const& with)
{
    std::vector<std::string> out;
    std::vector<tick::duration> alarms{{}};
    for (auto const& outage : day.spells)
        alarms.push_back(false_alarm(day, outage, without));
    auto const longest = *std::ranges::max_element(alarms);
    tick::duration alarm{}, excused{}, spent{};
    std::size_t outages = 0; // that have begun
    party these;
    for (auto const& [number, at] : without) {
        if (is_healthy(day, number, at + late + longest)) these.numbers.push_back(number);
        if (these.numbers.size() < together) continue;
        auto const from = these.numbers.front(), to = these.numbers.back();
        while (outages < day.spells.size() && tick() + day.spells[outages].from <= when(to, with)) {
            auto const one = alarms[++outages];
            alarm = std::max(alarm, one);
            excused += 2 * one; // it, and what it left lying
        }
        auto const behind = these.behind(without, with);
        if (behind > late + alarm)
            out.push_back(
                told("healthy messages " + std::to_string(from) + " to " + std::to_string(to) + " are late by",
                    behind, late + alarm));
        if (behind > late) spent += sent(day, to) - sent(day, from);
        these.numbers.clear();
    }
    if (spent > excused) out.push_back(told("healthy messages are late that were sent within", spent, excused));
    return out;
}

} // namespace quern::sim::detail
