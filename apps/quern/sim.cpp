#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/complaint.hpp"
#include "common/progress.hpp"
#include "sim_cover.hpp"
#include "simulation/redrive/redrive_day.hpp"

#include <quern/core/detail/text/reading.hpp>
#include <quern/sim/shrink.hpp>
#include <quern/sim/world.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace quern::app {

using namespace quern::detail;

namespace {

struct sim_options {
    std::string seeds = "1..100";
    std::string only;
    std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
    bool trace = false, list = false, shrink = false, cover = false, guided = false, compare = false;
};

struct span {
    std::uint64_t first = 0, last = 0;
    std::size_t count() const { return last - first + 1; }
};

/// "7" or "1..100".
span parse_seeds(std::string const& text)
{
    auto const dots = text.find("..");
    auto const number = [&](std::string_view part) {
        auto const out = text::number_in<std::uint64_t>(part);
        if (!out) throw usage_error("--seeds: wants A..B or one number, not " + text);
        return *out;
    };
    span out;
    out.first = number(std::string_view(text).substr(0, dots));
    out.last = dots == std::string::npos ? out.first : number(std::string_view(text).substr(dots + 2));
    if (out.last < out.first || out.last - out.first >= 1'000'000'000) {
        throw usage_error("--seeds: wants a first seed that is not behind the last, and at most 10^9 of them");
    }
    return out;
}

/// One seed of one scenario that broke a promise.
struct breach {
    std::string_view scenario;
    std::uint64_t seed;
    std::string what;
    std::size_t more;
};

void print(breach const& b)
{
    fmt::print("FAILED {} seed {}: {}", b.scenario, b.seed, b.what);
    if (b.more != 0) fmt::print(" (and {} more)", b.more);
    fmt::print("\n  again, with its trace: quern sim --scenario {} --seeds {} --trace\n", b.scenario, b.seed);
}

bool is_of_redrives(std::string_view name)
{
    return std::ranges::find(sim::redrive_scenarios(), name, &sim::scenario_name::name) !=
        sim::redrive_scenarios().end();
}

sim::run_result run_day(std::string_view name, std::uint64_t seed, bool traced)
try {
    if (is_of_redrives(name)) return sim::run(sim::draw_redrive(name, seed), traced);
    sim::run_options options;
    options.trace = traced;
    return sim::run(sim::draw(name, seed), options);
} catch (std::exception const& thrown) {
    sim::run_result out;
    out.violations.push_back(std::string("threw: ") + thrown.what());
    return out;
}

int trace(std::vector<std::string_view> const& names, span seeds)
{
    if (names.size() != 1 || seeds.count() != 1) return complain("--trace wants one --scenario and one seed", usage);
    auto const got = run_day(names.front(), seeds.first, true);
    for (auto const& line : got.trace)
        fmt::print("{}\n", line);
    for (auto const& violation : got.violations)
        fmt::print("broken: {}\n", violation);
    fmt::print("{} after {} virtual seconds\n", got.passed() ? "passed" : "FAILED",
        std::chrono::floor<std::chrono::seconds>(got.lasted).count());
    return got.passed() ? ok : failed;
}

/// Prints the smallest day that breaks the same promise, as a test.
int shrink(std::vector<std::string_view> const& names, span seeds)
{
    if (names.size() != 1 || seeds.count() != 1 || is_of_redrives(names.front()))
        return complain("--shrink wants one --scenario of consumers and one seed", usage);
    auto const name = names.front();
    auto const first = sim::draw(name, seeds.first);
    auto const broken = sim::run(first).violations;
    if (broken.empty()) {
        fmt::print("{} seed {} breaks no promise\n", name, seeds.first);
        return ok;
    }
    auto const wanted = sim::kind_of(broken.front());
    progress bar("tried days", 0, real_clock().now());
    std::size_t tried = 0;
    sim::run_options until_then;
    until_then.enough = [&](std::string const& v) { return sim::kind_of(v) == wanted; };
    auto const fails = [&](sim::scenario const& day) {
        bar.show(++tried, real_clock().now());
        return std::ranges::any_of(sim::run(day, until_then).violations, until_then.enough);
    };
    auto const got = sim::shrink(first, fails);
    bar.finish();
    fmt::print("// {}\n// {} messages, {} incidents, {} spells; found in {} days\n", broken.front(), got.day.messages,
        got.day.incidents.size(), got.day.spells.size(), got.runs);
    fmt::print("auto day = sim::draw(\"{}\", {});\n{}BOOST_TEST(sim::run(day).passed());\n", name, seeds.first,
        sim::to_code(got.day, first));
    return failed;
}

/// Days of redrives have no consumer to cover.
int cover(sim_options const& o, std::vector<std::string_view> names, span seeds)
{
    std::erase_if(names, is_of_redrives);
    if (names.empty()) return complain("--cover wants scenarios of consumers", usage);
    cover_order order;
    order.first_seed = seeds.first;
    order.days = seeds.count() * names.size();
    order.scenarios = std::move(names);
    order.threads = o.threads;
    order.guided = o.guided;
    order.compare = o.compare;
    return run_cover(order);
}

int run_sim(sim_options const& o)
{
    std::vector<std::string_view> names;
    for (auto const& all : {sim::scenarios(), sim::redrive_scenarios()}) {
        for (auto const& s : all) {
            if (o.list) fmt::print("{:<15} {}\n", s.name, s.about);
            if (o.only.empty() || o.only == s.name) names.push_back(s.name);
        }
    }
    if (o.list) return ok;
    if (names.empty()) return complain(fmt::format("no scenario {}; see quern sim --list", o.only), usage);
    auto const seeds = parse_seeds(o.seeds);
    if (o.trace) return trace(names, seeds);
    if (o.shrink) return shrink(names, seeds);
    if (o.guided && !o.cover) return complain("--guided wants --cover", usage);
    if (o.compare && !o.guided) return complain("--compare wants --guided", usage);
    if (o.cover) return cover(o, std::move(names), seeds);

    auto const total = seeds.count() * names.size();
    std::atomic<std::size_t> next = 0, ended = 0, broken = 0;
    std::atomic<std::uint64_t> milliseconds = 0;
    sim::drain_sum drains;
    std::mutex output;
    auto const work = [&] {
        for (auto i = next++; i < total; i = next++) {
            auto const name = names[i % names.size()];
            auto const seed = seeds.first + i / names.size();
            auto const got = run_day(name, seed, false);
            milliseconds += static_cast<std::uint64_t>(got.lasted.count());
            std::lock_guard const lock(output);
            drains.add(got.drains);
            if (!got.passed()) {
                ++broken;
                print({name, seed, got.violations.front(), got.violations.size() - 1});
            }
            ++ended;
        }
    };
    auto const began = real_clock().now();
    progress bar("simulated", total, began);
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < o.threads; ++i)
        workers.emplace_back(work);
    while (ended < total) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        std::lock_guard const lock(output);
        bar.show(ended, real_clock().now());
    }
    workers.clear();
    bar.finish();
    auto const took = std::chrono::duration<double>(real_clock().now() - began).count();
    fmt::print("{} passed, {} failed; {:.1f} simulated hours in {:.1f} s\n", total - broken, broken.load(),
        static_cast<double>(milliseconds) / 3.6e6, took);
    fmt::print("{} drains, {} of them clean; the longest and the sums: {}\n", drains.drains, drains.clean,
        to_json(drains.of_all));
    return broken == 0 ? ok : failed;
}

