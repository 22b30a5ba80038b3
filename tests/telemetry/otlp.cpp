#include <quern/telemetry/otlp.hpp>

#include "telemetry/numbers_at.hpp"

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

#include <map>

using namespace quern;
using namespace quern::telemetry;
using namespace quern::test;
namespace json = boost::json;

namespace {

using variables = std::map<std::string, std::string>;

result<otlp_options> read(variables const& all)
{
    return otlp_options_from([&](char const* name) {
        auto const at = all.find(name);
        return at == all.end() ? std::string() : at->second;
    });
}

std::map<std::string, json::object> metrics_of(std::string const& body)
{
    std::map<std::string, json::object> out;
    auto const all = json::parse(body);
    for (auto const& m : all.at("resourceMetrics").at(0).at("scopeMetrics").at(0).at("metrics").as_array())
        BOOST_TEST(out.emplace(m.at("name").as_string(), m.as_object()).second, "a name comes once");
    return out;
}

std::map<std::string, std::string> attributes_of(json::value const& point)
{
    std::map<std::string, std::string> out;
    for (auto const& a : point.at("attributes").as_array())
        out.emplace(a.at("key").as_string(), a.at("value").at("stringValue").as_string());
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(numbers_go_out_as_sums_gauges_and_histograms_since_the_start)
{
    auto n = consumer_of("orders");
    n.add(id::messages_received, 0, 9'007'199'254'740'993); // no double holds it
    n.record(id::process_duration, 20ms, 1);
    n.record(id::process_duration, 2s, 1);
    n.set(id::saturation, 0, 0.25);
    auto const all = metrics_of(otlp_metrics(only(n), {{"service.name", "shop"}}, "1.2"));

    auto const& received = all.at("messaging.client.consumed.messages");
    BOOST_TEST(received.at("unit").as_string() == "{message}");
    auto const& sum = received.at("sum");
    BOOST_TEST(sum.at("aggregationTemporality").as_int64() == 2);
    BOOST_TEST(sum.at("isMonotonic").as_bool());
    auto const& point = sum.at("dataPoints").at(0);
    BOOST_TEST(point.at("asInt").as_string() == "9007199254740993");
    BOOST_TEST(point.at("startTimeUnixNano").as_string() == "1795345200000000000");
    BOOST_TEST(point.at("timeUnixNano").as_string() == "1795348800000000000");
    auto const names = attributes_of(point);
    BOOST_TEST(names.at("messaging.system") == "aws_sqs");
    BOOST_TEST(names.at("messaging.destination.name") == "orders");

    auto const& points = all.at("messaging.process.duration").at("histogram").at("dataPoints").as_array();
    BOOST_TEST(points.size() == 5u);
    auto const& acked = points.at(1);
    BOOST_TEST(attributes_of(acked).at("quern.outcome") == "ack");
    BOOST_TEST(acked.at("count").as_string() == "2");
    BOOST_TEST(acked.at("sum").to_number<double>() == 2.02);
    BOOST_TEST(acked.at("bucketCounts").as_array().size() == acked.at("explicitBounds").as_array().size() + 1);
    BOOST_TEST(acked.at("bucketCounts").at(2).as_string() == "1");

    auto const& gauge = all.at("quern.saturation").at("gauge").at("dataPoints").at(0);
    BOOST_TEST(gauge.at("asDouble").to_number<double>() == 0.25);
    BOOST_TEST(!gauge.as_object().contains("startTimeUnixNano"));
    BOOST_TEST(!all.contains("quern.in_flight.messages")); // says nothing yet
}

BOOST_AUTO_TEST_CASE(a_body_says_who_sends_it)
{
    auto const body = json::parse(otlp_metrics(snapshot(), {{"service.name", ""}, {"host", hostile}}, "1.2"));
    auto const& from = body.at("resourceMetrics").at(0);
    auto const its = attributes_of(from.at("resource"));
    BOOST_TEST(its.at("service.name") == "unknown_service:quern");
    BOOST_TEST(its.at("host") == valid_utf8(hostile));
    BOOST_TEST(from.at("scopeMetrics").at(0).at("scope").at("version").as_string() == "1.2");
    BOOST_TEST(from.at("scopeMetrics").at(0).at("metrics").as_array().empty());
}

BOOST_AUTO_TEST_CASE(a_hostile_name_is_json_all_the_same)
{
    auto n = consumer_of(hostile);
    n.add(id::messages_received);
    auto const all = metrics_of(otlp_metrics(only(n), {}, "1"));
    auto const& point = all.at("messaging.client.consumed.messages").at("sum").at("dataPoints").at(0);
    BOOST_TEST(attributes_of(point).at("messaging.destination.name") == valid_utf8(hostile));
}

BOOST_AUTO_TEST_CASE(variables_say_where_it_goes)
{
    struct {
        variables given;
        char const* url;
    } const table[] = {
        {{}, "http://localhost:4318/v1/metrics"},
        {{{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318"}}, "https://collector:4318/v1/metrics"},
        {{{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector/otlp/"}}, "https://collector/otlp/v1/metrics"},
        {{{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://a"}, {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "https://b/in"}},
            "https://b/in"},
    };
    for (auto const& row : table)
        BOOST_TEST(read(row.given).value().url == row.url);
}

BOOST_AUTO_TEST_CASE(variables_say_who_it_is_from_and_how_it_travels)
{
    auto const o =
        read({{"OTEL_SERVICE_NAME", "shop"}, {"OTEL_RESOURCE_ATTRIBUTES", "service.name=other, team=a%2Cb ,"},
                 {"OTEL_EXPORTER_OTLP_HEADERS", "api-key=s%20cret"}, {"OTEL_EXPORTER_OTLP_TIMEOUT", "500"},
                 {"OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "700"}, {"OTEL_METRIC_EXPORT_INTERVAL", "5000"},
                 {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"}, {"OTEL_SDK_DISABLED", "TRUE"}})
            .value();
    BOOST_TEST(o.resource == (attributes{{"service.name", "shop"}, {"team", "a,b"}}));
    BOOST_TEST(o.headers == (attributes{{"api-key", "s cret"}}));
    BOOST_TEST(o.timeout.count() == 700);
    BOOST_TEST(o.interval.count() == 5'000);
    BOOST_TEST(o.disabled);
    BOOST_TEST(!read({{"OTEL_SDK_DISABLED", "1"}}).value().disabled);
}

BOOST_AUTO_TEST_CASE(a_variable_that_cannot_be_followed_is_named_and_no_secret_is_shown)
{
    variables const table[] = {
        {{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}},
        {{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/protobuf"}},
        {{"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"}},
        {{"OTEL_EXPORTER_OTLP_HEADERS", "s3cret"}},
        {{"OTEL_EXPORTER_OTLP_HEADERS", "k=%s3cret"}},
        {{"OTEL_EXPORTER_OTLP_HEADERS", "=s3cret"}},
        {{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"}},
        {{"OTEL_METRIC_EXPORT_INTERVAL", "0"}},
        {{"OTEL_METRIC_EXPORT_INTERVAL", "99999999999999999999"}},
        {{"OTEL_RESOURCE_ATTRIBUTES", "team"}},
    };
    for (auto const& row : table) {
        auto const o = read(row);
        auto const& name = row.begin()->first;
        BOOST_REQUIRE_MESSAGE(!o.has_value(), name);
        BOOST_TEST(o.error().message.starts_with(name + ":"), o.error().message);
        BOOST_TEST(o.error().message.find("s3cret") == std::string::npos);
    }
}
