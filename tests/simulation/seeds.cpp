#include <quern/sim/world.hpp>

#include <support/sanitized.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

using namespace quern;

namespace {

/// A few seeds of each scenario; `quern sim` runs as many as one likes.
constexpr std::uint64_t seeds = test::sanitized ? 1 : 6;           // a sanitizer makes days ten times as long
constexpr std::uint64_t seeds_run_twice = test::sanitized ? 1 : 2; // a day that is compared with another

/// Days on which a promise was broken once, among many thousands.
constexpr struct {
    char const* scenario;
    std::uint64_t seed;
} broken_once[] = {{"asks", 601235}, {"batches", 800025}, {"crammed", 620}, {"crammed", 849005},
    {"credentials", 111001441}, {"dependency", 600648}, {"duplicates", 99000715}, {"fifo-damaged", 111001325},
    {"fifo-tenants", 108000014}, {"fifo-weather", 113001270}, {"flapping-dependency", 113000070},
    {"poisoned", 99000736}, {"poisoned", 101101045}, {"poisoned", 101101079}, {"shared", 602038}, {"shared", 1119323},
    {"stubborn", 600677}, {"stubborn", 901656}, {"swarm", 2015}, {"swarm", 2128}};

/// Blocks that are left of many when the rest has been freed in no order: the next allocations lie anywhere between.
std::vector<std::unique_ptr<std::byte[]>> disturbed_heap()
{
    std::mt19937 random(1);
    std::vector<std::unique_ptr<std::byte[]>> out(50'000);
    for (auto& block : out)
        block = std::make_unique<std::byte[]>(std::uniform_int_distribution(16, 2'048)(random));
    std::ranges::shuffle(out, random);
    out.resize(out.size() / 4);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(simulation)

BOOST_AUTO_TEST_CASE(no_seed_breaks_a_promise)
{
    for (auto const& name : sim::scenarios()) {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            auto const day = sim::draw(name.name, seed);
            if (day.healthy && seed > seeds_run_twice) break;
            auto const result = sim::run(day);
            for (auto const& violation : result.violations)
                BOOST_ERROR(name.name << ", seed " << seed << ": " << violation);
        }
    }
}

BOOST_AUTO_TEST_CASE(no_day_that_failed_once_fails_again)
{
    for (auto const& day : broken_once) {
        auto const result = sim::run(sim::draw(day.scenario, day.seed));
        for (auto const& violation : result.violations)
            BOOST_ERROR(day.scenario << ", seed " << day.seed << ": " << violation);
    }
}

// Leases that end in the same instant were in the order of their addresses, so one day in ten was another where
// memory lay otherwise.
BOOST_AUTO_TEST_CASE(equal_seeds_give_equal_days_wherever_memory_lies)
{
    sim::run_options options;
    options.trace = true;
    for (auto const& its : sim::scenarios()) {
        auto const once = sim::run(sim::draw(its.name, 116000777), options);
        auto const holes = disturbed_heap();
        auto const again = sim::run(sim::draw(its.name, 116000777), options);
        BOOST_TEST(once.trace.size() > 50u, its.name);
        auto const [one, other] = std::ranges::mismatch(once.trace, again.trace);
        if (one != once.trace.end() || other != again.trace.end())
            BOOST_ERROR(its.name << " differs from line " << one - once.trace.begin() << " on");
    }
}

BOOST_AUTO_TEST_SUITE_END()
