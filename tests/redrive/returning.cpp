// The consumers of the source still fail, or not any more.

#include "redrive/yard.hpp"

#include <boost/asio/this_coro.hpp>

using namespace quern;
using namespace quern::test;

namespace {

/// Consumers of the source: while `broken`, all that is received there dies, every second.
struct failing : yard {
    bool broken = true, over = false;
    int handled = 0;

    failing()
    {
        asio::co_spawn(io, consumers(), [](std::exception_ptr bug) {
            if (bug) std::rethrow_exception(bug);
        });
    }
    ~failing() { over = true; }

    asio::awaitable<void> consumers()
    {
        auto const here = co_await asio::this_coro::executor;
        auto const timer = time.make_timer(here);
        while (!over) {
            if (broken)
                fail_all(orders);
            else
                handled += static_cast<int>(take(orders).size());
            auto const next = time.now() + 1s;
            co_await timer->wait_until(next);
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(redriver_returning, failing)

BOOST_AUTO_TEST_CASE(an_unfixed_bug_ends_the_run_with_the_canary)
{
    kill(10'000);
    options.speed.canary = redrive::canary{10, 5min};
    auto const got = run(10min);
    BOOST_TEST(got.redriven == 10u);
    BOOST_REQUIRE(got.stopped.has_value());
    BOOST_TEST(got.stopped->starts_with("canary: "));
    BOOST_TEST(all(dead) == 10'000);
    BOOST_TEST(count(dead) == 10'000);
    BOOST_TEST(got.came_back > 0u);
}

BOOST_AUTO_TEST_CASE(after_a_good_canary_the_ramp_goes_to_the_end)
{
    broken = false;
    kill(3'000);
    options.speed.canary = redrive::canary{10, 5min};
    options.speed.ramp = redrive::ramp{1, 100, 30s};
    options.speed.stop_on_return = 0.05;
    auto const got = run(1h);
    BOOST_TEST(got.redriven == 3'000u);
    BOOST_TEST(!got.stopped);
    BOOST_TEST(got.took >= 5min + 30s);
    until(1min, [&] { return handled == 3'000; });
    BOOST_TEST(handled == 3'000);
    BOOST_TEST(all(dead) == 0);
}

// Without a cut-off this run would go on for ever.
BOOST_AUTO_TEST_CASE(what_comes_back_is_not_sent_again_in_this_run)
{
    kill(60);
    options.speed.rate = 10;
    auto const got = run(10min);
    BOOST_TEST(got.redriven == 60u);
    BOOST_TEST(got.came_back > 0u);
    BOOST_TEST(!got.stopped);
    until(5s, [] { return false; });
    BOOST_TEST(count(dead) == 60);
}

BOOST_AUTO_TEST_CASE(more_returns_than_are_borne_end_the_run)
{
    kill(2'000);
    options.speed.rate = 20;
    options.speed.stop_on_return = 0.1;
    auto const got = run(10min);
    BOOST_TEST(got.stopped.has_value());
    BOOST_TEST(got.redriven < 200u);
    until(5s, [] { return false; });
    BOOST_TEST(all(dead) == 2'000);
}

BOOST_AUTO_TEST_CASE(without_a_cutoff_each_is_tried_until_its_attempts_are_over)
{
    kill(20);
    options.cutoff = false;
    options.poison_url = poison;
    options.plan.max_attempts = 3;
    options.speed.rate = 5; // slow enough to see them come back
    auto const got = run(10min);
    until(5s, [] { return false; });
    auto const again = all(dead);
    BOOST_TEST(got.isolated + static_cast<std::size_t>(again) == 20u);
    BOOST_TEST(got.isolated > 0u);
    for (auto const& m : take(poison))
        BOOST_TEST(m.attributes.at("x-redrive-attempt").value == "3");
}

BOOST_AUTO_TEST_SUITE_END()
