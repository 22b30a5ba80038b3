#include <quern/policy/detail/age.hpp>

#include <boost/test/unit_test.hpp>

#include <random>

using namespace quern::policy;
using namespace quern::policy::detail;
using namespace std::chrono_literals;
using quern::wall_time;
using std::chrono::milliseconds;

namespace {

wall_time const first = wall_time(1'700'000'000s);
auto const far = {wall_time::min(), wall_time(), wall_time::max()};
auto const lengths = {milliseconds::min(), -1ms, 0ms, 1ms, milliseconds(24h), milliseconds::max()};

} // namespace

BOOST_AUTO_TEST_SUITE(age_policy)

BOOST_AUTO_TEST_CASE(a_delay_that_ends_in_time_stays_as_it_is)
{
    BOOST_TEST(within_age(first, first, 90s, 1h) == 90s);
    BOOST_TEST(within_age(first, first + 59min, 1'500ms, 1h) == 1'500ms);
    BOOST_TEST(within_age(first, first + 59min, 60s, 1h) == 60s);
    BOOST_TEST(within_age(first, first + 59min, 0ms, 1h) == 0ms);
    BOOST_TEST(within_age(first, first + 59min, -5s, 1h) == 0ms);
}

BOOST_AUTO_TEST_CASE(a_delay_that_ends_too_late_is_cut_so_that_one_try_remains)
{
    BOOST_TEST(within_age(first, first + 59min, 61s, 1h) == 60s);
    BOOST_TEST(
        (within_age(first, first + 50min + 300ms, 15min, 1h) == 599s)); // whole seconds: rounded up it were late
}

BOOST_AUTO_TEST_CASE(without_a_whole_second_left_a_message_is_too_old)
{
    BOOST_TEST(within_age(first, first + 1h - 1s, 15min, 1h) == 1s);
    BOOST_TEST(!within_age(first, first + 1h - 999ms, 15min, 1h));
    BOOST_TEST(!within_age(first, first + 1h - 999ms, 0ms, 1h));
    BOOST_TEST(!within_age(first, first + 1h, 0ms, 1h));
    BOOST_TEST(!within_age(first, first + 24h, 1s, 1h));
    BOOST_TEST(!within_age(first, first, 1s, 0ms));
    BOOST_TEST(!within_age(first, first, 1s, -1h));
}

BOOST_AUTO_TEST_CASE(a_first_receive_in_the_future_is_a_wrong_clock)
{
    BOOST_TEST(within_age(first + 5min, first, 2h, 1h) == 1h);
}

BOOST_AUTO_TEST_CASE(every_last_try_falls_within_the_age_and_no_message_is_tried_for_ever)
{
    std::mt19937_64 random(1);
    auto const up_to = [&](milliseconds most) {
        return milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, most.count())(random));
    };
    for (int run = 0; run < 500; ++run) {
        auto const max_age = up_to(6h);
        auto now = first + up_to(1s);
        int tries = 1;
        while (auto const delay = within_age(first, now, up_to(20min), max_age)) {
            auto const hidden = std::chrono::ceil<std::chrono::seconds>(*delay); // as SQS takes it
            BOOST_REQUIRE(now + hidden <= first + max_age);
            now += hidden + up_to(3s) + 1ms;
            BOOST_REQUIRE(++tries < 6 * 3'600 * 1'000);
        }
        BOOST_TEST(now > first + max_age - 1s);
    }
}

BOOST_AUTO_TEST_CASE(no_two_times_and_no_length_overflow)
{
    for (auto const from : far)
        for (auto const to : far)
            for (auto const delay : lengths)
                for (auto const limit : lengths) {
                    auto const d = within_age(from, to, delay, limit);
                    BOOST_TEST((!d || (*d >= 0ms && *d <= std::max(delay, 0ms))));
                    auto const until = delay_until(from, to, limit);
                    BOOST_TEST(until >= 0ms);
                    BOOST_TEST(until <= std::max(limit, 0ms));
                }
}

BOOST_AUTO_TEST_CASE(a_message_waits_until_a_time_of_day)
{
    BOOST_TEST(delay_until(first + 90min, first) == 90min);
    BOOST_TEST(delay_until(first + 1'500us, first) == 2ms); // never early
    BOOST_TEST(delay_until(first, first) == 0ms);
    BOOST_TEST(delay_until(first, first + 1h) == 0ms);
    BOOST_TEST(delay_until(first + 36h, first) == 12h);
    BOOST_TEST(delay_until(first + 36h, first, 11h + 59min) == 11h + 59min);
    BOOST_TEST(delay_until(first + 36h, first, -1s) == 0ms);
}

BOOST_AUTO_TEST_SUITE_END()
