#include <quern/telemetry/prometheus.hpp>

#include "telemetry/numbers_at.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::telemetry;
using namespace quern::test;

namespace {

std::vector<std::string> lines_of(std::string const& text)
{
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        out.push_back(line);
    return out;
}

std::size_t count(std::string const& text, std::string const& line)
{
    std::size_t out = 0;
    for (auto const& l : lines_of(text))
        out += l == line;
    return out;
}

/// Two queues and a client that have done something of all kinds.
snapshot busy()
{
    auto orders = consumer_of("orders"), mails = consumer_of("mails");
    orders.add(id::messages_received, 0, 42);
    orders.add(id::handler_failures, 1);
    orders.record(id::dwell, 20ms);
    orders.record(id::dwell, 1'500s);
    orders.set(id::in_flight_messages, 0, 3);
    orders.set(id::saturation, 0, 0.003);
    orders.set(id::last_progress, 0, 1'795'348'800.123);
    mails.add(id::messages_received, 0, 7);
    numbers client(part::client, {});
    client.add(id::requests, 1, 2);
    client.record(id::request_duration, 8ms);
    return {noon - 1h, noon, {orders.read(), mails.read(), client.read()}};
}

/// Debian's `prometheus` brings promtool.
boost::test_tools::assertion_result has_promtool(boost::unit_test::test_unit_id)
{
    return std::system("command -v promtool >/dev/null 2>&1") == 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_page_has_each_family_once_with_all_its_queues)
{
    auto const text = prometheus_text(busy());
    BOOST_TEST(count(text, "# TYPE quern_messages_received_total counter") == 1u);
    BOOST_TEST(count(text, "quern_messages_received_total{queue=\"orders\"} 42") == 1u);
    BOOST_TEST(count(text, "quern_messages_received_total{queue=\"mails\"} 7") == 1u);
    BOOST_TEST(count(text, "quern_handler_failures_total{queue=\"orders\",kind=\"timed_out\"} 1") == 1u);
    BOOST_TEST(count(text, "quern_handler_failures_total{queue=\"orders\",kind=\"threw\"} 0") == 1u);
    BOOST_TEST(count(text, "quern_requests_total{operation=\"ReceiveMessage\",result=\"throttled\"} 2") == 1u);
    BOOST_TEST(count(text, "quern_in_flight_messages{queue=\"orders\"} 3") == 1u);
    BOOST_TEST(count(text, "quern_saturation_ratio{queue=\"orders\"} 0.003") == 1u);
    BOOST_TEST(count(text, "quern_last_progress_timestamp_seconds{queue=\"orders\"} 1795348800.123") == 1u);

    std::string family;
    std::set<std::string> seen;
    for (auto const& line : lines_of(text)) {
        if (line.starts_with("# TYPE ")) {
            family = line.substr(7, line.find(' ', 7) - 7);
            BOOST_TEST(seen.insert(family).second, "twice: " << family);
        } else if (!line.starts_with("#")) {
            BOOST_TEST(line.starts_with(family), line << " is not of " << family);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_histogram_counts_up_to_all)
{
    auto const text = prometheus_text(busy());
    BOOST_TEST(count(text, "quern_dwell_seconds_bucket{queue=\"orders\",le=\"0.01\"} 0") == 1u);
    BOOST_TEST(count(text, "quern_dwell_seconds_bucket{queue=\"orders\",le=\"0.025\"} 1") == 1u);
    BOOST_TEST(count(text, "quern_dwell_seconds_bucket{queue=\"orders\",le=\"1\"} 1") == 1u);
    BOOST_TEST(count(text, "quern_dwell_seconds_bucket{queue=\"orders\",le=\"900\"} 1") == 1u);
    BOOST_TEST(count(text, "quern_dwell_seconds_bucket{queue=\"orders\",le=\"+Inf\"} 2") == 1u);
    BOOST_TEST(count(text, "quern_dwell_seconds_sum{queue=\"orders\"} 1500.02") == 1u);
    BOOST_TEST(count(text, "quern_dwell_seconds_count{queue=\"orders\"} 2") == 1u);
}

BOOST_AUTO_TEST_CASE(what_says_nothing_is_not_there)
{
    auto const text = prometheus_text(busy());
    BOOST_TEST(text.find("quern_queue_messages") == text.npos);
    BOOST_TEST(text.find("quern_oldest_in_flight") == text.npos);
    BOOST_TEST(text.find("operation=\"SendMessage\"") == text.npos);
    BOOST_TEST(prometheus_text(snapshot()).empty());
}

// A label with a quote or a line break forged samples; one byte that is no UTF-8 costs the whole scrape.
BOOST_AUTO_TEST_CASE(a_hostile_name_stays_within_its_quotes)
{
    auto n = consumer_of(hostile);
    n.add(id::messages_received);
    auto const text = prometheus_text(only(n));
    BOOST_TEST(
        count(text, "quern_messages_received_total{queue=\"or\\\"de\\\\rs\\n# TYPE x\xEF\xBF\xBD\xEF\xBF\xBD\"} 1") ==
        1u);
    BOOST_TEST(openmetrics_text(only(n)).ends_with("\n# EOF\n"));
}

BOOST_AUTO_TEST_CASE(openmetrics_names_families_without_their_endings_tells_units_and_ends)
{
    auto const text = openmetrics_text(busy());
    BOOST_TEST(count(text, "# TYPE quern_messages_received counter") == 1u);
    BOOST_TEST(count(text, "quern_messages_received_total{queue=\"orders\"} 42") == 1u);
    BOOST_TEST(count(text, "# UNIT quern_dwell_seconds seconds") == 1u);
    BOOST_TEST(count(text, "# UNIT quern_saturation_ratio ratio") == 1u);
    BOOST_TEST(count(text, "quern_dwell_seconds_bucket{queue=\"orders\",le=\"1.0\"} 1") == 1u);
    BOOST_TEST(count(text, "quern_dwell_seconds_bucket{queue=\"orders\",le=\"0.025\"} 1") == 1u);
    BOOST_TEST(text.ends_with("\n# EOF\n"));
    BOOST_TEST(openmetrics_text(snapshot()) == "# EOF\n");
}

BOOST_AUTO_TEST_CASE(a_scraper_gets_the_format_that_it_would_rather_have)
{
    struct {
        char const* accept;
        bool open;
    } const table[] = {
        {"", false},
        {"*/*", false},
        {"text/plain;version=0.0.4", false},
        {"application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", true},
        {"application/openmetrics-text; version=0.0.1; q=0.2, text/plain", false},
        {"application/openmetrics-text;version=2.0.0,text/plain;q=0.1", false},
        {"application/openmetrics-text", true},
        {"application/openmetrics-text;q=0", false},
        {"application/openmetrics-text;q=nonsense,text/plain;q=0.1", false},
        {"text/html,,;;,=,", false},
    };
    for (auto const& row : table)
        BOOST_TEST(prefers_openmetrics(row.accept) == row.open, row.accept);
}

BOOST_AUTO_TEST_CASE(promtool_finds_nothing_to_complain_about, *boost::unit_test::precondition(has_promtool))
{
    auto* const tool = ::popen("promtool check metrics", "w");
    BOOST_REQUIRE(tool);
    auto const text = prometheus_text(busy());
    std::fwrite(text.data(), 1, text.size(), tool);
    BOOST_TEST(::pclose(tool) == 0);
}
