#include <quern/sim/speed_book.hpp>

#include <cmath>
#include <cstdio>

namespace quern::sim {

using std::chrono::milliseconds;

namespace {

double seconds(tick::duration d)
{
    return std::chrono::duration<double>(d).count();
}

double a_second(std::size_t count, milliseconds length)
{
    return static_cast<double>(count) / seconds(length);
}

} // namespace

speed_book::speed_book(std::vector<speed_promise> promises)
{
    for (auto& one : promises)
        entries_.push_back({std::move(one)});
}

void speed_book::ended(int tenant, tick::duration took, tick now)
{
    auto const within = [now](milliseconds from, milliseconds until) {
        return now >= tick() + from && now < tick() + until;
    };
    for (auto& e : entries_) {
        auto const& p = e.promise;
        if ((p.of_tenants >> tenant & 1) == 0) continue;
        if (within(p.usual_from, p.usual_until)) ++e.usual;
        if (!within(p.from, p.until)) continue;
        ++e.then;
        e.took += took;
    }
}

std::vector<std::string> speed_book::broken() const
{
    std::vector<std::string> out;
    char text[200];
    auto const say = [&](speed_promise const& p, auto... format_and_values) {
        std::snprintf(text, sizeof text, format_and_values...);
        out.push_back("promised " + p.when + text);
    };
    for (auto const& [p, usual, then, took] : entries_) {
        auto const length = p.until - p.from;
        auto const known = p.usual != 0;
        auto const before = known ? p.usual : a_second(usual, p.usual_until - p.usual_from);
        // Both are counts of what comes by chance: two standard deviations of their difference break no promise.
        auto const scale = p.share * a_second(1, p.usual_until - p.usual_from) / a_second(1, length);
        auto const varies = known ? 0 : scale * scale * static_cast<double>(usual);
        auto const chance = 2 * std::sqrt(static_cast<double>(then) + varies);
        auto const from = seconds(p.from), until = seconds(p.until);
        if (static_cast<double>(then) + chance < p.share * before * seconds(length)) {
            say(p, ": at least %ld %% of the usual %.2f tries a second; from %.0f s to %.0f s there are %.2f",
                std::lround(100 * p.share), before, from, until, a_second(then, length));
        }
        auto const mean = then == 0 ? 0 : seconds(took) / static_cast<double>(then);
        if (p.longest_mean.count() != 0 && mean > seconds(p.longest_mean)) {
            say(p, ": a try takes %.2f s at most in the mean; from %.0f s to %.0f s it takes %.2f s",
                seconds(p.longest_mean), from, until, mean);
        }
    }
    return out;
}

} // namespace quern::sim
