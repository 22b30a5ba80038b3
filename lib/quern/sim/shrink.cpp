#include <quern/sim/shrink.hpp>

#include <quern/sim/detail/day_text.hpp>

#include <algorithm>
#include <cctype>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace quern::sim {

namespace {

/// Each queue has a consumer, each pile its messages, each incident its process, and chances do not exceed one.
bool is_whole(scenario const& day)
{
    int piled = 0;
    for (auto const& p : day.piles)
        piled += p.messages;
    auto const has_process = [&](incident const& i) { return i.process < day.processes; };
    auto const is_possible = [](spell const& s) { return !s.faults.validate(); };
    return day.queues <= day.processes * day.together && piled <= day.messages &&
        std::ranges::all_of(day.incidents, has_process) && std::ranges::all_of(day.spells, is_possible);
}

/// Tries smaller days one after the other, in place.
class shrinking {
public:
    shrinking(scenario& day, std::function<bool(scenario const&)> const& fails, std::size_t most)
        : day_(day), fails_(fails), most_(most)
    {}

    /// True when something went.
    bool round()
    {
        smaller_ = false;
        cut(day_.incidents);
        cut(day_.spells);
        cut(day_.piles);
        while (!day_.versions.empty() && shorten(day_.versions)) {
        }
        for (auto& one : day_.incidents)
            ease(one);
        for (auto& one : day_.spells)
            clear(one);
        detail::each_field(day_, [this](char const*, auto& field, auto const& simplest) { lower(field, simplest); });
        return smaller_ && runs_ < most_;
    }

    /// Tries a few messages with other seeds: the seed and its number say what a message meets, so one of the first
    /// may meet what only the last has met so far. True when that did.
    bool draw_anew()
    {
        constexpr int few = 5;
        constexpr std::uint64_t seeds = 40;
        for (int messages = 1; messages <= few && messages < day_.messages; ++messages) {
            for (std::uint64_t seed = 1; seed <= seeds && runs_ < most_; ++seed) {
                auto const before = day_;
                day_.messages = messages;
                day_.seed = seed;
                if (still_fails()) return true;
                day_ = before;
            }
        }
        return false;
    }

    std::size_t runs() const { return runs_; }

private:
    bool still_fails()
    {
        if (runs_ >= most_ || !is_whole(day_)) return false;
        ++runs_;
        try {
            return fails_(day_);
        } catch (std::exception const&) { // it is no day any more
            return false;
        }
    }

    template <class T>
    bool set(T& field, T value)
    {
        if (field == value) return false;
        auto before = std::exchange(field, std::move(value));
        if (still_fails()) return smaller_ = true;
        field = std::move(before);
        return false;
    }

    template <class T>
    void lower(T& field, T const& simplest)
    {
        if (field == simplest || set(field, simplest)) return;
        if constexpr (std::integral<T> && !std::same_as<T, bool>) {
            constexpr int few = 64; // fewer may fail although somewhat more do not: chance has it
            for (int more = 1; more <= few; ++more)
                if (static_cast<T>(simplest + more) < field && set(field, static_cast<T>(simplest + more))) return;
            while (field > simplest + 1 && set(field, static_cast<T>(simplest + (field - simplest) / 2))) {
            }
        } else if constexpr (std::is_same_v<T, std::optional<std::size_t>>) {
            while (field && *field > 1 && set(field, T(*field / 2))) {
            }
        } else if constexpr (std::is_same_v<T, double>) {
            set(field, 1.0); // leaves nothing to chance
        } else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
            while (field > simplest + std::chrono::milliseconds(1) && set(field, simplest + (field - simplest) / 2)) {
            }
        }
    }

    /// Halves of the list, then quarters, and so on.
    template <class T>
    void cut(std::vector<T>& list)
    {
        for (auto part = list.size(); part != 0; part /= 2) {
            for (std::size_t at = 0; at < list.size();) {
                auto before = list;
                auto const from = list.begin() + static_cast<std::ptrdiff_t>(at);
                list.erase(from, from + static_cast<std::ptrdiff_t>(std::min(part, list.size() - at)));
                if (still_fails()) {
                    smaller_ = true;
                    continue;
                }
                list = std::move(before);
                at += part;
            }
        }
    }

    /// Takes the last from a list whose places have a meaning.
    template <class T>
    bool shorten(std::vector<T>& list)
    {
        auto last = std::move(list.back());
        list.pop_back();
        if (still_fails()) return smaller_ = true;
        list.push_back(std::move(last));
        return false;
    }

    void ease(incident& one)
    {
        set(one.process, 0);
        lower(one.at, std::chrono::milliseconds(0));
        lower(one.then, std::chrono::milliseconds(0));
    }

    void clear(spell& one)
    {
        set(one.faults.by_operation, {});
        detail::each_fault(
            one.faults.everywhere, [this](char const*, auto& field, auto const& none) { lower(field, none); });
        for (auto& [operation, rates] : one.faults.by_operation)
            detail::each_fault(rates, [this](char const*, auto& field, auto const& none) { lower(field, none); });
        set(one.credentials_expired, false);
        set(one.without_handles, false);
        set(one.dependency_down, false);
        set(one.tenants_down, std::uint64_t(0));
    }

    scenario& day_;
    std::function<bool(scenario const&)> const& fails_;
    std::size_t const most_;
    std::size_t runs_ = 0;
    bool smaller_ = false;
};

} // namespace

shrunk shrink(scenario day, std::function<bool(scenario const&)> const& fails, std::size_t most_runs)
{
    shrinking work(day, fails, most_runs);
    while (work.round() || work.draw_anew()) {
    }
    return {std::move(day), work.runs()};
}

std::string kind_of(std::string const& violation)
{
    std::string out;
    for (unsigned char const c : violation) {
        if (std::isdigit(c) == 0)
            out += static_cast<char>(c);
        else if (out.empty() || out.back() != '#')
            out += '#';
    }
    return out;
}

} // namespace quern::sim