constexpr char const* help =
    R"(Runs the consumer through simulated days, in virtual time and on one seed each: handlers that fail, hang and overrun their
leases; requests and answers that are lost; processes that are stopped, paused and killed. After each step it checks what
Quern promises: no message is lost, no acknowledgement without a lease, no handler twice at once, nothing left hidden after
a drain, and the queue runs empty once the weather is fine. The same seed is the same day, always.

The days of redrives have redrivers of a dead-letter queue instead, killed at any request and any write of their journals: each
message ends where its policy says, and what is there twice was counted.

Examples:
  quern sim --list
  quern sim --seeds 1..10000
  quern sim --scenario stops --seeds 42 --trace
  quern sim --scenario stops --seeds 42 --shrink
  quern sim --cover --guided --seeds 1..10

Exit status 1 when a promise was broken.)";

} // namespace

void add_sim(command& app, command_line& line)
{
    auto const o = std::make_shared<sim_options>();
    auto* const command = app.add_subcommand("sim", "Try to break the consumer, in virtual time");
    command->add({
        {"--seeds A..B", o->seeds, "Run this seed, or all from the first to the last", shows_default()},
        {"--scenario NAME", o->only, "Run only this scenario; see --list; default: all"},
        {"--threads", o->threads, "Run so many days at once", range(1, 1'024), shows_default()},
        {"--trace", o->trace, "Print what happens; wants one seed and one scenario"},
        {"--shrink", o->shrink,
            "Take from a day that breaks a promise all that it can do without, and print the rest as a test; wants "
            "one "
            "seed and one scenario"},
        {"--cover", o->cover, "Print what the days have reached of the consumer's rules, and what none has"},
        {"--guided", o->guided,
            "With --cover: as many days, more of the scenarios that reach what is rare, each from the first seed on"},
        {"--compare", o->compare, "With --guided: run the days in turn as well, and tell which took how many"},
        {"--list", o->list, "Print the scenarios"},
    });
    command->footer(help);
    when_named(*command, line, [o] { return run_sim(*o); });
}

} // namespace quern::app
