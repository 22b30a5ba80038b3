#include <quern/policy/replicas.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <vector>

using namespace quern;
using namespace quern::policy;
using namespace std::chrono_literals;
using quern::test::t0;

namespace {

/// A queue and processes of one kind, as a fluid, by seconds. The first process's rule is asked by an autoscaler.
struct fleet {
    double capacity = 20;     ///< a second, of one
    double places = 10;       ///< of one
    double at_leisure = 0.05; ///< seconds that a message is held where a process is not full
    double arrive = 15;       ///< a second
    double waiting = 0;
    std::size_t processes = 1;
    std::deque<std::pair<int, std::size_t>> starting; ///< when they run
    std::chrono::seconds looks = 15s, decides = 60s, starts = 30s;
    replica_rule rule{replica_options{.target_dwell = 60s, .utilisation = 0.85}};
    queue_load seen;
    double done = 0;
    int second = 0;
    std::vector<std::size_t> decisions;
    std::mt19937_64 random{3};

    double dwell() const { return waiting / std::max(capacity * static_cast<double>(processes), 1e-9); }

    void go(int seconds)
    {
        for (int const end = second + seconds; second < end; ++second) {
            while (!starting.empty() && starting.front().first <= second) {
                processes = starting.front().second;
                starting.pop_front();
            }
            auto const n = static_cast<double>(processes);
            waiting += arrive;
            auto const handled = std::min(waiting, capacity * n);
            waiting -= handled;
            bool const full = waiting > 0;
            auto const held = full ? places / capacity : at_leisure;
            done += handled / n;
            seen.done = static_cast<std::uint64_t>(done);
            seen.held += std::chrono::duration<double>(handled / n * held);
            seen.handled = seen.held;
            if (second % looks.count() == 0) look(handled, held, full);
            if (second % decides.count() == 0 && second != 0) decide();
        }
    }

    void look(double handled, double held, bool full)
    {
        std::uniform_real_distribution<double> off(0.9, 1.1); // SQS tells approximate numbers
        seen.visible = static_cast<std::uint64_t>(waiting * off(random));
        seen.not_visible = static_cast<std::uint64_t>(std::lround(handled * held * off(random)));
        seen.places = static_cast<std::size_t>(places);
        seen.in_flight = seen.running = full ? seen.places : seen.not_visible / processes;
        rule.observe(seen, t0 + std::chrono::seconds(second));
    }

