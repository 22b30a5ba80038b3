#include <quern/redrive/run_rule.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <ostream>

using namespace quern;
using namespace quern::redrive;
using namespace std::chrono_literals;
using answer = run_rule::answer;

namespace quern::redrive {

static std::ostream& operator<<(std::ostream& to, run_rule::answer a)
{
    static char const* const names[] = {"go", "wait", "enough", "stopped"};
    return to << names[static_cast<int>(a)];
}

} // namespace quern::redrive

namespace {

using quern::test::t0;

/// Sends as fast as the rule lets it, and says how many within the time.
int sent_within(run_rule& rule, tick from, tick to)
{
    int count = 0;
    for (auto now = from; now < to;) {
        auto const said = rule.ask(now);
        if (said.what == answer::go) {
            rule.sent(now, 0ms);
            ++count;
        } else if (said.what == answer::wait && said.at) {
            BOOST_REQUIRE(*said.at > now);
            now = *said.at;
        } else {
            break;
        }
    }
    return count;
}

void send(run_rule& rule, int count, tick now, std::chrono::milliseconds delay = 0ms)
{
    for (int i = 0; i < count; ++i) {
        BOOST_REQUIRE(rule.ask(now).what == answer::go);
        rule.sent(now, delay);
        rule.removed(now);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(redrive_run_rule)

BOOST_AUTO_TEST_CASE(without_limits_all_go_at_once)
{
    run_rule rule({}, t0);
    for (int i = 0; i < 1'000; ++i)
        BOOST_TEST(rule.ask(t0).what == answer::go);
    BOOST_TEST(!rule.wants_depth());
}

BOOST_AUTO_TEST_CASE(a_rate_is_kept)
{
    run_limits limits;
    limits.rate = 10;
    run_rule rule(limits, t0);
    auto const sent = sent_within(rule, t0, t0 + 60s);
    BOOST_TEST(sent >= 600);
    BOOST_TEST(sent <= 602);
}

BOOST_AUTO_TEST_CASE(a_rate_below_one_a_second_is_kept_too)
{
    run_limits limits;
    limits.rate = 0.1;
    run_rule rule(limits, t0);
    BOOST_TEST(sent_within(rule, t0, t0 + 59s) == 6);
}

BOOST_AUTO_TEST_CASE(a_ramp_grows_evenly_and_stays_at_its_top)
{
    run_limits limits;
    limits.ramp = ramp{10, 110, 100s};
    run_rule rule(limits, t0);
    auto const first = sent_within(rule, t0, t0 + 10s); // 10 to 20 a second
    BOOST_TEST(first > 130);
    BOOST_TEST(first < 170);
    sent_within(rule, t0 + 10s, t0 + 100s);
    auto const later = sent_within(rule, t0 + 100s, t0 + 110s);
    BOOST_TEST(later > 1'070);
    BOOST_TEST(later < 1'130);
}

BOOST_AUTO_TEST_CASE(what_is_isolated_goes_at_any_rate)
{
    run_limits limits;
    limits.rate = 0.1;
    run_rule rule(limits, t0);
    BOOST_TEST(rule.ask(t0).what == answer::go);
    BOOST_TEST(rule.ask(t0).what == answer::wait);
    for (int i = 0; i < 100; ++i)
        BOOST_TEST(rule.ask(t0, false).what == answer::go);
}

BOOST_AUTO_TEST_CASE(a_failure_halves_the_rate_until_it_has_been_quiet_for_a_while)
{
    run_limits limits;
    limits.rate = 100;
    run_rule rule(limits, t0);
    sent_within(rule, t0, t0 + 1s);
    rule.send_failed(t0 + 1s);
    rule.send_failed(t0 + 1s);
    auto const slow = sent_within(rule, t0 + 1s, t0 + 9s); // a quarter of it
    BOOST_TEST(slow > 180);
    BOOST_TEST(slow < 225);
    sent_within(rule, t0 + 9s, t0 + 40s);
    auto const fast = sent_within(rule, t0 + 40s, t0 + 42s);
    BOOST_TEST(fast > 190);
}

BOOST_AUTO_TEST_CASE(the_limit_counts_what_was_sent_and_what_was_isolated)
{
    run_limits limits;
    limits.limit = 3;
    run_rule rule(limits, t0);
    BOOST_TEST(rule.ask(t0).what == answer::go);
    BOOST_TEST(rule.ask(t0, false).what == answer::go);
    BOOST_TEST(rule.ask(t0).what == answer::go);
    BOOST_TEST(rule.ask(t0).what == answer::enough);
    rule.withdrawn(); // one failed: another may take its place
    BOOST_TEST(rule.ask(t0).what == answer::go);
    BOOST_TEST(rule.ask(t0).what == answer::enough);
}

BOOST_AUTO_TEST_CASE(a_canary_goes_ahead_and_is_watched_from_when_it_can_be_received)
{
    run_limits limits;
    limits.canary = canary{2, 5min};
    limits.depth_lag = 0ms;
    run_rule rule(limits, t0);
    rule.depth_is(100, 0, t0);
    send(rule, 1, t0, 60s);
    BOOST_TEST(rule.ask(t0).what == answer::go);
    BOOST_TEST(rule.ask(t0).what == answer::wait); // the second is under way
    rule.sent(t0 + 1s, 60s);
    rule.removed(t0 + 1s);
    auto const watching = rule.ask(t0 + 2s);
    BOOST_TEST(watching.what == answer::wait);
    BOOST_TEST(watching.at.value() == t0 + 361s);
    BOOST_TEST((rule.watches_for(t0 + 2s) == 359s));
    BOOST_TEST(rule.ask(t0 + 361s).what == answer::wait); // for a look at the queue
    rule.depth_is(98, 2, t0 + 361s);
    BOOST_TEST(rule.ask(t0 + 361s).what == answer::go);
    BOOST_TEST(rule.ask(t0 + 361s).what == answer::go);
    BOOST_TEST(!rule.watches_for(t0 + 361s));
    BOOST_TEST(!rule.wants_depth());
}

BOOST_AUTO_TEST_CASE(one_of_the_canary_that_comes_back_ends_the_run)
{
    run_limits limits;
    limits.canary = canary{2, 5min};
    run_rule rule(limits, t0);
    send(rule, 2, t0);
    rule.came_back();
    BOOST_TEST(rule.ask(t0 + 1s).what == answer::stopped);
    BOOST_TEST(rule.why_stopped().value() == "canary: 1 of 2 messages have come back (50 %); the limit is 0 %");
}

BOOST_AUTO_TEST_CASE(a_queue_that_grows_again_ends_the_canary_though_nothing_was_received_again)
{
    run_limits limits;
    limits.canary = canary{10, 5min};
    limits.stop_on_return = 0.2;
    limits.depth_lag = 0ms;
    run_rule rule(limits, t0);
    rule.depth_is(1'000, 0, t0);
    send(rule, 10, t0);
    rule.depth_is(992, 10, t0 + 1min);
    BOOST_TEST(!rule.why_stopped()); // two of ten
    rule.depth_is(993, 10, t0 + 2min);
    BOOST_TEST(rule.why_stopped().has_value());
}

BOOST_AUTO_TEST_CASE(the_ramp_begins_when_the_canary_is_over)
{
    run_limits limits;
    limits.canary = canary{1, 1min};
    limits.ramp = ramp{1, 1'000, 10s};
    run_rule rule(limits, t0);
    send(rule, 1, t0);
    auto const first = sent_within(rule, t0 + 1min, t0 + 1min + 1s);
    BOOST_TEST(first < 200);
}

BOOST_AUTO_TEST_CASE(a_halt_is_no_time_of_a_canary_or_a_ramp)
{
    run_limits limits;
    limits.canary = canary{2, 5min};
    run_rule rule(limits, t0);
    rule.halted(t0, t0 + 1h); // of nothing that was sent
    send(rule, 1, t0 + 1h);
    rule.halted(t0 + 1h, t0 + 2h);
    send(rule, 1, t0 + 2h, 20min);
    rule.halted(t0 + 2h, t0 + 2h + 10min); // before it can be received
    BOOST_TEST(rule.ask(t0 + 2h + 24min).at.value() == t0 + 2h + 25min);
    rule.halted(t0 + 2h + 24min, t0 + 3h);
    BOOST_TEST(rule.ask(t0 + 3h).at.value() == t0 + 3h + 5min);
    BOOST_TEST(rule.ask(t0 + 3h + 5min).what == answer::go);

    limits.canary.reset();
    limits.ramp = ramp{1, 1'000, 10s};
    run_rule growing(limits, t0);
    growing.halted(t0, t0 + 1h);
    auto const first = sent_within(growing, t0 + 1h, t0 + 1h + 1s);
    BOOST_TEST(first < 200);
}

BOOST_AUTO_TEST_CASE(more_returns_than_are_borne_end_the_run)
{
    run_limits limits;
    limits.stop_on_return = 0.05;
    run_rule rule(limits, t0);
    send(rule, 100, t0);
    for (int i = 0; i < 5; ++i)
        rule.came_back();
    BOOST_TEST(rule.ask(t0).what == answer::go);
    rule.came_back();
    BOOST_TEST(rule.ask(t0).what == answer::stopped);
}

// The service's count may be a minute old. What was taken out since then must not look like growth.
BOOST_AUTO_TEST_CASE(a_count_that_lags_behind_is_no_growth)
{
    run_limits limits;
    limits.stop_on_return = 0;
    run_rule rule(limits, t0);
    rule.depth_is(1'000, 0, t0);
    for (int s = 0; s < 60; ++s) {
        send(rule, 10, t0 + s * 1s);
        rule.depth_is(1'000, rule.removed_count(), t0 + s * 1s); // as it was
    }
    BOOST_TEST(!rule.why_stopped());
    rule.depth_is(1'000, rule.removed_count(), t0 + 200s); // by now it should be 400
    BOOST_TEST(rule.came_back_count() == 600u);
    BOOST_TEST(rule.why_stopped().has_value());
}

// A look that was asked for before a delete and answered after it.
BOOST_AUTO_TEST_CASE(what_is_removed_while_the_queue_is_looked_at_is_no_growth)
{
    run_limits limits;
    limits.stop_on_return = 0;
    limits.depth_lag = 0ms;
    run_rule rule(limits, t0);
    rule.depth_is(10, 0, t0);
    auto const before = rule.removed_count();
    send(rule, 3, t0);
    rule.depth_is(10, before, t0);
    BOOST_TEST(!rule.why_stopped());
}

BOOST_AUTO_TEST_CASE(so_many_failures_in_so_long_end_the_run)
{
    run_limits limits;
    limits.stop_on_failure = failure_limit{3, 1min};
    run_rule rule(limits, t0);
    rule.send_failed(t0);
    rule.send_failed(t0 + 30s);
    rule.send_failed(t0 + 61s); // the first is forgotten
    BOOST_TEST(!rule.why_stopped());
    rule.send_failed(t0 + 62s);
    BOOST_TEST(rule.why_stopped().value() == "3 sends failed within 60 s");
}

BOOST_AUTO_TEST_CASE(the_first_reason_to_stop_stays)
{
    run_rule rule({}, t0);
    rule.stop("one");
    rule.stop("two");
    BOOST_TEST(rule.why_stopped().value() == "one");
    BOOST_TEST(rule.ask(t0, false).what == answer::stopped);
}

BOOST_AUTO_TEST_CASE(limits_that_cannot_work_are_named)
{
    auto const complaint = [](auto change) {
        run_limits limits;
        change(limits);
        auto const wrong = limits.validate();
        return wrong ? wrong->message : std::string();
    };
    BOOST_TEST(complaint([](run_limits&) {}) == "");
    BOOST_TEST(complaint([](run_limits& l) { l.rate = 0; }) == "rate must be 0.1 to 100,000 messages a second");
    BOOST_TEST(complaint([](run_limits& l) {
        l.rate = 1;
        l.ramp = ramp{1, 2, 10s};
    }) == "rate and ramp are two answers to one question: give one");
    BOOST_TEST(complaint([](run_limits& l) { l.ramp = ramp{1, 2, 0s}; }) == "ramp: its time must be 1 s to 24 h");
    BOOST_TEST(complaint([](run_limits& l) { l.canary = canary{0, 1s}; }) == "canary must be at least 1 message");
    BOOST_TEST(complaint([](run_limits& l) { l.stop_on_return = 1.5; }) == "stop_on_return must be 0 to 100 %");
    BOOST_TEST(complaint([](run_limits& l) { l.limit = 0; }) == "limit must be at least 1");
}

BOOST_AUTO_TEST_CASE(what_may_have_been_sent_has_its_place_in_the_limit)
{
    run_limits limits;
    limits.limit = 3;
    run_rule rule(limits, t0);
    rule.begin_with(2); // of one the end is not known
    BOOST_TEST(rule.ask(t0).what == answer::go);
    BOOST_TEST(rule.ask(t0).what == answer::enough);
    BOOST_TEST(rule.ask(t0, true, true).what == answer::go);
    rule.withdrawn(true, true);
    BOOST_TEST(rule.ask(t0).what == answer::enough);
    BOOST_TEST(rule.ask(t0, true, true).what == answer::go);
}

BOOST_AUTO_TEST_SUITE_END()
