#include <quern/telemetry/cloudwatch.hpp>

#include "telemetry/numbers_at.hpp"

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

#include <map>
#include <sstream>

using namespace quern;
using namespace quern::telemetry;
using namespace quern::test;
namespace json = boost::json;

namespace {

numbers busy(std::string queue = "orders")
{
    auto n = consumer_of(std::move(queue));
    n.add(id::messages_received, 0, 12);
    n.add(id::messages_settled, 0, 11);
    n.add(id::handler_failures, 1, 1);
    for (int i = 0; i < 10; ++i)
        n.record(id::process_duration, 120ms, 1);
    n.record(id::process_duration, 40s, 0);
    n.set(id::in_flight_messages, 0, 5);
    n.set(id::saturation, 0, 0.5);
    return n;
}

double total(json::array const& values, json::array const& counts)
{
    double out = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        out += values[i].to_number<double>() * counts[i].to_number<double>();
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_series_has_the_name_that_its_pattern_and_its_label_make)
{
    BOOST_TEST(cloudwatch_name(about(id::messages_settled), 0) == "MessagesAcked");
    BOOST_TEST(cloudwatch_name(about(id::handler_failures), 1) == "HandlersTimedOut");
    BOOST_TEST(cloudwatch_name(about(id::process_duration), 3) == "ProcessDuration");
    BOOST_TEST(cloudwatch_name(about(id::dead_letter_messages), 0) == "DeadLetters");
    BOOST_TEST(cloudwatch_name(about(id::dead_letter_messages), 1) == "");
    BOOST_TEST(cloudwatch_name(about(id::breaker_transitions), 2) == "BreakerHalfOpen");
    BOOST_TEST(cloudwatch_name(about(id::breaker_transitions), 1) == "");
    BOOST_TEST(cloudwatch_name(about(id::requests), 0) == "");
}

BOOST_AUTO_TEST_CASE(what_is_beyond_the_last_bound_is_as_long_as_it_was)
{
    auto n = consumer_of("orders");
    n.record(id::wait, 1ms);
    n.record(id::wait, std::chrono::hours(5));
    auto const w = weighted(n.read().distribution(id::wait, 0));
    BOOST_REQUIRE(w.values.size() == 2u);
    BOOST_TEST(w.values.back() > 17'900);
    BOOST_TEST(w.values.back() < 18'100);
}

BOOST_AUTO_TEST_CASE(values_of_a_histogram_lie_in_their_buckets_and_sum_up_to_the_true_sum)
{
    auto n = consumer_of("orders");
    for (auto const d : {1ms, 3ms, 30ms, 120ms, 240ms, 900ms, 8'000ms})
        n.record(id::wait, d);
    auto const h = n.read().distribution(id::wait, 0);
    auto const w = weighted(h);
    double sum = 0;
    std::size_t at = 0;
    for (std::size_t b = 0; b < bucket_count; ++b) {
        if (h.buckets[b] == 0) continue;
        BOOST_TEST(w.counts.at(at) == h.buckets[b]);
        BOOST_TEST(w.values.at(at) <= bounds[b]);
        if (b > 0) BOOST_TEST(w.values.at(at) >= bounds[b - 1]);
        sum += w.values[at] * static_cast<double>(w.counts[at]);
        ++at;
    }
    BOOST_TEST(at == w.values.size());
    BOOST_TEST(sum == h.sum, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(a_line_of_the_embedded_format_names_its_metrics_and_has_them)
{
    auto const lines = emf_lines(only(busy()), "Shop");
    BOOST_TEST(std::count(lines.begin(), lines.end(), '\n') == 1);
    BOOST_TEST(lines.ends_with('\n'));
    auto const line = json::parse(lines).as_object();
    auto const& about_it = line.at("_aws").as_object();
    BOOST_TEST(about_it.at("Timestamp").as_int64() == 1'795'348'800'000);
    auto const& group = about_it.at("CloudWatchMetrics").as_array().at(0).as_object();
    BOOST_TEST(group.at("Namespace").as_string() == "Shop");
    BOOST_TEST(json::serialize(group.at("Dimensions")) == R"([["QueueName"]])");
    BOOST_TEST(line.at("QueueName").as_string() == "orders");
    std::map<std::string, std::string> units;
    for (auto const& m : group.at("Metrics").as_array()) {
        auto const name = std::string(m.at("Name").as_string());
        BOOST_TEST(units.emplace(name, m.at("Unit").as_string()).second, name);
        BOOST_TEST(line.contains(name), name);
    }
    BOOST_TEST(units.size() <= 100u);
    BOOST_TEST(line.size() == units.size() + 2);
    BOOST_TEST(units.at("MessagesReceived") == "Count");
    BOOST_TEST(units.at("ProcessDuration") == "Seconds");
    BOOST_TEST(units.at("Saturation") == "None");
    BOOST_TEST(line.at("MessagesReceived").to_number<double>() == 12.0);
    BOOST_TEST(line.at("HandlersTimedOut").to_number<double>() == 1.0);
    BOOST_TEST(line.at("HandlersThrew").to_number<double>() == 0.0);

    auto const& spread = line.at("ProcessDuration").as_object(); // of all outcomes together
    BOOST_TEST(spread.at("Count").as_int64() == 11);
    BOOST_TEST(spread.at("Sum").to_number<double>() == 41.2, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(spread.at("Values").as_array().size() == spread.at("Counts").as_array().size());
    BOOST_TEST(spread.at("Values").as_array().size() <= 100u);
    BOOST_TEST(total(spread.at("Values").as_array(), spread.at("Counts").as_array()) == 41.2,
        boost::test_tools::tolerance(1e-9));
    BOOST_TEST(!line.contains("Dwell")); // nothing was added
}

BOOST_AUTO_TEST_CASE(what_has_no_queue_has_no_line)
{
    numbers client(part::client, {});
    client.add(id::requests);
    BOOST_TEST(emf_lines(only(client)).empty());
    BOOST_TEST(put_metric_data_bodies(only(client)).empty());
    BOOST_TEST(emf_lines(only(consumer_of("  "))).empty());
}

BOOST_AUTO_TEST_CASE(a_hostile_name_becomes_a_dimension_that_cloudwatch_takes)
{
    BOOST_TEST(dimension_value(hostile) == "or\"de\\rs?# TYPE x??");
    BOOST_TEST(dimension_value(std::string(2'000, 'x')).size() == 1'024u);
    BOOST_TEST(dimension_value("größe") == "gr????e");
    auto const line = json::parse(emf_lines(only(busy(hostile))));
    BOOST_TEST(line.at("QueueName").as_string() == "or\"de\\rs?# TYPE x??");
}

BOOST_AUTO_TEST_CASE(a_body_of_put_metric_data_has_what_the_service_asks_for)
{
    auto const bodies = put_metric_data_bodies(only(busy()));
    BOOST_REQUIRE(bodies.size() == 1u);
    auto const body = json::parse(bodies[0]).as_object();
    BOOST_TEST(body.at("Namespace").as_string() == "Quern");
    std::map<std::string, json::object> data;
    for (auto const& d : body.at("MetricData").as_array()) {
        auto const& o = d.as_object();
        BOOST_TEST(json::serialize(o.at("Dimensions")) == R"([{"Name":"QueueName","Value":"orders"}])");
        BOOST_TEST(o.at("Timestamp").as_int64() == 1'795'348'800);
        BOOST_TEST(o.contains("Value") != o.contains("Values"));
        BOOST_TEST(data.emplace(o.at("MetricName").as_string(), o).second, "no name comes twice");
    }
    BOOST_TEST(data.at("MessagesAcked").at("Value").to_number<double>() == 11.0);
    BOOST_TEST(data.at("MessagesAcked").at("Unit").as_string() == "Count");
    auto const& spread = data.at("ProcessDuration");
    BOOST_TEST(spread.at("Values").as_array().size() == 2u);
    BOOST_TEST(json::serialize(spread.at("Counts")) == "[10,1]");
    BOOST_TEST(!data.contains("Dwell"));
}

BOOST_AUTO_TEST_CASE(bodies_are_split_by_count_and_by_size_and_lose_nothing)
{
    snapshot many{noon - 1h, noon, {}};
    for (int i = 0; i < 100; ++i)
        many.sources.push_back(busy("queue" + std::to_string(i)).read());
    auto const names = [](std::vector<std::string> const& bodies) {
        std::vector<std::string> out;
        for (auto const& body : bodies) {
            auto const read = json::parse(body);
            for (auto const& d : read.at("MetricData").as_array())
                out.push_back(json::serialize(d));
        }
        return out;
    };
    auto const whole = put_metric_data_bodies(many, "Quern", {1'000'000, 100'000'000});
    BOOST_REQUIRE(whole.size() == 1u);
    auto const all = names(whole);
    BOOST_TEST(all.size() > 1'000u);

    auto const usual = put_metric_data_bodies(many);
    BOOST_TEST(usual.size() == (all.size() + 999) / 1'000);
    BOOST_TEST(names(usual) == all);
    for (auto const& body : usual)
        BOOST_TEST(json::parse(body).at("MetricData").as_array().size() <= 1'000u);

    auto const small = put_metric_data_bodies(many, "Quern", {1'000, 2'000});
    BOOST_TEST(names(small) == all);
    for (auto const& body : small)
        BOOST_TEST(body.size() <= 2'000u);
}
