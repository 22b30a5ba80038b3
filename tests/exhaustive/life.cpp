// All orders of all events in the life of a message or two, in the consumer as it is shipped: see "Every order of
// events" in docs/design/consumer.md. QUERN_SEARCH=seconds goes on for so long in each scene, and in larger ones.

#include "search.hpp"
#include "stand_between.hpp"

#include <support/sanitized.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

using namespace quern;
using namespace quern::test;

namespace {

scene make(char const* name, void (*change)(scene&))
{
    scene out;
    out.name = name;
    out.faults = out.repeats = out.drains = 0;
    change(out);
    return out;
}

/// Scenes in which nothing new comes after some seconds.
std::vector<scene> small_scenes()
{
    return {
        make("drains", [](scene& s) { s.drains = 1; }),
        make("faults", [](scene& s) { s.faults = 1; }),
        make("repeats", [](scene& s) { s.repeats = 1; }),
        make("rejects", [](scene& s) { s.rejects = true, s.faults = 1; }),
        make("discards", [](scene& s) { s.rejects = s.refuses_old = true, s.keeps_copies = false, s.faults = 1; }),
        make("asks", [](scene& s) { s.asks = s.asks_longer = true, s.repeats = 1; }),
        make("asks in vain", [](scene& s) { s.asks = true, s.fails = false, s.faults = 1; }),
        make("sleeps", [](scene& s) { s.sleeps = 1; }),
        make("overruns", [](scene& s) { s.has_timeout = true, s.drains = 1, s.fails = false; }),
        make("two messages", [](scene& s) { s.messages = 2, s.fails = false; }),
        make("in turn", [](scene& s) { s.messages = 2, s.one_at_a_time = true, s.fails = false; }),
        make("in batches", [](scene& s) { s.messages = 2, s.in_batches = true, s.fails = false; }),
        make(
            "two consumers", [](scene& s) { s.processes = 2, s.repeats = 1, s.fails = false, s.refuses_old = true; }),
    };
}

/// Scenes for which there is time by request only.
std::vector<scene> large_scenes()
{
    return {
        make("two messages, failing", [](scene& s) { s.messages = 2; }),
        make("drains, faults", [](scene& s) { s.drains = s.faults = 1; }),
        make("drains, repeats", [](scene& s) { s.drains = s.repeats = 1; }),
        make("rejects, repeats", [](scene& s) { s.rejects = true, s.faults = s.repeats = 1; }),
        make("asks, faults",
            [](scene& s) { s.asks = s.asks_longer = true, s.faults = s.repeats = s.reads_ahead = 1; }),
        make("asks, sleeps", [](scene& s) { s.asks = true, s.sleeps = s.repeats = s.drains = 1; }),
        make("sleeps, faults", [](scene& s) { s.sleeps = s.halves = s.faults = 1; }),
        make("pauses", [](scene& s) { s.messages = 2, s.pauses = s.drains = 1, s.fails = false; }),
        make("in turn, all",
            [](scene& s) { s.messages = 2, s.one_at_a_time = true, s.faults = s.repeats = s.drains = 1; }),
        make("in batches, all",
            [](scene& s) { s.messages = 2, s.in_batches = true, s.faults = s.repeats = s.drains = 1; }),
        make("two consumers, all", [](scene& s) { s.processes = 2, s.faults = s.repeats = s.drains = s.sleeps = 1; }),
        make("two and two", [](scene& s) { s.processes = s.messages = 2, s.faults = s.repeats = s.drains = 1; }),
        make("two and two, faults",
            [](scene& s) { s.processes = s.messages = 2, s.faults = 2, s.refuses_old = s.asks = true; }),
    };
}

struct expectation {
    flaw what;
    std::string_view where;
    std::size_t events; ///< of the shortest way to it
    char const* says;
};

constexpr char const *too_late = "loses a lease that it has not asked to extend in time",
                     *works_on = "works on without a lease", *forgets = "forgets to tell SQS what became of",
                     *forgotten = "forgets a message that is hidden", *unearned = "deletes without a success";

constexpr expectation expectations[] = {
    {flaw::never_extends, "drains", 2, too_late},
    {flaw::extends_once, "drains", 6, too_late},
    {flaw::stops_extending, "drains", 3, too_late},
    {flaw::keeps_lost_leases, "faults", 6, works_on},
    {flaw::forgets_failed_deletes, "faults", 3, forgets},
    {flaw::forgets_failed_releases, "faults", 3, forgets},
    {flaw::forgets_failed_extensions, "faults", 4, too_late},
    {flaw::drops_releases, "drains", 2, forgets},
    {flaw::trusts_old_handles, "faults", 8, forgotten},
    {flaw::believes_lost_deletes, "faults", 3, "counts as deleted what is not"},
    {flaw::believes_lost_releases, "faults", 3, forgotten},
    {flaw::believes_lost_extensions, "faults", 3, "takes a lease for longer than it is"},
    {flaw::believes_lost_copies, "rejects", 3, unearned},
    {flaw::gives_up_deletes, "faults", 3, "gives up a lease that it has"},
    {flaw::cancels_nobody, "faults", 6, "does not cancel the handler that lost its lease"},
    {flaw::acks_without_lease, "faults", 6, works_on},
    {flaw::deletes_early_without_lease, "asks", 10, works_on},
    {flaw::overtakes_its_extension, "drains", 4, forgotten},
    {flaw::forgets_it_was_released, "faults", 8, unearned},
    {flaw::says_deleted_at_once, "asks", 2, "says that it is deleted, and it is not"},
    {flaw::counts_refusals_as_done, "two consumers", 2, "counts as deleted what is not"},
    {flaw::skips_the_copy, "rejects", 2, "there is no such row"},
};

std::string told(scene const& s, finding const& f)
{
    std::string out = std::string(s.name) + ": " + f.broken.front() + "\n    replay(s, {" + to_code(f.how) + "}" +
        (f.at_last ? ", true" : "") + ");\n";
    for (auto const& line : story_of(s, f))
        out += "    " + line + '\n';
    return out;
}

std::string numbers_of(scene const& s, search_result const& r)
{
    return std::string(s.name) + ": " + std::to_string(r.states) + " states, " + std::to_string(r.steps) +
        " steps, depth " + std::to_string(r.depth) + (r.closed ? ", closed, " : ", ") + std::to_string(r.seconds) +
        " s";
}

void expect_nothing_broken(scene const& s, limits_of_search const& most, bool closes)
{
    stand_between::planted = flaw::none;
    auto const got = search(s, most);
    BOOST_TEST_MESSAGE(numbers_of(s, got));
    if (got.found) BOOST_ERROR(told(s, *got.found));
    if (closes) BOOST_TEST(got.closed, s.name << " does not close: " << numbers_of(s, got));
}

double seconds_asked_for()
{
    auto const* const given = std::getenv("QUERN_SEARCH");
    return given ? std::atof(given) : 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(every_order_of_events)

BOOST_AUTO_TEST_CASE(no_order_of_events_breaks_a_promise)
{
    for (auto const& s : small_scenes())
        expect_nothing_broken(s, {.seconds = sanitized ? 5.0 : 300}, !sanitized);
    auto const more = seconds_asked_for();
    if (more == 0) return;
    for (auto const& s : large_scenes())
        expect_nothing_broken(s, {.seconds = more}, false);
    for (auto const& r : stand_between::rows_not_reached())
        BOOST_TEST_MESSAGE("not reached: " << name_of(r.at) << ", " << name_of(r.what));
}

BOOST_AUTO_TEST_CASE(each_planted_flaw_is_found_by_the_shortest_way)
{
    auto const scenes = small_scenes();
    BOOST_TEST(std::size(expectations) + 1 == flaws);
    for (auto const& e : expectations) {
        auto const s = std::ranges::find_if(scenes, [&](scene const& one) { return one.name == e.where; });
        BOOST_TEST_REQUIRE((s != scenes.end()));
        stand_between::planted = e.what;
        auto const got = search(*s, {.seconds = 300});
        auto const story = got.found ? told(*s, *got.found) : std::string();
        stand_between::planted = flaw::none;
        BOOST_TEST_REQUIRE(got.found.has_value(), name_of(e.what) << " is not found");
        BOOST_TEST_INFO(name_of(e.what) << ": " << story);
        BOOST_TEST(got.found->how.size() == e.events);
        BOOST_TEST(got.found->broken.front().find(e.says) != std::string::npos);
        BOOST_TEST(replay(*s, got.found->how, got.found->at_last).empty()); // without the flaw
    }
}

BOOST_AUTO_TEST_SUITE_END()
