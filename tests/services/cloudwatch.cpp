#include <quern/services/cloudwatch.hpp>

#include "support/fake_service.hpp"

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

using namespace quern::services;
using quern::test::run;
using std::string;

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

/// A CloudWatch that keeps alarms.
class fake_cloudwatch : public quern::test::fake_service {
public:
    using fake_service::fake_service;

    string refusal;
    json::array alarms, counts;

private:
    std::optional<string> answer_to(string const& request) override
    {
        auto const target = header(request, "x-amz-target");
        if (target == "GraniteServiceVersion20100801.PutMetricData") {
            counts.push_back(json::parse(body(request)));
            return reply(200, "{}");
        }
        bool const is_known = target == "GraniteServiceVersion20100801.PutMetricAlarm";
        if (!is_known) return reply(400, R"({"__type":"UnknownOperationException"})");
        if (!refusal.empty()) return reply(400, R"({"__type":")" + refusal + R"("})");
        alarms.push_back(json::parse(body(request)));
        return reply(200, "{}");
    }
};

metric_alarm depth()
{
    metric_alarm out;
    out.name = "quern orders: dead letters";
    out.description = "Look";
    out.of = {{"m", "AWS/SQS", "ApproximateNumberOfMessagesVisible", "orders-dead", "Maximum"}};
    out.actions = {"arn:aws:sns:eu-west-1:111122223333:on-call"};
    return out;
}

struct fixture {
    asio::io_context io;
    fake_cloudwatch service{io};
    cloudwatch client{io.get_executor(), service.options()};

    auto put(metric_alarm a) { return run(io, client.put_metric_alarm(put_metric_alarm_request(std::move(a)))); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(a_client_of_cloudwatch, fixture)

BOOST_AUTO_TEST_CASE(sets_an_alarm_on_one_metric)
{
    BOOST_TEST(put(depth()).has_value());
    auto const wanted = json::parse(R"([{
        "AlarmName": "quern orders: dead letters", "AlarmDescription": "Look",
        "AlarmActions": ["arn:aws:sns:eu-west-1:111122223333:on-call"],
        "OKActions": ["arn:aws:sns:eu-west-1:111122223333:on-call"],
        "Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible",
        "Dimensions": [{"Name": "QueueName", "Value": "orders-dead"}], "Statistic": "Maximum", "Period": 60,
        "Threshold": 0, "ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "DatapointsToAlarm": 1,
        "TreatMissingData": "notBreaching"}])");
    BOOST_TEST(service.alarms == wanted);
    auto const& request = service.asked.front();
    BOOST_TEST(request.find("/eu-west-1/monitoring/aws4_request") != string::npos);
    BOOST_TEST(request.find("application/x-amz-json-1.0") != string::npos);
}

BOOST_AUTO_TEST_CASE(puts_counts_of_a_queue)
{
    put_metric_data_request r("DLQRedriver", "dead", quern::wall_time(std::chrono::milliseconds(1'700'000'000'500)));
    r.counts = {{"SuccessfulRedrives", 3}, {"RedriveFailures", 1}};
    BOOST_TEST(run(io, client.put_metric_data(std::move(r))).has_value());
    auto const wanted = json::parse(R"([{"Namespace": "DLQRedriver", "MetricData": [
        {"MetricName": "SuccessfulRedrives", "Dimensions": [{"Name": "QueueName", "Value": "dead"}],
            "Timestamp": 1700000000, "Value": 3, "Unit": "Count"},
        {"MetricName": "RedriveFailures", "Dimensions": [{"Name": "QueueName", "Value": "dead"}],
            "Timestamp": 1700000000, "Value": 1, "Unit": "Count"}]}])");
    BOOST_TEST(service.counts == wanted);
}

BOOST_AUTO_TEST_CASE(sets_an_alarm_on_an_expression)
{
    auto a = depth();
    a.of = {{"a", "DLQRedriver", "RedriveFailures", "d", "Sum", std::chrono::minutes(5)},
        {"b", "DLQRedriver", "SuccessfulRedrives", "d", "Sum", std::chrono::minutes(5)}};
    a.expression = "100*a/b";
    a.above = 12.5;
    a.periods = 3;
    BOOST_TEST(put(a).has_value());
    auto const& sent = service.alarms.at(0).as_object();
    BOOST_TEST(!sent.contains("MetricName"));
    BOOST_TEST(!sent.contains("Period"));
    BOOST_TEST(sent.at("Threshold").as_double() == 12.5);
    BOOST_TEST(sent.at("DatapointsToAlarm").as_int64() == 3);
    auto const wanted = json::parse(R"([
        {"Id": "a", "ReturnData": false, "MetricStat": {"Period": 300, "Stat": "Sum", "Metric": {
            "Namespace": "DLQRedriver", "MetricName": "RedriveFailures",
            "Dimensions": [{"Name": "QueueName", "Value": "d"}]}}},
        {"Id": "b", "ReturnData": false, "MetricStat": {"Period": 300, "Stat": "Sum", "Metric": {
            "Namespace": "DLQRedriver", "MetricName": "SuccessfulRedrives",
            "Dimensions": [{"Name": "QueueName", "Value": "d"}]}}},
        {"Id": "result", "Expression": "100*a/b", "Label": "Look", "ReturnData": true}])");
    BOOST_TEST(sent.at("Metrics") == wanted);
}

BOOST_AUTO_TEST_CASE(a_refusal_has_its_name)
{
    service.refusal = "LimitExceeded";
    BOOST_TEST(put(depth()).error().service_code == "LimitExceeded");
}

BOOST_AUTO_TEST_CASE(closed_it_asks_nobody)
{
    client.close();
    BOOST_TEST(put(depth()).error().code == quern::errc::stopped);
    BOOST_TEST(service.asked.empty());
}

BOOST_AUTO_TEST_SUITE_END()
