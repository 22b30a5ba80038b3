#include <quern/fleet/budget.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::fleet;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(fleet_budget)

BOOST_AUTO_TEST_CASE(amounts_are_thousandths_a_second)
{
    BOOST_TEST((amounts_of({policy::rate{100}}) == amounts{100'000, 0}));
    BOOST_TEST((amounts_of({policy::rate{1, 3s}}) == amounts{333, 0}));
    BOOST_TEST((amounts_of({{}, 7}) == amounts{0, 7}));
}

BOOST_AUTO_TEST_CASE(a_budget_has_to_bound_something)
{
    BOOST_TEST(budget{}.validate().has_value());
    BOOST_TEST((budget{policy::rate{1, 1h}}.validate().has_value()));
    BOOST_TEST((budget{policy::rate{2'000'000}}.validate().has_value()));
    BOOST_TEST((!budget{policy::rate{100}, 5}.validate().has_value()));
    BOOST_TEST((budget{policy::rate{100}, 0}.validate().has_value()));
}

BOOST_AUTO_TEST_CASE(limits_of_a_slice)
{
    budget const rate{policy::rate{100}}, places{{}, 20}, both{policy::rate{100}, 20};
    auto const whole = limits_of({100'000, 0}, rate);
    BOOST_TEST((whole.rate == policy::rate{100'000, 1'000s, 5})); // a twentieth of a second
    BOOST_TEST(!whole.handler_concurrency.has_value());
    auto const eighth = limits_of({12'500, 0}, rate);
    BOOST_TEST((eighth.rate == policy::rate{12'500, 1'000s, 1}));
    for (auto const& limits : {limits_of({}, rate), limits_of({}, places), limits_of({50'000, 0}, both)}) {
        BOOST_TEST((limits.rate == policy::rate{1, 24h, 1, false}));
        BOOST_TEST(!limits.validate().has_value());
    }
    BOOST_TEST(!limits_of({0, 3}, places).rate.has_value());
    BOOST_TEST(limits_of({0, 3}, places).handler_concurrency.value() == 3u);
    BOOST_TEST((limits_of({1, 1}, both).rate == policy::rate{1, 1'000s, 1}));
}

// Each had a message before it had a slice: 108 in the first second of eight processes that share 100.
BOOST_AUTO_TEST_CASE(the_first_second_of_eight_processes_keeps_to_the_budget)
{
    budget const all{policy::rate{100}};
    int began = 0;
    for (int process = 0; process < 8; ++process) {
        auto now = tick() + 1h;
        policy::rate_limit limit(*limits_of({}, all).rate, now);
        for (auto const until = now + 1s; now < until; now += 1ms) {
            if (now == until - 900ms) limit.change(*limits_of({12'500, 0}, all).rate, now);
            auto const n = limit.available(now);
            limit.take(n, now);
            began += static_cast<int>(n);
        }
    }
    BOOST_TEST(began <= 100);
    BOOST_TEST(began >= 80);
}

BOOST_AUTO_TEST_CASE(the_text_of_amounts)
{
    BOOST_TEST(to_string(amounts{12'500, 3}) == "12.5/s and 3 at once");
    BOOST_TEST(to_string(amounts{0, 3}) == "3 at once");
    BOOST_TEST(to_string(amounts{}) == "0/s");
}

BOOST_AUTO_TEST_SUITE_END()
