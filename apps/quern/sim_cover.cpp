#include "sim_cover.hpp"

#include "common/exit_code.hpp"
#include "common/progress.hpp"

#include <quern/sim/guide.hpp>
#include <quern/sim/world.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace quern::app {

namespace {

/// Days that are drawn before any of them has been learnt from: as many as keep processors busy.
constexpr std::size_t round_of_days = 16;

struct covered_day {
    std::size_t scenario = 0;
    std::uint64_t seed = 0;
    sim::coverage reached;
    std::string broken; ///< the first promise; empty: none
};

void run_covered(covered_day& day, std::string_view name)
try {
    sim::run_options options;
    options.reached = &day.reached;
    auto const got = sim::run(sim::draw(name, day.seed), options);
    if (!got.passed()) day.broken = got.violations.front();
} catch (std::exception const& thrown) {
    day.broken = std::string("threw: ") + thrown.what();
}

/// Days so far, and the places that they have reached.
class cover_course {
public:
    cover_course(cover_order const& order, bool guided)
        : order_(order), by_(order.scenarios.size(), order.first_seed), seeds_(order.scenarios.size(), 0),
          guided_(guided)
    {}

    void run()
    {
        progress bar(guided_ ? "guided days" : "days in turn", order_.days, real_clock().now());
        while (grows_.size() < order_.days) {
            run_round(std::min(round_of_days, order_.days - grows_.size()));
            bar.show(grows_.size(), real_clock().now());
        }
        bar.finish();
    }

    sim::coverage const& reached() const { return all_; }
    std::size_t broken() const { return broken_; }

    /// The first day after which so many places were reached; absent: none.
    std::optional<std::size_t> day_of(std::size_t places) const
    {
        auto const at = std::ranges::lower_bound(grows_, places);
        if (at == grows_.end()) return {};
        return static_cast<std::size_t>(at - grows_.begin()) + 1;
    }

    /// Days of each scenario, the most frequent first.
    std::vector<std::pair<std::uint64_t, std::string_view>> favourites() const
    {
        std::vector<std::pair<std::uint64_t, std::string_view>> out;
        for (std::size_t i = 0; i < seeds_.size(); ++i)
            out.emplace_back(seeds_[i], order_.scenarios[i]);
        std::ranges::stable_sort(out, std::greater(), [](auto const& one) { return one.first; });
        return out;
    }

private:
    void run_round(std::size_t count)
    {
        std::vector<covered_day> days(count);
        for (auto& day : days) {
            day.scenario = guided_ ? by_.next() : turn_++ % seeds_.size();
            day.seed = order_.first_seed + seeds_[day.scenario]++;
        }
        std::atomic<std::size_t> next = 0;
        {
            std::vector<std::jthread> workers;
            for (std::size_t i = 0; i < std::min(order_.threads, count); ++i)
                workers.emplace_back([&] {
                    for (auto at = next++; at < count; at = next++)
                        run_covered(days[at], order_.scenarios[days[at].scenario]);
                });
        }
        for (auto const& day : days)
            note(day);
    }

    void note(covered_day const& day)
    {
        by_.learn(day.scenario, day.reached);
        all_.add(day.reached);
        grows_.push_back(all_.reached());
        if (day.broken.empty()) return;
        ++broken_;
        auto const name = order_.scenarios[day.scenario];
        fmt::print("FAILED {} seed {}: {}\n  again, with its trace: quern sim --scenario {} --seeds {} --trace\n",
            name, day.seed, day.broken, name, day.seed);
    }

    cover_order const& order_;
    sim::guide by_;
    std::vector<std::uint64_t> seeds_; // taken, of each scenario
    bool const guided_;
    std::size_t turn_ = 0, broken_ = 0;
    sim::coverage all_;
    std::vector<std::size_t> grows_; // places reached after each day
};

std::string in_days(std::optional<std::size_t> day)
{
    return day ? fmt::format("{} days", *day) : std::string("not reached");
}

/// When each part of `most` places was reached.
void print_course(cover_course const& of, std::size_t most)
{
    for (std::size_t const percent : {50, 80, 90, 95, 98, 100}) {
        auto const places = (most * percent + 99) / 100;
        fmt::print("  {:>3} % of {}: {}\n", percent, most, in_days(of.day_of(places)));
    }
}

} // namespace

int run_cover(cover_order const& order)
{
    cover_course course(order, order.guided);
    course.run();
    auto broken = course.broken();
    auto const& all = course.reached();
    fmt::print("{} days reached {} of {} places\n", order.days, all.reached(), sim::coverage::places().size());
    print_course(course, all.reached());
    if (order.guided) {
        fmt::print("most often:");
        auto const all_of_them = course.favourites();
        for (std::size_t i = 0; i < std::min<std::size_t>(all_of_them.size(), 5); ++i)
            fmt::print("{} {} ({})", i == 0 ? "" : ",", all_of_them[i].second, all_of_them[i].first);
        fmt::print("\n");
    }
    if (order.guided && order.compare) {
        cover_course in_turn(order, false);
        in_turn.run();
        broken += in_turn.broken();
        auto const most = in_turn.reached().reached();
        fmt::print("days in turn reached {}, when:\n", most);
        print_course(in_turn, most);
        fmt::print("guided days reached as many, when:\n");
        print_course(course, most);
    }
    fmt::print("{}", all.to_text());
    return broken == 0 ? ok : failed;
}

} // namespace quern::app