    void decide()
    {
        auto const to = rule.wanted().value_or(processes);
        decisions.push_back(to);
        if (to < processes) {
            processes = to;
            starting.clear();
        } else if (to > processes) {
            starting.emplace_back(second + static_cast<int>(starts.count()), to);
        }
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(wanted_replicas)

BOOST_AUTO_TEST_CASE(are_not_known_before_something_was_handled)
{
    replica_rule rule{replica_options()};
    queue_load is;
    is.visible = 100;
    rule.observe(is, t0);
    rule.observe(is, t0 + 15s);
    BOOST_TEST(!rule.wanted());
    BOOST_TEST(rule.explain() == "not known yet");
}

BOOST_AUTO_TEST_CASE(follow_from_the_numbers_of_the_queue)
{
    struct row {
        char const* what;
        std::uint64_t visible, not_visible, done;
        double held; // seconds, together
        std::size_t in_flight, places, put_off;
        bool slowed;
        std::size_t wanted;
    };
    row const rows[] = {
        // One second each, ten places: ten a second of one process.
        {"little to do", 0, 2, 20, 20, 2, 10, 0, false, 1},
        {"three processes are busy, and no more", 0, 24, 80, 80, 8, 10, 0, false, 3},
        {"a backlog, and all are full: it is what one did", 3'000, 10, 100, 100, 10, 10, 0, false, 16},
        {"most of what is not visible is put off", 0, 100, 20, 20, 2, 10, 98, false, 1},
        {"slowed by an outage: what is done tells nothing", 100, 10, 10, 10, 10, 10, 0, true, 2},
    };
    for (auto const& r : rows) {
        BOOST_TEST_CONTEXT(r.what)
        {
            replica_rule rule{replica_options()};
            queue_load is;
            is.in_flight = is.running = r.in_flight;
            is.places = r.places;
            is.slowed = r.slowed;
            is.visible = r.visible == 3'000 ? 1'800 : r.visible;
            rule.observe(is, t0);
            is.visible = r.visible;
            is.not_visible = r.not_visible;
            is.done = r.done;
            is.held = is.handled = std::chrono::duration<double>(r.held);
            is.put_off = r.put_off;
            rule.observe(is, t0 + 10s);
            BOOST_TEST(rule.wanted().value_or(0) == r.wanted);
        }
    }
}

BOOST_AUTO_TEST_CASE(heed_a_rate)
{
    replica_rule rule{replica_options()};
    queue_load is;
    is.places = 10;
    is.rate = 2;
    rule.observe(is, t0);
    is.done = 20;
    is.held = is.handled = 20s;
    is.not_visible = 4; // four a second arrive: ten a second could be handled, and two may
    rule.observe(is, t0 + 10s);
    BOOST_TEST(rule.capacity() == 2);
    BOOST_TEST(rule.wanted().value() == 3u);
}

BOOST_AUTO_TEST_CASE(let_an_autoscaler_reach_the_target_within_two_steps_and_stay)
{
    for (double const leisure : {0.5, 0.05}) { // as slow as at full load; or bound by a processor
        for (double const arrive : {10.0, 55.0, 150.0, 390.0}) {
            BOOST_TEST_CONTEXT(arrive << " a second arrive, each is held for " << leisure << " s at leisure")
            {
                fleet of;
                of.at_leisure = leisure;
                of.go(120);
                of.arrive = arrive;
                of.decisions.clear();
                of.go(2 * 60 + 30); // two decisions, and the start of what the second one wants
                auto const allowed = std::ceil(arrive / of.capacity);
                BOOST_TEST(static_cast<double>(of.processes) >= allowed);
                of.go(60); // the target itself, in which what had piled up is to be gone
                BOOST_TEST(of.dwell() <= 60);
                of.go(600);
                of.decisions.clear();
                of.go(3'600);
                BOOST_TEST(of.dwell() <= 60);
                std::size_t least = of.decisions.front(), rise = 0; // of one who swings
                for (auto const n : of.decisions) {
                    rise = std::max(rise, n - std::min(n, least));
                    least = std::min(least, n);
                }
                BOOST_TEST(rise <= 1u);
                auto const most = std::ranges::max_element(of.decisions);
                BOOST_TEST(static_cast<double>(*most) <= std::ceil(1.1 * arrive / of.capacity / 0.85)); // SQS's tenth
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(become_fewer_when_less_arrives)
{
    fleet of;
    of.arrive = 150;
    of.go(1'800);
    BOOST_TEST(of.processes >= 9u);
    of.arrive = 15;
    of.go(900);
    BOOST_TEST(of.processes <= 2u);
    BOOST_TEST(of.dwell() <= 60);
}

BOOST_AUTO_TEST_CASE(tell_what_they_follow_from)
{
    fleet of;
    of.arrive = 15;
    of.go(120);
    BOOST_TEST(of.rule.explain().find(" wanted: ") != std::string::npos);
    BOOST_TEST(of.rule.explain().find(" a second arrive, one handles ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(have_options_that_can_work)
{
    BOOST_TEST(!replica_options().validate());
    BOOST_TEST(replica_options{.target_dwell = 0s}.validate()->message == "target_dwell must be from 1 s to 24 h");
    BOOST_TEST((replica_options{.target_dwell = 60s, .utilisation = 0}).validate()->message ==
        "utilisation must be from 0.1 to 1");
}

BOOST_AUTO_TEST_SUITE_END()
