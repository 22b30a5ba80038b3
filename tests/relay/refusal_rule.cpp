// What answers of 429 do to the rate: case by case, and against models of web services.

#include "relay/refusal_models.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::test;
using quern::relay::detail::refusal_rule;

namespace {

struct fed {
    refusal_rule rule;
    tick now = dawn;
    std::vector<double> limits; // each that was told; 0: none

    /// Seconds with so many answers each, evenly.
    fed& seconds(int count, int admitted, int refused)
    {
        for (int i = 0; i < count; ++i)
            second(admitted, refused);
        return *this;
    }

    /// Feeds until another limit is told; returns how many seconds that took, at most a thousand.
    int until_told(int admitted, int refused)
    {
        auto const before = limits.size();
        int out = 0;
        for (; limits.size() == before && out < 1'000; ++out)
            second(admitted, refused);
        return out;
    }

    double limit() const { return rule.limit().value_or(0); }

private:
    void second(int admitted, int refused)
    {
        auto const all = admitted + refused;
        auto const begins = now;
        rule.began(now);
        for (int i = 0; i < all; ++i) {
            now = begins + std::chrono::microseconds(1'000'000LL * (i + 1) / all);
            auto const is_refused = (i + 1) * refused / all != i * refused / all;
            auto const wall = wall_time(now.time_since_epoch());
            auto const change = rule.answered({std::size_t(!is_refused), std::size_t(is_refused)}, now, wall);
            if (change) limits.push_back(change->limit.value_or(0));
        }
        rule.ended(now);
    }
};

auto const about = boost::test_tools::tolerance(0.03);

/// A limit of 55 a second, for 50 are admitted.
fed limited()
{
    fed out;
    out.until_told(50, 150);
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(relay_refusal_rule)

BOOST_AUTO_TEST_CASE(without_many_refusals_there_is_no_limit)
{
    for (auto const& [admitted, refused] : {std::pair{100, 0}, {100, 2}, {70, 30}, {52, 48}}) {
        fed f;
        f.seconds(60, admitted, refused);
        BOOST_TEST(f.limits.empty(), refused);
    }
}

BOOST_AUTO_TEST_CASE(where_all_are_refused_a_limit_would_bring_nothing)
{
    fed f;
    f.seconds(60, 0, 200);
    BOOST_TEST(f.limits.empty());
    auto late = limited();
    late.until_told(0, 55);
    BOOST_TEST(late.limit() == 0);
}

BOOST_AUTO_TEST_CASE(as_many_admitted_as_before_beside_many_refusals_begin_a_trial_at_a_round_time)
{
    fed f;
    f.seconds(3, 50, 150);
    BOOST_TEST(f.limits.empty());
    f.until_told(50, 150);
    BOOST_TEST(f.limit() == 55, about);
    BOOST_TEST((f.now == dawn + 5s));
    f.seconds(8, 50, 5);
    BOOST_TEST(f.limit() == 55, about);
}

BOOST_AUTO_TEST_CASE(fewer_admitted_than_usual_are_a_burst_of_messages_that_are_refused_for_their_own_sake)
{
    fed f;
    f.seconds(4, 100, 0).seconds(3, 40, 160).seconds(3, 100, 0).seconds(3, 45, 155).seconds(3, 100, 0);
    BOOST_TEST(f.limits.empty());
}

BOOST_AUTO_TEST_CASE(a_limit_that_lowers_the_successes_goes_and_the_next_trial_waits_longer_each_time)
{
    fed f;
    f.until_told(60, 140);
    for (auto const pause : {10, 20, 40, 80, 160, 320, 320}) {
        BOOST_TEST(f.limit() == 66, about);
        BOOST_TEST(f.until_told(20, 46) <= 3); // the first second is of before
        BOOST_TEST(f.limit() == 0);
        auto const waited = f.until_told(60, 140);
        BOOST_TEST(waited >= pause / 2);
        BOOST_TEST(waited <= pause * 3 / 2 + 1);
    }
    f.seconds(20, 60, 6); // that one was right
    f.seconds(700, 60, 0);
    BOOST_TEST(f.until_told(60, 140) <= 8); // the failures are forgotten
    f.until_told(20, 46);
    BOOST_TEST(f.until_told(60, 140) <= 16); // the failures are forgotten
}

BOOST_AUTO_TEST_CASE(a_service_whose_limit_falls_is_followed)
{
    auto f = limited();
    f.until_told(50, 5); // more is tried
    f.until_told(50, 19);
    f.seconds(3, 50, 5);
    f.until_told(20, 35);
    BOOST_TEST(f.limit() == 22, about);
    f.seconds(8, 20, 2);
    BOOST_TEST(f.limit() == 22, about);
}

BOOST_AUTO_TEST_CASE(some_refusals_are_how_a_limit_looks_and_now_and_then_more_is_tried)
{
    auto f = limited();
    BOOST_TEST(f.until_told(50, 5) == 11); // ten windows, after the first second
    BOOST_TEST(f.limit() == 55 * 1.25, about);
    f.until_told(50, 19); // no more than before
    BOOST_TEST(f.limit() == 55, about);
}

BOOST_AUTO_TEST_CASE(what_grows_with_the_limit_has_none)
{
    auto f = limited();
    f.until_told(50, 5);
    f.until_told(62, 7); // as many are refused, but more are admitted
    BOOST_TEST(f.limit() == 55 * 1.25 * 1.5, about);
    f.until_told(92, 9);
    BOOST_TEST(f.limit() == 55 * 1.25 * 1.5 * 2, about);
    f.until_told(90, 10); // there is no more to do
    BOOST_TEST(f.limit() == 0);
}

BOOST_AUTO_TEST_CASE(without_refusals_it_is_over_within_seconds)
{
    auto f = limited();
    BOOST_TEST(f.until_told(55, 0) == 2);
    BOOST_TEST(f.limit() == 55 * 1.25, about);
    BOOST_TEST(f.until_told(68, 0) == 1);
    BOOST_TEST(f.limit() == 55 * 1.25 * 1.5, about);
    BOOST_TEST(f.until_told(103, 0) == 1);
    for (auto asked = 206; asked < 10'000; asked *= 4)
        BOOST_TEST(f.until_told(asked, 0) == 1);
    f.until_told(1'000, 0);
    BOOST_TEST(f.limit() == 0);
}

BOOST_AUTO_TEST_CASE(a_limit_above_what_is_wanted_goes)
{
    auto f = limited();
    f.until_told(20, 0);
    BOOST_TEST(f.limit() == 0);
}

// What was put off for five seconds came again at once, and the pause between was taken for a lack of success.
BOOST_AUTO_TEST_CASE(time_without_requests_does_not_count)
{
    auto f = limited();
    f.seconds(3, 50, 5);
    auto const told = f.limits.size();
    f.now += 1h;
    f.seconds(3, 50, 5);
    BOOST_TEST(f.limits.size() == told);
}

BOOST_AUTO_TEST_CASE(messages_that_are_refused_one_by_one_cost_no_throughput)
{
    for (double const part : {0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0}) {
        for (std::size_t const burst : {1, 50, 500}) {
            for (bool const told : {true, false}) {
                if (!told && burst != 50) continue; // takes its time
                BOOST_TEST_CONTEXT(part << " refused, in rows of " << burst << ", Retry-After: " << told)
                {
                    relay_model with, without;
                    if (!told) with.retry_after = without.retry_after = std::nullopt;
                    without.heeds = false;
                    with.run(one_by_one(part, burst, 5s), 120s);
                    without.run(one_by_one(part, burst, 5s), 120s);
                    BOOST_TEST(with.admitted_since(0) >= 0.9 * without.admitted_since(0));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_service_that_admits_so_many_a_second_gets_hardly_more)
{
    for (double const most : {5.0, 50.0, 500.0}) {
        for (bool const told : {true, false}) {
            for (bool const bucket : {true, false}) {
                BOOST_TEST_CONTEXT(most << " a second, by a bucket: " << bucket << ", Retry-After: " << told)
                {
                    relay_model m;
                    if (most > 100) m.at_once = 60;
                    if (!told) m.retry_after.reset();
                    cap const same = [=](tick) { return most; };
                    m.run(bucket ? by_bucket(same, most) : by_second(same), 60s);
                    BOOST_TEST(m.admitted_since(0) >= 0.9 * 60 * most);
                    BOOST_TEST(m.admitted_since(30) >= 0.9 * 30 * most);
                    BOOST_TEST(m.refused_part_since(30) <= 0.2);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_limit_of_the_service_that_changes_begins_or_ends_is_followed)
{
    struct {
        char const* what;
        double first, then;
    } const table[] = {{"rises", 20, 100}, {"falls", 100, 20}, {"ends", 20, 0}, {"begins", 0, 20}};
    for (auto const& [what, first, then] : table) {
        BOOST_TEST_CONTEXT("a limit that " << what)
        {
            cap const changes = [before = first, after = then](
                                    tick now) { return seconds_after_dawn(now) < 60 ? before : after; };
            for (bool const bucket : {true, false}) {
                auto const service = bucket ? by_bucket(changes, 20) : by_second(changes);
                relay_model with, without;
                with.at_once = without.at_once = 20;
                without.heeds = false;
                with.run(service, 120s);
                without.run(service, 120s);
                BOOST_TEST(with.admitted_since(0) >= 0.9 * without.admitted_since(0));
                BOOST_TEST(with.admitted_since(60) >= 0.9 * without.admitted_since(60));
                BOOST_TEST(with.refused_part_since(100) <= 0.2);
            }
        }
    }
}

// All that there is was put off for two seconds and came again within a fraction of one; between the crowds nothing
// was asked for. A limit that had been found was taken for twice what is asked for, and went; the next trial took
// minutes.
BOOST_AUTO_TEST_CASE(a_queue_whose_messages_all_come_again_at_once_keeps_to_the_limit_too)
{
    for (auto const after : {1s, 2s, 5s}) {
        for (auto const takes : {2ms, 10ms, 50ms}) {
            for (double const burst : {2, 5, 40}) {
                BOOST_TEST_CONTEXT(
                    "again after " << after.count() << " s, " << takes.count() << " ms, a bucket of " << burst)
                {
                    relay_model m;
                    m.messages = 2'000;
                    m.at_once = 50;
                    m.takes = takes;
                    m.retry_after = after;
                    m.run(by_bucket([](tick) { return 40.0; }, burst), 75s);
                    BOOST_TEST(m.admitted_since(0) == 2'000);
                    BOOST_TEST(m.refused_part_since(20) <= 0.2);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(two_programs_find_the_limit_of_one_service)
{
    relay_model m;
    m.relays = 2;
    m.at_once = 60;
    m.run(by_bucket([](tick) { return 400.0; }, 400), 60s);
    BOOST_TEST(m.admitted_since(30) >= 0.9 * 30 * 400);
    BOOST_TEST(m.refused_part_since(30) <= 0.2);
}

BOOST_AUTO_TEST_SUITE_END()
