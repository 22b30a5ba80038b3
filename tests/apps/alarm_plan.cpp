#include "quern/alarm_plan.hpp"

#include <quern/telemetry/instruments.hpp>

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

using namespace quern::app;
using std::string;

namespace json = boost::json;
namespace telemetry = quern::telemetry;

namespace {

alarm_plan orders()
{
    alarm_plan out;
    out.queue = "orders";
    out.dead_letters = "orders-dead";
    out.poison = "orders-poison.fifo";
    out.topics = {"arn:aws:sns:eu-west-1:1:on-call", "arn:aws:sns:eu-west-1:1:diary"};
    return out;
}

std::vector<string> names(std::vector<quern::services::metric_alarm> const& of)
{
    std::vector<string> out;
    for (auto const& a : of)
        out.push_back(a.name);
    return out;
}

/// Every match of the whole pattern in the text.
std::vector<string> all(string const& text, char const* pattern)
{
    std::regex const what(pattern);
    std::vector<string> out;
    for (auto at = std::sregex_iterator(text.begin(), text.end(), what); at != std::sregex_iterator(); ++at)
        out.push_back(at->str());
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(alarms)

BOOST_AUTO_TEST_CASE(a_queue_with_everything_has_four)
{
    auto const four = cloudwatch_alarms(orders());
    BOOST_TEST(names(four) ==
            (std::vector<string>{"quern orders: dead letters", "quern orders: poison", "quern orders: age",
                "quern orders: failed redrives"}),
        boost::test_tools::per_element());
    for (auto const& a : four) {
        BOOST_TEST(a.actions == orders().topics, boost::test_tools::per_element());
        BOOST_TEST(a.name.size() <= 255u);
        for (auto const& m : a.of)
            BOOST_TEST(m.period.count() % 60 == 0);
        // What an expression names is there, and what is there is named.
        for (auto const& m : a.of)
            BOOST_TEST((a.expression.empty() || a.expression.find(m.id) != string::npos), m.id);
    }
    BOOST_TEST(four[0].of[0].queue == "orders-dead");
    BOOST_TEST(four[0].of[0].statistic == "Maximum");
    BOOST_TEST(four[0].above == 0);
    BOOST_TEST(four[1].of[0].queue == "orders-poison.fifo");
    BOOST_TEST(four[2].above == 900);
    BOOST_TEST(four[3].above == 10);
}

BOOST_AUTO_TEST_CASE(a_fair_queue_has_two_more)
{
    auto fair = orders();
    fair.fair = true;
    fair.noisy_groups = 3;
    auto const six = cloudwatch_alarms(fair);
    BOOST_REQUIRE(six.size() == 6u);
    BOOST_TEST(six[4].name == "quern orders: quiet groups");
    BOOST_TEST(six[4].of[0].name == "ApproximateAgeOfOldestMessageInQuietGroups");
    BOOST_TEST(six[4].above == 900);
    BOOST_TEST(six[5].name == "quern orders: noisy groups");
    BOOST_TEST(six[5].of[0].name == "ApproximateNumberOfNoisyGroups");
    BOOST_TEST(six[5].above == 3);
    BOOST_TEST(six[5].periods == 15);
    BOOST_TEST(names_of_alarms("orders").size() == 6u);
}

BOOST_AUTO_TEST_CASE(a_queue_alone_has_one)
{
    alarm_plan p;
    p.queue = "orders";
    BOOST_TEST(
        names(cloudwatch_alarms(p)) == std::vector<string>{"quern orders: age"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_template_has_each_under_a_name_of_letters_and_digits)
{
    auto const alarms = cloudwatch_alarms(orders());
    auto const made = json::parse(cloudformation(alarms)).as_object();
    auto const& resources = made.at("Resources").as_object();
    BOOST_TEST(resources.size() == alarms.size());
    BOOST_TEST(resources.contains("QuernOrdersDeadLetters"));
    BOOST_TEST(resources.contains("QuernOrdersFailedRedrives"));
    for (auto const& [name, one] : resources) {
        BOOST_TEST(std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c); }), name);
        BOOST_TEST(one.at("Type") == "AWS::CloudWatch::Alarm");
    }
    BOOST_TEST(resources.at("QuernOrdersAge").at("Properties") == json::parse(to_json(alarms[2])));
}

// A rule over a name that nothing shows never fires.
BOOST_AUTO_TEST_CASE(rules_ask_for_what_is_measured)
{
    auto const text = prometheus_rules(orders());
    auto const asked = all(text, "quern_[a-z_]+");
    BOOST_TEST(asked.size() >= 8u);
    for (auto const& name : asked) {
        auto const known = std::ranges::any_of(
            telemetry::instruments, [&](auto const& i) { return i.prometheus == std::string_view(name); });
        BOOST_TEST(known, name);
    }
    for (auto const& label : all(text, R"(quern_[a-z_]+\{queue="orders",[a-z]+="[a-z_]+")")) {
        auto const brace = label.find('{'), comma = label.find(','), sign = label.find('=', comma);
        auto const metric = label.substr(0, brace), name = label.substr(comma + 1, sign - comma - 1);
        auto const value = label.substr(sign + 2, label.size() - sign - 3);
        auto const found =
            std::ranges::find(telemetry::instruments, std::string_view(metric), &telemetry::instrument::prometheus);
        BOOST_REQUIRE_MESSAGE(found != std::ranges::end(telemetry::instruments), metric);
        bool known = false;
        for (auto const& l : found->labels)
            known =
                known || (l.name == name && std::ranges::find(l.values, std::string_view(value)) != l.values.end());
        BOOST_TEST(known, label);
    }
}

BOOST_AUTO_TEST_CASE(rules_are_yaml_in_which_nothing_needs_an_escape)
{
    auto p = orders();
    p.max_age = std::chrono::seconds(90);
    auto const text = prometheus_rules(p);
    BOOST_TEST(text.starts_with(
        "groups:\n  - name: 'quern orders'\n    rules:\n      - alert: QuernDeadLetters\n"
        "        expr: 'max by (job) (quern_dead_letter_messages{queue=\"orders\",state=\"visible\"}) > 0'\n"
        "        labels:\n          severity: page\n          queue: 'orders'\n"));
    BOOST_TEST(text.find("        for: 90s\n") != string::npos);
    BOOST_TEST(text.find("> 90'") != string::npos);
    BOOST_TEST(all(text, "- alert: ").size() == 9u);
}

BOOST_AUTO_TEST_SUITE_END()
