// Delays and statuses as the command line writes them, and the file of Elastic Beanstalk's daemon.

#include "quern/common/backoff_text.hpp"
#include "quern/consume/exit_rule.hpp"
#include "quern/relay/cron_schedule.hpp"
#include "quern/relay/periodic_tasks.hpp"
#include "quern/relay/sqsd_file.hpp"

#include <quern/core/detail/text/date.hpp>

#include <boost/test/unit_test.hpp>

#include <random>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::app;
using namespace std::chrono_literals;

namespace {

/// Seconds of the first receives, without chance.
std::string delays(std::string const& text, int receives = 6)
{
    auto const by = backoff_from(text + ",jitter=none");
    if (!by) return by.error().message;
    std::mt19937_64 random;
    std::string out;
    for (int n = 1; n <= receives; ++n)
        out += (out.empty() ? "" : " ") + std::to_string(by->delay(n, random).count() / 1000);
    return out;
}

std::string refused(std::string const& text)
{
    auto const by = backoff_from(text);
    return by ? "" : by.error().message;
}

} // namespace

BOOST_AUTO_TEST_SUITE(retry_settings)

BOOST_AUTO_TEST_CASE(a_series_of_delays_has_a_kind_a_first_delay_and_limits)
{
    BOOST_TEST(delays("exponential") == "1 2 4 8 16 32");
    BOOST_TEST(delays("exponential,2s,factor=3,cap=1m") == "2 6 18 54 60 60");
    BOOST_TEST(delays("linear,10s") == "10 20 30 40 50 60");
    BOOST_TEST(delays("linear,10s,step=5s,cap=20s") == "10 15 20 20 20 20");
    BOOST_TEST(delays("fibonacci,1s") == "1 1 2 3 5 8");
    BOOST_TEST(delays("5s,30s,2m") == "5 30 120 120 120 120");
    BOOST_TEST(delays("0s,10s") == "0 10 10 10 10 10");
    BOOST_TEST(delays("30s") == "30 30 30 30 30 30");
}

