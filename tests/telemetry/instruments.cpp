#include <quern/telemetry/cloudwatch.hpp>
#include <quern/telemetry/instruments.hpp>

#include <boost/test/unit_test.hpp>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

using namespace quern::telemetry;

BOOST_AUTO_TEST_CASE(each_instrument_stands_where_its_id_says)
{
    for (std::size_t i = 0; i < instruments.size(); ++i)
        BOOST_TEST(static_cast<std::size_t>(instruments[i].which) == i);
}

BOOST_AUTO_TEST_CASE(no_name_is_given_twice_in_any_of_the_systems)
{
    std::set<std::string> names;
    for (auto const& i : instruments) {
        BOOST_TEST(names.insert("prometheus " + std::string(i.prometheus)).second, i.prometheus);
        if (!i.otel.empty()) BOOST_TEST(names.insert("otel " + std::string(i.otel)).second, i.otel);
        std::set<std::string> its;
        for (std::size_t s = 0; s < i.series(); ++s)
            its.insert(cloudwatch_name(i, s));
        its.erase("");
        for (auto const& name : its)
            BOOST_TEST(names.insert("cloudwatch " + name).second, name);
    }
}

// What `promtool check metrics` asks for, and what the formats demand.
BOOST_AUTO_TEST_CASE(names_follow_the_rules_of_prometheus)
{
    for (auto const& i : instruments) {
        BOOST_TEST(i.prometheus.starts_with("quern_"), i.prometheus);
        BOOST_TEST(i.prometheus.ends_with("_total") == (i.what == kind::counter), i.prometheus);
        for (char const c : i.prometheus)
            BOOST_TEST((std::islower(static_cast<unsigned char>(c)) || c == '_'), i.prometheus);
        BOOST_TEST(i.prometheus.ends_with("_seconds") == (i.unit == "s"), i.prometheus);
        BOOST_TEST(i.prometheus.ends_with("_bytes") == (i.unit == "By"), i.prometheus);
        BOOST_TEST(i.help.ends_with('.'), i.prometheus);
        if (i.what == kind::histogram)
            for (auto const& l : i.labels)
                BOOST_TEST(l.name != "le", i.prometheus);
    }
}

BOOST_AUTO_TEST_CASE(series_are_told_apart_by_their_labels)
{
    for (auto const& i : instruments) {
        std::set<std::string> seen;
        for (std::size_t s = 0; s < i.series(); ++s) {
            std::string key;
            for (auto const& [l, value] : values_of(i, s))
                key += std::string(value) + '|';
            BOOST_TEST(seen.insert(key).second, i.prometheus);
        }
    }
    auto const last = values_of(about(id::requests), 5);
    BOOST_TEST(last[0].second == "DeleteMessageBatch");
    BOOST_TEST(last[1].second == "throttled");
}

namespace {

constexpr auto page_file = "docs/reference/metrics.md"; // tests run at the root of the tree

/// The page's table, as the instruments say.
std::string table()
{
    constexpr std::string_view kinds[] = {"counter", "gauge", "histogram"};
    std::ostringstream out;
    out << "| Prometheus | OpenTelemetry | CloudWatch | kind, unit | labels | |\n|---|---|---|---|---|---|\n";
    for (auto const& i : instruments) {
        std::string labels, sent;
        for (auto const& l : i.labels) {
            if (l.name.empty()) continue;
            labels += (labels.empty() ? "`" : ", `") + std::string(l.name) + "`:";
            for (auto const value : l.values)
                labels += " " + std::string(value);
        }
        for (std::size_t s = 0; s < i.series(); ++s) {
            auto const name = cloudwatch_name(i, s);
            if (!name.empty() && sent.find("`" + name + "`") == sent.npos)
                sent += (sent.empty() ? "`" : ", `") + name + "`";
        }
        auto const otel = i.otel.empty() ? std::string() : "`" + std::string(i.otel) + "`";
        out << "| `" << i.prometheus << "` | " << otel << " | " << sent << " | " << kinds[static_cast<int>(i.what)]
            << ", " << i.unit << " | " << labels << " | " << i.help << " |\n";
    }
    return out.str();
}

} // namespace

// QUERN_UPDATE=1 writes the table into the page, after what stands before it.
BOOST_AUTO_TEST_CASE(the_page_of_metrics_has_the_table_of_instruments)
{
    std::ostringstream read;
    read << std::ifstream(page_file).rdbuf();
    auto const there = read.str();
    auto const begin = there.find("| Prometheus |");
    BOOST_REQUIRE(begin != there.npos);
    auto const end = there.find("\n\n", begin);
    auto const wanted = there.substr(0, begin) + table() + (end == there.npos ? "" : there.substr(end + 1));
    if (std::getenv("QUERN_UPDATE")) std::ofstream(page_file) << wanted;
    BOOST_TEST(there == wanted, page_file << ": run test_telemetry with QUERN_UPDATE=1");
}
