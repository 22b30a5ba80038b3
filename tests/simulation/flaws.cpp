// That the simulation bites: a consumer with any one of the field's defects is found out.

#include "naive.hpp"
#include "planted.hpp"

#include <support/sanitized.hpp>

#include <quern/sim/shrink.hpp>
#include <quern/sim/world.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace quern;

namespace {

constexpr std::uint64_t seeds_until_found = 60;
constexpr std::uint64_t seeds =
    test::sanitized ? 1 : 3; // of each scenario; the consumer passes the same: see seeds.cpp

struct expectation {
    char const* flaw;
    bool sim::flaws::*flag;
    char const* scenario;
    char const* violation; ///< a part of it
};

constexpr char const *stuck = "the queue does not run empty", *expires = "nobody has asked for more",
                     *overruns = "without a lease", *hidden = "messages hidden and reports",
                     *twice = "runs twice at once", *overtakes = "of its group is done with",
                     *unreadable = "unreadable"; // a day of ours: see draw_unreadable()

#define FLAW(name) #name, &sim::flaws::name
constexpr expectation expectations[] = {
    {FLAW(asks_for_ten), "handlers", "runs more than"},
    {FLAW(leaks_places), "outages", stuck},
    {FLAW(ends_at_an_error), "outages", stuck},
    {FLAW(ends_at_three_errors), "outages", stuck},
    {FLAW(retries_at_once), "outages", "receives in a hot loop"},
    {FLAW(logs_everything), "outages", "floods its log"},
    {FLAW(releases_damaged), "damaged", "times within a second"},
    {FLAW(asks_on_without_handles), "damaged", "receives in a hot loop"},
    {FLAW(runs_redeliveries), "duplicates", twice},
    {FLAW(keeps_the_old_handle), "duplicates", expires},
    {FLAW(combines_polls), "weather", expires},
    {FLAW(keeps_old_limits), "turned", "that it has no place for"},
    {FLAW(ignores_bytes), "bytes", "asks for more while its handlers hold"},
    {FLAW(says_deleted_at_once), "asks", "is told that it is deleted, and it is not"},
    {FLAW(forgets_attempts), "fifo-lost", "nobody has asked again"},
    {FLAW(extends_once), "calm", expires},
    {FLAW(extends_when_running), "handlers", expires},
    {FLAW(extends_until_deleting), "outages", expires},
    {FLAW(gives_up_extending), "weather", overruns},
    {FLAW(extends_at_five_seconds), "calm", expires},
    {FLAW(extends_after_backoff), "everything", "its backoff is shortened"},
    {FLAW(acks_without_lease), "pauses", "deleted without success under its lease"},
    {FLAW(extends_all_the_time), "calm", "requests in a second"},
    {FLAW(abandons_overdue), "kills", twice},
    {FLAW(never_times_out), "stops", stuck},
    {FLAW(begins_without_lease), "functions", "starts without a lease"},
    {FLAW(waits_for_threads), "functions", "handlers running, and"},
    {FLAW(begins_while_stopping), "functions", "starts though its process is stopping"},
    {FLAW(forgets_failed_calls), "weather", expires},
    {FLAW(forgets_failed_entries), "weather", expires},
    {FLAW(keys_deletes_by_id), "duplicates", "without need"},
    {FLAW(leaves_failures), "handlers", "nobody has put it off"},
    {FLAW(retries_failures_hot), "handlers", "before its backoff is over"},
    {FLAW(deletes_whole_batch), "batches", "deleted without success under its lease"},
    {FLAW(abandons_batch), "handlers", expires},
    {FLAW(ignores_groups), "fifo", "runs beside another message of its group"},
    {FLAW(overtakes_failed), "fifo", overtakes},
    {FLAW(overtakes_discarded), "fifo", overtakes},
    {FLAW(overtakes_damaged), "fifo-damaged", overtakes},
    {FLAW(drops_late_arrivals), "stops", hidden},
    {FLAW(drops_unstarted), "stops", hidden},
    {FLAW(stops_extending), "stops", overruns},
    {FLAW(releases_running), "stops", overruns},
    {FLAW(drops_deletes), "stops", hidden},
    {FLAW(leaves_receive_open), "stops", "taken by a receive of a process that has ended clean"},
    {FLAW(says_stopped_at_once), "stops", hidden},
    {FLAW(stops_without_limit), "stops", "drains for longer than it may"},
    {FLAW(gives_up_polls), "shared", "hidden by a receive that was given up"},
    {FLAW(assumes_thirty_seconds), "several", expires},
    {FLAW(stops_for_one), "tenants", "tenants are down, for the others: at least 90 %"},
    {FLAW(stays_slow), "stubborn", "once an outage is over for five minutes"},
    {FLAW(relapses_at_one), "stubborn", "once an outage is over for five minutes"},
    {FLAW(stops_for_unreadable), unreadable, "beside what cannot be read: at least 90 %"},
    {FLAW(keeps_poisoned), "poisoned", "is not in the dead-letter queue"},
    {FLAW(counts_standing_back), "aged", "is not older than max_age"},
    {FLAW(never_stops), "calm", "does not end its drain"},
};
#undef FLAW

/// Flaws whose days are short, for a test of seconds.
constexpr std::string_view small_ones[] = {"extends_once", "runs_redeliveries", "forgets_failed_calls",
    "overtakes_failed", "deletes_whole_batch", "asks_for_ten", "ignores_bytes", "acks_without_lease",
    "retries_at_once"};

void simplify(consumer_options& c, sim::flaws const& f)
{
    c.classify = nullptr;
    c.limits.rate.reset();
    if (!f.counts_standing_back) c.max_age = {};
    c.fifo.on_failure = group_policy::retry_head;
    c.on_malformed = f.overtakes_discarded ? malformed_policy::discard : malformed_policy::retry;
    c.poison_queue.reset();
}

/// From a third of the day on nobody can read one message in ten, which the dead-letter queue takes in the end.
sim::scenario draw_unreadable(std::uint64_t seed, sim::run_options& options)
{
    auto day = sim::draw("poisoned", seed);
    day.poisoned = 0;
    day.speeds.front().when = "beside what cannot be read";
    auto const first = day.messages / 3;
    options.handle = [first](delivery& d, quern::clock&) -> boost::asio::awaitable<outcome> {
        auto const number = std::stoi(std::string(d.body()));
        if (number >= first && number % 10 == 0) throw parse_error("not for anybody");
        co_return ack();
    };
    return day;
}

/// A day, with what it needs to be run.
struct naive_day {
    sim::scenario day;
    sim::run_options options;
};

naive_day draw_naive(std::string_view scenario, std::uint64_t seed, sim::flaws f)
{
    sim::run_options options;
    options.subject = sim::naive_consumer(f);
    auto day = scenario == unreadable ? draw_unreadable(seed, options) : sim::draw(scenario, seed);
    auto& mix = day.handlers; // less the verdicts that it does not know
    mix.rejects = mix.misreads = mix.condemns = mix.unavailable = mix.extends = mix.guards = 0;
    if (f.overtakes_discarded) mix.misreads = 0.1;
    if (!f.says_deleted_at_once) mix.acks = 0;
    simplify(day.consumer, f);
    for (auto& incident : day.incidents)
        incident.limits.rate.reset();
    for (auto& version : day.versions)
        simplify(version.consumer, f);
    return {std::move(day), std::move(options)};
}

sim::run_result run_naive(std::string_view scenario, std::uint64_t seed, sim::flaws f)
{
    auto const [day, options] = draw_naive(scenario, seed, f);
    return sim::run(day, options);
}

struct planted_expectation {
    sim::planted what;
    char const* name;
    char const* scenario;
    char const* violation;
};

constexpr planted_expectation in_our_own[] = {
    {sim::planted::reads_policy_once, "reads_policy_once", "dependency", "an outage may cost"},
    {sim::planted::keeps_old_reason, "keeps_old_reason", "handlers", "does not tell why it was rejected"},
    {sim::planted::loses_origin, "loses_origin", "handlers", "does not tell its original id"},
    {sim::planted::loses_trace, "loses_trace", "handlers", "does not tell its trace header"},
    {sim::planted::stops_at_a_streak, "stops_at_a_streak", "tenants-orders", "without a breaker"},
};

/// 0: none.
template <class Run>
std::uint64_t first_seed_with(std::string_view violation, Run run)
{
    auto const expected = [&](std::string const& v) { return v.find(violation) != std::string::npos; };
    for (std::uint64_t seed = 1; seed <= seeds_until_found; ++seed)
        if (std::ranges::any_of(run(seed).violations, expected)) return seed;
    return 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(flawed_consumers)

BOOST_AUTO_TEST_CASE(every_flaw_is_found_out)
{
    for (auto const& e : expectations) {
        sim::flaws one;
        one.*e.flag = true;
        auto const seed =
            first_seed_with(e.violation, [&](std::uint64_t n) { return run_naive(e.scenario, n, one); });
        BOOST_TEST_INFO(e.flaw << ", " << e.scenario << ", no run says: " << e.violation);
        BOOST_TEST(seed != 0u);
        BOOST_TEST_MESSAGE(e.flaw << ": " << e.scenario << " " << seed);
    }
}

BOOST_AUTO_TEST_CASE(what_shows_a_flaw_shrinks_to_a_few_messages_and_incidents)
{
    for (auto const& e : expectations) {
        if (std::ranges::find(small_ones, std::string_view(e.flaw)) == std::end(small_ones)) continue;
        sim::flaws one;
        one.*e.flag = true;
        auto const seed =
            first_seed_with(e.violation, [&](std::uint64_t n) { return run_naive(e.scenario, n, one); });
        auto const first = draw_naive(e.scenario, seed, one);
        auto until_then = first.options;
        until_then.enough = [&](std::string const& v) { return v.find(e.violation) != std::string::npos; };
        auto const fails = [&](sim::scenario const& day) {
            return std::ranges::any_of(sim::run(day, until_then).violations, until_then.enough);
        };
        auto const got = sim::shrink(first.day, fails);
        BOOST_TEST_CONTEXT(e.flaw << ", " << e.scenario << " " << seed << ", after " << got.runs << " runs:\n"
                                  << sim::to_code(got.day, first.day))
        {
            BOOST_TEST(got.day.messages <= 5);
            BOOST_TEST(got.day.incidents.size() <= 3u);
            BOOST_TEST(fails(got.day));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_day_ends_when_enough_is_known)
{
    sim::flaws one;
    one.retries_at_once = true;
    auto [day, options] = draw_naive("outages", 3, one);
    auto const whole = sim::run(day, options);
    options.enough = [](std::string const& v) { return v.find("receives in a hot loop") != std::string::npos; };
    auto const part = sim::run(day, options);
    BOOST_TEST(std::ranges::any_of(part.violations, options.enough));
    BOOST_TEST(part.requests < whole.requests / 2);
    BOOST_TEST((part.lasted < whole.lasted));
}

BOOST_AUTO_TEST_CASE(what_this_consumer_once_did_wrong_is_found_out)
{
    for (auto const& e : in_our_own) {
        sim::run_options options;
        options.subject = sim::consumer_with(e.what);
        auto const seed = first_seed_with(
            e.violation, [&](std::uint64_t n) { return sim::run(sim::draw(e.scenario, n), options); });
        BOOST_TEST_INFO(e.name << ", " << e.scenario << ", no run says: " << e.violation);
        BOOST_TEST(seed != 0u);
        BOOST_TEST_MESSAGE(e.name << ": " << e.scenario << " " << seed);
    }
}

BOOST_AUTO_TEST_CASE(a_naive_consumer_without_a_flaw_is_not_accused)
{
    std::vector<std::string_view> names{unreadable};
    for (auto const& s : sim::scenarios())
        if (!s.name.ends_with("dependency") && !s.name.ends_with("backlog") && s.name != "outages-in-turn" &&
            s.name != "called")
            names.push_back(s.name); // it knows no outage, and starts all that it has
    for (auto const name : names) {
        auto const dear = name == "stubborn" || name == "tenants-orders"; // such a day is as dear as ten others
        auto const most = dear ? 1 : seeds;
        for (std::uint64_t seed = 1; seed <= most; ++seed) {
            for (auto const& violation : run_naive(name, seed, {}).violations)
                BOOST_ERROR(name << ", seed " << seed << ": " << violation);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