BOOST_AUTO_TEST_CASE(jitter_leaves_a_part_to_chance)
{
    std::mt19937_64 random;
    for (auto const& [text, least] :
        {std::pair("10s,jitter=half", 5s), {"10s,jitter=0.1", 9s}, {"10s,jitter=full", 0s}}) {
        auto const by = backoff_from(text).value();
        auto lowest = 10'000ms;
        for (int i = 0; i < 1'000; ++i)
            lowest = std::min(lowest, by.delay(1, random));
        BOOST_TEST((lowest >= least && lowest < least + 1s), text);
    }
}

BOOST_AUTO_TEST_CASE(a_series_that_makes_no_sense_is_refused)
{
    for (auto const* text : {"", "soon", "exponential,1s,2s", "linear,1s,factor=2", "5s,30s,cap=1m",
             "fibonacci,1s,step=1s", "5s,linear", "exponential,jitter=2", "1s,,2s"})
        BOOST_TEST(refused(text).starts_with("must be a series of delays"), text);
    BOOST_TEST(refused("exponential,1m,cap=1s") == "cannot be used: cap must not be below base");
    BOOST_TEST(refused("exponential,1m,cap=13h").starts_with("cannot be used: cap must not exceed 12 h"));
    BOOST_TEST(refused("13h") == "cannot be used: list must hold delays from 0 to 12 h");
}

BOOST_AUTO_TEST_CASE(an_exit_status_means_what_the_lists_say_then_what_sysexits_does)
{
    exit_rule rule;
    for (int status = 1; status < 256; ++status)
        BOOST_TEST((rule.of(status) == exit_meaning::retry));
    BOOST_TEST(!rule.may_reject());
    rule.reject = exit_statuses::parse("3,100-110").value();
    rule.unavailable = exit_statuses::parse("4").value();
    rule.malformed = exit_statuses::parse("5").value();
    BOOST_TEST(rule.may_reject());
    BOOST_TEST((rule.of(3) == exit_meaning::reject && rule.of(110) == exit_meaning::reject));
    BOOST_TEST((rule.of(4) == exit_meaning::unavailable && rule.of(5) == exit_meaning::malformed));
    BOOST_TEST((rule.of(111) == exit_meaning::retry && rule.of(65) == exit_meaning::retry));
    rule.sysexits = true;
    rule.retry = exit_statuses::parse("77").value();
    BOOST_TEST((rule.of(65) == exit_meaning::malformed && rule.of(67) == exit_meaning::reject));
    BOOST_TEST((rule.of(69) == exit_meaning::unavailable && rule.of(71) == exit_meaning::unavailable));
    BOOST_TEST((rule.of(75) == exit_meaning::retry && rule.of(77) == exit_meaning::retry));
    for (auto const* wrong : {"0", "256", "x", "7-3", "1-", "-1"})
        BOOST_TEST(!exit_statuses::parse(wrong).has_value(), wrong);
}

BOOST_AUTO_TEST_CASE(the_file_of_the_daemon_is_read)
{
    relay_settings into;
    std::vector<std::string> warnings;
    auto const done = read_sqsd_file("---\n# the daemon's\nqueue_url: \"https://sqs/1/orders\"\nhttp_port: 8080\n"
                                     "http_path: work   # where\n:http_connections: 7\nmime_type: text/plain\n"
                                     "inactivity_timeout: 299\nconnect_timeout: 3\nvisibility_timeout: 300\n"
                                     "error_visibility_timeout: 11\nretention_period: 345600\nvia_sns: false\r\n",
        "default.yaml", into, warnings);
    BOOST_REQUIRE(done.has_value());
    BOOST_TEST(into.queue == "https://sqs/1/orders");
    BOOST_TEST(into.url == "http://localhost:8080/work");
    BOOST_TEST(into.concurrency == 7u);
    BOOST_TEST(into.relay.request.content_type == "text/plain");
    BOOST_TEST((into.relay.timeout == 299s && into.web.connect_timeout == 3s));
    BOOST_TEST((into.visibility_timeout == 300s && into.max_age == 96h));
    BOOST_TEST((into.relay.outcome.usual_delay == 11s));
    BOOST_REQUIRE(warnings.size() == 1u);
    BOOST_TEST(warnings[0] == "default.yaml: via_sns is not known here and changes nothing");
    BOOST_TEST(read_sqsd_file("error_visibility_timeout: -1", "f", into, warnings).has_value());
    BOOST_TEST(!into.relay.outcome.usual_delay.has_value()); // the backoff
}

BOOST_AUTO_TEST_CASE(a_mistake_in_it_is_told_with_its_line)
{
    relay_settings into;
    std::vector<std::string> warnings;
    auto const why = [&](char const* text) { return read_sqsd_file(text, "f", into, warnings).error().message; };
    BOOST_TEST(why("queue_url: q\nnonsense") == "f, line 2: no \"key: value\"");
    BOOST_TEST(why("error_visibility_timeout: soon").starts_with("f, line 1: error_visibility_timeout must be"));
    BOOST_TEST(why("http_connections: 0").starts_with("f, line 1: http_connections must be a whole number"));
}

BOOST_AUTO_TEST_CASE(a_schedule_of_cron_says_when_it_is_due_next)
{
    auto const next = [](char const* schedule, char const* now) {
        auto const at = cron_schedule::parse(schedule).value().next_after(*quern::detail::text::parse_rfc3339(now));
        return at ? quern::detail::text::rfc3339(*at) : std::string("never");
    };
    struct {
        char const *schedule, *now, *due;
    } const table[] = {
        {"* * * * *", "2026-03-01T11:30:00Z", "2026-03-01T11:31:00Z"},
        {"* * * * *", "2026-03-01T11:30:59Z", "2026-03-01T11:31:00Z"},
        {"0 */12 * * *", "2026-03-01T11:30:00Z", "2026-03-01T12:00:00Z"},
        {"*/20 5,7-8 * * *", "2026-03-01T05:40:00Z", "2026-03-01T07:00:00Z"},
        {"30 6 * * mon-fri", "2026-03-06T06:30:00Z", "2026-03-09T06:30:00Z"},
        {"0 0 * * 7", "2026-03-02T00:00:00Z", "2026-03-08T00:00:00Z"},
        {"0 0 13 * fri", "2026-03-07T00:00:00Z", "2026-03-13T00:00:00Z"},
        {"0 0 13 * tue", "2026-03-07T00:00:00Z", "2026-03-10T00:00:00Z"}, // either day is enough
        {"59 23 31 dec *", "2026-03-01T00:00:00Z", "2026-12-31T23:59:00Z"},
        {"0 0 29 2 *", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
        {"0 0 30 2 *", "2026-03-01T00:00:00Z", "never"},
    };
    for (auto const& row : table)
        BOOST_TEST(next(row.schedule, row.now) == row.due, row.schedule << " after " << row.now);
    for (auto const* wrong : {"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "5-3 * * * *",
             "*/0 * * * *", "* * * * someday", "1, * * * *"})
        BOOST_TEST(!cron_schedule::parse(wrong).has_value(), wrong);
}

BOOST_AUTO_TEST_CASE(the_file_of_periodic_tasks_is_read)
{
    auto const tasks =
        read_cron_file("version: 1\ncron:\n - name: \"backup-job\"  # nightly\n   url: \"/backup\"\n"
                       "   schedule: \"0 */12 * * *\"\n - name: audit\n   url: /audit\n   schedule: 0 23 * * *\n",
            "cron.yaml");
    BOOST_REQUIRE(tasks.has_value());
    BOOST_REQUIRE(tasks->size() == 2u);
    BOOST_TEST(tasks->front().name == "backup-job");
    BOOST_TEST(tasks->front().path == "/backup");
    BOOST_TEST(tasks->back().name == "audit");
    auto const why = [](char const* text) { return read_cron_file(text, "f").error().message; };
    BOOST_TEST(why("cron:\n - name: x\n   url: /x\n   schedule: soon")
                   .starts_with("f, line 2: the schedule of x must be minute"));
    BOOST_TEST(why("cron:\n - name: x\n   url: x\n").starts_with("f, line 2: a task needs a name"));
}

BOOST_AUTO_TEST_SUITE_END()
