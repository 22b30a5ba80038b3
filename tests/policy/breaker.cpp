#include "policy/breaker_bench.hpp"

#include <limits>
#include <map>
#include <random>

using namespace quern::test;
using quern::tick;

BOOST_AUTO_TEST_SUITE(breaker_policy)

BOOST_AUTO_TEST_CASE(closed_it_lets_everything_through)
{
    bench b;
    b.succeed(1'000);
    b.fail(900);
    BOOST_TEST(b.state() == phase::closed);
    BOOST_TEST(b.allowance() == breaker::unlimited);
    BOOST_TEST(!b.it->wake_at());
    BOOST_TEST(b.it->explain(b.now) == "closed");
}

BOOST_AUTO_TEST_CASE(it_opens_when_the_ratio_is_reached_among_enough_calls)
{
    bench b;
    b.fail(19);
    BOOST_TEST(b.state() == phase::closed);
    b.fail();
    BOOST_TEST(b.state() == phase::open);
    BOOST_TEST(b.allowance() == 0u);
    BOOST_TEST(b.open_for() == 5s);
    BOOST_TEST(b.it->explain(b.now + 1'500ms) == "open for 4 s more: 100 % of the calls failed");

    bench c;
    c.succeed(30);
    c.fail(29);
    BOOST_TEST(c.state() == phase::closed);
    c.fail();
    BOOST_TEST(c.state() == phase::open);
}

BOOST_AUTO_TEST_CASE(good_news_never_opens)
{
    bench b;
    b.fail(19);
    b.succeed(); // the 20th call, and still 95 % failed
    BOOST_TEST(b.state() == phase::closed);
}

BOOST_AUTO_TEST_CASE(what_is_older_than_the_window_does_not_count)
{
    bench b;
    b.fail(19);
    b.now += 11s;
    b.fail(19);
    BOOST_TEST(b.state() == phase::closed);
    b.now += 5s;
    b.fail();
    BOOST_TEST(b.state() == phase::open);
}

BOOST_AUTO_TEST_CASE(three_calls_in_a_row_that_find_it_unavailable_open_at_once)
{
    bench b;
    b.succeed(10'000);
    b.unavailable(2);
    BOOST_TEST(b.state() == phase::closed);
    b.unavailable();
    BOOST_TEST(b.state() == phase::open);
    BOOST_TEST(b.it->explain(b.now) == "open for 5 s more: 3 calls in a row found the dependency unavailable");
}

BOOST_AUTO_TEST_CASE(a_call_that_fails_by_itself_has_reached_it)
{
    bench b;
    b.succeed(10'000);
    b.unavailable(2);
    b.fail();
    b.unavailable(2);
    b.succeed();
    b.unavailable(2);
    BOOST_TEST(b.state() == phase::closed);
}

// One whose own backend was gone stopped everything.
BOOST_AUTO_TEST_CASE(one_message_or_two_never_open_it_whatever_they_say)
{
    bench b;
    for (int i = 0; i < 1'000; ++i) {
        b.it->unavailable(b.it->start(), 1, b.now);
        b.it->failed(b.it->start(), 2, b.now);
        b.now += 10ms;
    }
    for (int i = 0; i < 1'000; ++i)
        b.it->unavailable(b.it->start(), 1u + static_cast<std::uint64_t>(i % 2), b.now);
    BOOST_TEST(b.state() == phase::closed);
    b.it->unavailable(b.it->start(), 3, b.now);
    BOOST_TEST(b.state() == phase::open);
}

BOOST_AUTO_TEST_CASE(failures_of_three_messages_within_the_window_are_needed_and_no_older_ones)
{
    bench b;
    b.fail(2);
    b.now += 10s;
    for (int i = 0; i < 30; ++i)
        b.it->failed(b.it->start(), 1, b.now);
    b.it->failed(b.it->start(), 2, b.now);
    BOOST_TEST(b.state() == phase::closed);
    b.it->failed(b.it->start(), 3, b.now);
    BOOST_TEST(b.state() == phase::open);
}

BOOST_AUTO_TEST_CASE(where_half_of_all_messages_are_always_unavailable_it_takes_twenty_in_a_row)
{
    breaker_options options;
    options.failure_ratio = 1;
    bench b(options);
    b.get_used_to_unavailable(5);
    BOOST_TEST(b.state() == phase::closed);
    b.unavailable(18);
    BOOST_TEST(b.state() == phase::closed);
    b.unavailable(3);
    BOOST_TEST(b.state() == phase::open);
}

BOOST_AUTO_TEST_CASE(where_most_calls_fail_anyway_only_a_run_that_chance_does_not_explain_opens_it)
{
    breaker_options options;
    options.failure_ratio = 1;
    bench b(options);
    b.get_used_to_failures(7);
    b.now += 11s; // an empty window
    b.fail(30);
    BOOST_TEST(b.state() == phase::closed);
    b.fail(20);
    BOOST_TEST(b.state() == phase::open);
    BOOST_TEST(b.it->reason() == "100 % of the calls failed");
}

BOOST_AUTO_TEST_CASE(unavailable_weighs_as_three_failures)
{
    auto const opens = [](int successes) {
        bench b;
        for (int i = 0; i < 10; ++i) {
            b.succeed(successes);
            b.unavailable();
        }
        return b.state() == phase::open;
    };
    BOOST_TEST(opens(3));
    BOOST_TEST(!opens(4));
}

BOOST_AUTO_TEST_CASE(late_results_neither_close_nor_open)
{
    bench b;
    auto const early = b.it->start();
    b.unavailable(3);
    b.it->succeeded(early, b.now);
    BOOST_TEST(b.state() == phase::open);
    b.doze();
    b.it->succeeded(early, b.now);
    b.it->failed(early, 1, b.now);
    b.it->unavailable(early, 2, b.now);
    BOOST_TEST(b.state() == phase::half_open);
    BOOST_TEST(b.allowance() == 1u);

    auto const probe = b.it->start();
    b.it->succeeded(probe, b.now);
    BOOST_TEST(b.state() == phase::slow_start);
    for (std::uint64_t i = 0; i < 100; ++i)
        b.it->failed(early, i, b.now);
    BOOST_TEST(b.state() == phase::slow_start);
    b.unavailable(5); // three were chance, as it seemed: it takes more now
    b.doze();
    b.it->succeeded(probe, b.now); // of the half-open time before
    BOOST_TEST(b.state() == phase::half_open);
}

BOOST_AUTO_TEST_CASE(what_is_reported_while_open_changes_nothing)
{
    bench b;
    b.unavailable(3);
    auto const until = *b.it->wake_at();
    b.succeed(100);
    b.fail(100);
    b.unavailable(100);
    BOOST_TEST(b.state() == phase::open);
    BOOST_TEST(*b.it->wake_at() == until);
    b.doze();
    BOOST_TEST(b.state() == phase::half_open);
    b.unavailable(); // the hundred successes don't make up for it
    BOOST_TEST(b.state() == phase::open);
}

BOOST_AUTO_TEST_CASE(a_flag_from_outside_halts_everything_while_it_is_set)
{
    bench b;
    auto const early = b.it->start();
    b.it->force_open(true);
    BOOST_TEST(b.state() == phase::open);
    BOOST_TEST(!b.it->wake_at());
    BOOST_TEST(b.it->explain(b.now) == "open as long as its flag is set");
    b.now += 48h;
    b.it->force_open(true);
    BOOST_TEST(b.allowance() == 0u);

    b.it->force_open(false);
    BOOST_TEST(b.it->wake_at().has_value());
    BOOST_TEST(b.allowance() == 1u);
    BOOST_TEST(b.it->state() == phase::half_open);
    b.it->succeeded(early, b.now);
    BOOST_TEST(b.state() == phase::half_open);
    b.succeed();
    BOOST_TEST(b.state() == phase::slow_start);

    b.it->force_open(true);
    BOOST_TEST(b.allowance() == 0u);
    b.it->force_open(false);
    BOOST_TEST(b.allowance() == 1u);
    b.unavailable();
    BOOST_TEST(b.open_for() == 5s); // a flag is no failed probe
}

BOOST_AUTO_TEST_CASE(a_flag_taken_back_ends_no_other_opening)
{
    bench b;
    b.unavailable(3);
    b.it->force_open(true);
    b.it->force_open(false);
    BOOST_TEST(b.state() == phase::open);
    BOOST_TEST(b.open_for() == 5s);
    b.it->force_open(true);
    b.now += 1min;
    BOOST_TEST(b.allowance() == 0u);
    b.it->force_open(false);
    BOOST_TEST(b.allowance() == 1u);
}

// Each time that the flag was taken back the run that had opened it before counted as an ordinary one once more.
BOOST_AUTO_TEST_CASE(a_flag_makes_no_run_of_an_earlier_opening_ordinary)
{
    auto const needed_after = [](int flags) {
        bench b;
        b.unavailable(3);
        b.now += 1min;
        b.succeed();
        for (; flags > 0; --flags) {
            b.it->force_open(true);
            b.it->force_open(false);
            b.succeed();
        }
        b.now += 1h;
        int needed = 0;
        for (; b.state() != phase::open && needed < 100; ++needed)
            b.unavailable();
        return needed;
    };
    BOOST_TEST(needed_after(50) == needed_after(0));
}

BOOST_AUTO_TEST_CASE(a_flag_that_was_never_set_may_be_taken_back)
{
    bench b;
    b.it->force_open(false);
    BOOST_TEST(b.state() == phase::closed);
}

BOOST_AUTO_TEST_CASE(whatever_happens_the_answer_changes_only_when_it_says_so_and_nothing_old_counts)
{
    std::mt19937_64 random(7);
    auto const up_to = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
    std::map<phase, int> seen;
    for (int run = 0; run < 60; ++run) {
        breaker_options options;
        options.min_calls = 1 + up_to(10);
        options.probes = 1u + static_cast<std::size_t>(up_to(2));
        options.full_speed = static_cast<std::size_t>(up_to(20));
        breaker it(options, static_cast<std::uint64_t>(run));
        tick now{};
        std::vector<breaker::ticket> started;
        bool forced = false;
        for (int i = 0; i < 1'000; ++i) {
            auto const before = it.allowance(now);
            ++seen[it.state()];
            BOOST_REQUIRE((before == 0) == (it.state() == phase::open));
            BOOST_REQUIRE((before == breaker::unlimited) == (it.state() == phase::closed));
            BOOST_REQUIRE((!forced || before == 0));

            auto const later = now + std::chrono::milliseconds(up_to(3'000));
            auto const wake = it.wake_at();
            if (wake) BOOST_REQUIRE(*wake > now);
            auto const until = wake ? std::min(*wake - 1ns, later) : later;
            BOOST_REQUIRE(it.allowance(until) == before);
            now = later;
            if (wake && *wake <= now) BOOST_REQUIRE(it.allowance(now) != before);

            started.push_back(it.start());
            auto const t = started[static_cast<std::size_t>(up_to(static_cast<int>(started.size()) - 1))];
            auto const state = (it.allowance(now), it.state());
            auto const allowed = it.allowance(now);
            switch (up_to(40)) {
            case 0: it.force_open(forced = !forced); continue;
            case 1:
            case 2: it.unavailable(t, random(), now); break;
            case 3:
            case 4:
            case 5: it.failed(t, random(), now); break;
            default: it.succeeded(t, now); break;
            }
            if (t != started.back()) {
                BOOST_REQUIRE(it.allowance(now) == allowed);
                BOOST_REQUIRE(it.state() == state);
            }
        }
    }
    for (auto const p : {phase::closed, phase::open, phase::half_open, phase::slow_start})
        BOOST_TEST(seen[p] > 500);
}

BOOST_AUTO_TEST_CASE(settings_that_cannot_work_are_refused_by_name)
{
    auto const refused = [](auto const& change) {
        breaker_options options;
        change(options);
        auto const why = options.validate();
        return why ? why->message.substr(0, why->message.find(' ')) : "";
    };
    BOOST_TEST(refused([](auto&) {}) == "");
    BOOST_TEST(refused([](auto& o) { o.window = 9ms; }) == "breaker.window");
    BOOST_TEST(refused([](auto& o) { o.window = 25h; }) == "breaker.window");
    BOOST_TEST(refused([](auto& o) { o.buckets = 0; }) == "breaker.buckets");
    BOOST_TEST(refused([](auto& o) { o.min_calls = 0; }) == "breaker.min_calls");
    for (auto const ratio : {std::numeric_limits<double>::quiet_NaN(), 0.0, -0.5, 1.01})
        BOOST_TEST(refused([&](auto& o) { o.failure_ratio = ratio; }) == "breaker.failure_ratio");
    BOOST_TEST(refused([](auto& o) { o.unavailable_weight = 0; }) == "breaker.unavailable_weight");
    for (auto const n : {0, 1, 65})
        BOOST_TEST(refused([&](auto& o) { o.unavailable_in_a_row = n; }) == "breaker.unavailable_in_a_row");
    BOOST_TEST(refused([](auto& o) { o.probes = 0; }) == "breaker.probes");
    BOOST_TEST(refused([](auto& o) { o.slow_start_round = -1ms; }) == "breaker.slow_start_round");
    BOOST_TEST(refused([](auto& o) { o.open_for = quern::policy::backoff::fixed({}); }) == "breaker.open_for.list");
}

BOOST_AUTO_TEST_SUITE_END()
