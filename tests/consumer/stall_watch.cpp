#include <quern/consumer/detail/stall_watch.hpp>
#include <quern/consumer/explanation.hpp>

#include "support/t0.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

using quern::test::t0;

} // namespace

BOOST_AUTO_TEST_SUITE(stall_watch_rule)

BOOST_AUTO_TEST_CASE(a_standstill_is_told_after_a_while_and_then_ever_more_rarely)
{
    stall_watch rule(60s, t0);
    std::vector<std::int64_t> told;
    for (auto now = t0; now <= t0 + 20min; now += 1s)
        if (rule.due(0, false, now)) told.push_back((now - t0) / 1s);
    BOOST_TEST(told == (std::vector<std::int64_t>{60, 120, 240, 480, 960}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_moves_is_no_standstill)
{
    stall_watch rule(60s, t0);
    std::uint64_t progress = 0;
    for (auto now = t0; now <= t0 + 1h; now += 59s)
        BOOST_TEST(!rule.due(++progress, false, now));
    BOOST_TEST(rule.wake_at() > t0 + 1h);
}

BOOST_AUTO_TEST_CASE(nor_is_what_stands_still_on_purpose)
{
    stall_watch rule(60s, t0);
    BOOST_TEST(!rule.due(0, true, t0 + 1h));
    BOOST_TEST(!rule.due(0, false, t0 + 1h + 59s));
    BOOST_TEST(rule.due(0, false, t0 + 1h + 60s));
    BOOST_TEST(rule.since() == t0 + 1h);
}

// Stop and go: a second's patience is no licence for a line every second.
BOOST_AUTO_TEST_CASE(never_twice_in_a_minute)
{
    stall_watch rule(1s, t0);
    std::vector<tick> told;
    std::uint64_t progress = 0;
    for (auto now = t0; now <= t0 + 30min; now += 500ms) {
        if ((now - t0) / 500ms % 7 == 0) ++progress;
        if (rule.due(progress, false, now)) told.push_back(now);
    }
    BOOST_TEST(told.size() > 20u);
    for (std::size_t i = 1; i < told.size(); ++i)
        BOOST_TEST(told[i] - told[i - 1] >= 1min);
}

BOOST_AUTO_TEST_CASE(zero_is_never)
{
    stall_watch rule(0s, t0);
    BOOST_TEST(!rule.due(0, false, t0 + 24h));
    BOOST_TEST(!rule.wake_at().has_value());
}

BOOST_AUTO_TEST_CASE(an_explanation_is_a_sentence_and_json)
{
    explanation e;
    BOOST_TEST(to_string(e) == "0 receives open, 0 messages in flight; nothing is in the way");
    BOOST_TEST(to_json(e) ==
        R"({"ready":false,"polls":0,"in_flight":0,"running":0,"settling":0,"bytes":0,"quiet_ms":0,"limits":)"
        R"({"max_in_flight":1000,"max_polls":16,"max_bytes_in_flight":268435456},"obstacles":[],"remarks":[]})");
    e.polls = 1;
    e.in_flight = 2;
    e.running = 1;
    e.bytes = 300;
    e.quiet = 61'500ms;
    e.obstacles.push_back({"paused", "paused: \"deploy\""});
    e.remarks.push_back("SQS is silent");
    e.settling = 1;
    e.oldest = {"m-1", 95'900ms, "running"};
    e.last_problem = {"receive failed: refused", 3s};
    BOOST_TEST(to_string(e) ==
        "1 receive open, 2 messages in flight; paused: \"deploy\"; the oldest message, m-1, has been here for 95 s, "
        "its "
        "handler runs; SQS is silent; the last problem, 3 s ago: receive failed: refused");
    BOOST_TEST(to_json(e) ==
        R"({"ready":false,"polls":1,"in_flight":2,"running":1,"settling":1,"bytes":300,"quiet_ms":61500,"limits":)"
        R"({"max_in_flight":1000,"max_polls":16,"max_bytes_in_flight":268435456},)"
        R"("obstacles":[{"name":"paused","text":"paused: \"deploy\""}],"remarks":["SQS is silent"],)"
        R"("oldest":{"message_id":"m-1","age_ms":95900,"state":"running"},)"
        R"("last_problem":{"text":"receive failed: refused","ago_ms":3000}})");
}

BOOST_AUTO_TEST_SUITE_END()
