#include <quern/consumer/detail/run/run_limit.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/test/unit_test.hpp>

#include <deque>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

struct running {
    sim::virtual_clock time;
    tick const t0 = time.now() + 1h;
    run_limit limit{30s, 20s};
    std::deque<std::string> names;

    held_ptr start(tick at)
    {
        sqs::message m;
        m.id = names.emplace_back(std::to_string(names.size()));
        auto h = make_held(m, nullptr, time, at);
        limit.started(*h, at);
        return h;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(run_limit_rule, running)

BOOST_AUTO_TEST_CASE(each_is_told_once_when_its_time_is_over_and_not_before)
{
    auto const a = start(t0), b = start(t0 + 10s);
    BOOST_TEST((limit.wake_at() == t0 + 30s));
    BOOST_TEST(limit.overdue(t0 + 30s - 1ms).empty());
    BOOST_TEST((limit.overdue(t0 + 30s) == std::vector{a}));
    BOOST_TEST(limit.overdue(t0 + 30s).empty());
    BOOST_TEST((limit.wake_at() == t0 + 40s));
    BOOST_TEST((limit.overdue(t0 + 1h) == std::vector{b}));
    run_limit::ended(*a);
    run_limit::ended(*b);
    BOOST_TEST(!limit.wake_at());
}

BOOST_AUTO_TEST_CASE(all_hang_when_each_has_run_on_for_the_grace)
{
    auto const a = start(t0), b = start(t0 + 10s);
    (void)limit.overdue(t0 + 35s);
    BOOST_TEST(!limit.all_hang(t0 + 55s)); // b has time
    (void)limit.overdue(t0 + 40s);
    BOOST_TEST((limit.wake_at() == t0 + 60s));
    BOOST_TEST(!limit.all_hang(t0 + 60s - 1ms));
    BOOST_TEST(limit.all_hang(t0 + 60s));
    auto const c = start(t0 + 70s);
    BOOST_TEST(!limit.all_hang(t0 + 70s));
    run_limit::ended(*c);
    BOOST_TEST(limit.all_hang(t0 + 70s));
    run_limit::ended(*a);
    run_limit::ended(*b);
    BOOST_TEST(!limit.all_hang(t0 + 70s));
}

BOOST_AUTO_TEST_CASE(one_that_has_ended_is_not_told)
{
    auto const a = start(t0), b = start(t0);
    run_limit::ended(*a);
    BOOST_TEST((limit.overdue(t0 + 1h) == std::vector{b}));
    run_limit::ended(*b); // told already
    BOOST_TEST(limit.overdue(t0 + 2h).empty());
}

BOOST_AUTO_TEST_CASE(one_that_runs_again_has_all_its_time_again)
{
    auto const a = start(t0);
    run_limit::ended(*a);
    limit.started(*a, t0 + 20s);
    BOOST_TEST(limit.overdue(t0 + 49s).empty());
    BOOST_TEST((limit.overdue(t0 + 50s) == std::vector{a}));
}

BOOST_AUTO_TEST_CASE(without_a_limit_nobody_is_told)
{
    limit = run_limit(0ms, 30s);
    auto const a = start(t0);
    BOOST_TEST(!limit.wake_at());
    BOOST_TEST(limit.overdue(t0 + 100h).empty());
    run_limit::ended(*a);
}

BOOST_AUTO_TEST_SUITE_END()
