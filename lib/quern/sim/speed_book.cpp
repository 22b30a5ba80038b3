#include <quern/sim/speed_book.hpp>

#include <cmath>
#include <cstdio>

namespace quern::sim {

using std::chrono::milliseconds;

namespace {

double a_second(std::size_t count, milliseconds length)
{
    return static_cast<double>(count) / std::chrono::duration<double>(length).count();
}

} // namespace

speed_book::speed_book(std::vector<speed_promise> promises)
{
    for (auto& one : promises)
        entries_.push_back({std::move(one)});
}

void speed_book::ended(int tenant, tick now)
{
    auto const within = [now](milliseconds from, milliseconds until) {
        return now >= tick() + from && now < tick() + until;
    };
    for (auto& e : entries_) {
        auto const& p = e.promise;
        if ((p.of_tenants >> tenant & 1) == 0) continue;
        if (within(p.usual_from, p.usual_until)) ++e.usual;
        if (within(p.from, p.until)) ++e.then;
    }
}

std::vector<std::string> speed_book::broken() const
{
    std::vector<std::string> out;
    for (auto const& [p, usual, then] : entries_) {
        auto const before = a_second(usual, p.usual_until - p.usual_from), after = a_second(then, p.until - p.from);
        // Both are counts of what comes by chance: two standard deviations of their difference break no promise.
        auto const scale = p.share * a_second(1, p.usual_until - p.usual_from) / a_second(1, p.until - p.from);
        auto const chance = 2 * std::sqrt(static_cast<double>(then) + scale * scale * static_cast<double>(usual));
        if (static_cast<double>(then) + chance >= scale * static_cast<double>(usual)) continue;
        char text[160];
        std::snprintf(text, sizeof text,
            ": at least %ld %% of the usual %.2f tries a second; from %.0f s to %.0f s there are %.2f",
            std::lround(100 * p.share), before, std::chrono::duration<double>(p.from).count(),
            std::chrono::duration<double>(p.until).count(), after);
        out.push_back("promised " + p.when + text);
    }
    return out;
}

} // namespace quern::sim
