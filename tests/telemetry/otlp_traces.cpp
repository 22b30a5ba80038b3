#include <quern/telemetry/otlp_traces.hpp>

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

result<trace_options> read(variables const& all)
{
    return trace_options_from([&](char const* name) {
        auto const at = all.find(name);
        return at == all.end() ? std::string() : at->second;
    });
}

trace_context context(char const* parent, char const* state = "")
{
    return read_w3c(parent, state).value();
}

json::value only_scope(std::string const& body)
{
    auto const all = json::parse(body);
    BOOST_TEST(all.at("resourceSpans").as_array().size() == 1u);
    return all.at("resourceSpans").at(0);
}

json::value only_span(span const& s)
{
    auto const from = only_scope(otlp_traces(std::span(&s, 1), {}, "1.2"));
    return from.at("scopeSpans").at(0).at("spans").at(0);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_span_goes_out_whole)
{
    span s;
    s.name = "process orders";
    s.kind = span_kind::consumer;
    s.self = context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=1");
    s.parent = {1, 2, 3, 4, 5, 6, 7, 8};
    s.began = wall_time(std::chrono::seconds(1'795'345'200));
    s.ended = s.began + std::chrono::nanoseconds(1'500);
    s.attributes = {
        {"messaging.system", "aws_sqs"}, {"quern.message.receive_count", std::int64_t(1) << 60}, {"b", true}};
    s.links.push_back(
        {context("00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-00"), {{"messaging.message.id", "m-1"}}});
    s.failed = true;
    s.why = "the handler threw";

    auto const got = only_span(s);
    BOOST_TEST(got.at("traceId").as_string() == "4bf92f3577b34da6a3ce929d0e0e4736");
    BOOST_TEST(got.at("spanId").as_string() == "00f067aa0ba902b7");
    BOOST_TEST(got.at("parentSpanId").as_string() == "0102030405060708");
    BOOST_TEST(got.at("traceState").as_string() == "a=1");
    BOOST_TEST(got.at("name").as_string() == "process orders");
    BOOST_TEST(got.at("kind").as_int64() == 5);
    BOOST_TEST(got.at("startTimeUnixNano").as_string() == "1795345200000000000");
    BOOST_TEST(got.at("endTimeUnixNano").as_string() == "1795345200000001500");
    auto const& its = got.at("attributes");
    BOOST_TEST(its.at(0).at("value").at("stringValue").as_string() == "aws_sqs");
    BOOST_TEST(its.at(1).at("value").at("intValue").as_string() == "1152921504606846976");
    BOOST_TEST(its.at(2).at("value").at("boolValue").as_bool());
    auto const& link = got.at("links").at(0);
    BOOST_TEST(link.at("spanId").as_string() == "53995c3f42cd8ad8");
    BOOST_TEST(link.at("attributes").at(0).at("key").as_string() == "messaging.message.id");
    BOOST_TEST(got.at("status").at("code").as_int64() == 2);
    BOOST_TEST(got.at("status").at("message").as_string() == "the handler threw");
}

BOOST_AUTO_TEST_CASE(a_span_that_begins_a_trace_and_went_well_says_no_more_than_that)
{
    span s;
    s.self = context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    auto const got = only_span(s).as_object();
    for (auto const* missing : {"parentSpanId", "traceState", "links"})
        BOOST_TEST(!got.contains(missing), missing);
    BOOST_TEST(got.at("status").as_object().empty());
}

BOOST_AUTO_TEST_CASE(hostile_text_is_json_all_the_same)
{
    span s;
    s.name = hostile;
    s.attributes = {{hostile, hostile}};
    s.failed = true;
    s.why = hostile;
    auto const got = only_span(s);
    BOOST_TEST(got.at("name").as_string() == valid_utf8(hostile));
    BOOST_TEST(got.at("attributes").at(0).at("value").at("stringValue").as_string() == valid_utf8(hostile));
    BOOST_TEST(got.at("status").at("message").as_string() == valid_utf8(hostile));
}

BOOST_AUTO_TEST_CASE(a_body_of_spans_says_who_sends_it)
{
    auto const from = only_scope(otlp_traces({}, {{"service.name", ""}}, "1.2"));
    BOOST_TEST(from.at("resource").at("attributes").at(0).at("value").at("stringValue").as_string() ==
        "unknown_service:quern");
    BOOST_TEST(from.at("scopeSpans").at(0).at("scope").at("version").as_string() == "1.2");
    BOOST_TEST(from.at("scopeSpans").at(0).at("spans").as_array().empty());
}

BOOST_AUTO_TEST_CASE(variables_say_where_spans_go)
{
    struct {
        variables given;
        char const* url;
    } const table[] = {
        {{}, "http://localhost:4318/v1/traces"},
        {{{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318"}}, "https://collector:4318/v1/traces"},
        {{{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://a/"}, {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "https://m"}},
            "https://a/v1/traces"},
        {{{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://a"}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://b/in"}},
            "https://b/in"},
    };
    for (auto const& row : table)
        BOOST_TEST(read(row.given).value().to.url == row.url);
}

BOOST_AUTO_TEST_CASE(variables_say_how_spans_travel)
{
    auto const usual = read({}).value();
    BOOST_TEST(usual.sampler == sampler());
    BOOST_TEST((usual.propagators == propagators{true, true}));
    BOOST_TEST(usual.to.interval.count() == 5'000);
    BOOST_TEST(usual.buffer == 16'384u);
    BOOST_TEST(usual.batch == 512u);
    BOOST_TEST(!usual.to.disabled);

    auto const o = read({{"OTEL_TRACES_SAMPLER", "parentbased_traceidratio"}, {"OTEL_TRACES_SAMPLER_ARG", "0.25"},
                            {"OTEL_PROPAGATORS", "tracecontext, baggage"}, {"OTEL_BSP_SCHEDULE_DELAY", "100"},
                            {"OTEL_BSP_MAX_QUEUE_SIZE", "10"}, {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "20"},
                            {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "key=1"}, {"OTEL_SERVICE_NAME", "shop"},
                            {"OTEL_METRIC_EXPORT_INTERVAL", "7"}, {"OTEL_TRACES_EXPORTER", "otlp"}})
                       .value();
    BOOST_TEST((o.sampler == sampler{0.25, true}));
    BOOST_TEST((o.propagators == propagators{true, false}));
    BOOST_TEST(o.to.interval.count() == 100);
    BOOST_TEST(o.buffer == 10u);
    BOOST_TEST(o.batch == 10u);
    BOOST_TEST(o.to.headers == (attributes{{"key", "1"}}));
    BOOST_TEST(o.to.resource == (attributes{{"service.name", "shop"}}));
    BOOST_TEST((read({{"OTEL_PROPAGATORS", "xray"}}).value().propagators == propagators{false, true}));
    BOOST_TEST((read({{"OTEL_PROPAGATORS", "none"}}).value().propagators == propagators{false, false}));
    BOOST_TEST(read({{"OTEL_TRACES_EXPORTER", "none"}}).value().to.disabled);
    BOOST_TEST(read({{"OTEL_SDK_DISABLED", "true"}}).value().to.disabled);
}

BOOST_AUTO_TEST_CASE(a_variable_of_traces_that_cannot_be_followed_is_named)
{
    std::pair<char const*, char const*> const table[] = {
        {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"},
        {"OTEL_TRACES_EXPORTER", "zipkin"},
        {"OTEL_TRACES_SAMPLER", "xray"},
        {"OTEL_PROPAGATORS", "tracecontext,b3"},
        {"OTEL_BSP_SCHEDULE_DELAY", "soon"},
        {"OTEL_BSP_MAX_QUEUE_SIZE", "0"},
        {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "-1"},
    };
    for (auto const& [name, value] : table) {
        auto const o = read({{name, value}});
        BOOST_REQUIRE_MESSAGE(o.has_error(), name);
        BOOST_TEST(o.error().code == errc::invalid_option);
        BOOST_TEST(describe(o.error()).find(name) != std::string::npos, describe(o.error()));
    }
}
