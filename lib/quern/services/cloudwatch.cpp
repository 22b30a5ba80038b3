#include <quern/services/cloudwatch.hpp>

#include <quern/core/detail/text/json_writer.hpp>
#include <quern/services/detail/call.hpp>

#include <utility>

namespace quern::services {

using namespace quern::detail;
namespace asio = boost::asio;

namespace {

aws::detail::json_target target_of_cloudwatch()
{
    aws::detail::json_target target;
    target.target_prefix = "GraniteServiceVersion20100801";
    target.query_compatible = false;
    return target;
}

void write_dimension(text::json_writer& to, std::string const& queue)
{
    to.key("Dimensions").begin_array().begin_object();
    to.member("Name", "QueueName").member("Value", queue).end_object().end_array();
}

void write_metric(text::json_writer& to, queue_metric const& m)
{
    to.member("Namespace", m.name_space).member("MetricName", m.name);
    write_dimension(to, m.queue);
}

void write_expression(text::json_writer& to, metric_alarm const& a)
{
    to.key("Metrics").begin_array();
    for (auto const& m : a.of) {
        to.begin_object().member("Id", m.id).key("MetricStat").begin_object().key("Metric").begin_object();
        write_metric(to, m);
        to.end_object().member("Period", m.period.count()).member("Stat", m.statistic).end_object();
        to.member("ReturnData", false).end_object();
    }
    to.begin_object().member("Id", "result").member("Expression", a.expression).member("Label", a.description);
    to.member("ReturnData", true).end_object().end_array();
}

} // namespace

std::string to_json(metric_alarm const& a)
{
    std::string out;
    text::json_writer to(out);
    to.begin_object().member("AlarmName", a.name).member("AlarmDescription", a.description);
    for (auto const* told : {"AlarmActions", "OKActions"}) {
        to.key(told).begin_array();
        for (auto const& action : a.actions)
            to.string(action);
        to.end_array();
    }
    if (a.expression.empty()) {
        write_metric(to, a.of.front());
        to.member("Statistic", a.of.front().statistic).member("Period", a.of.front().period.count());
    } else {
        write_expression(to, a);
    }
    to.key("Threshold").number(a.above);
    to.member("ComparisonOperator", "GreaterThanThreshold").member("EvaluationPeriods", a.periods);
    to.member("DatapointsToAlarm", a.periods).member("TreatMissingData", "notBreaching").end_object();
    return out;
}

cloudwatch::cloudwatch(asio::any_io_executor ex, aws::client_options options, clock& time)
    : service_client(
          detail::make_host(std::move(ex), aws::cloudwatch_service, std::move(options), target_of_cloudwatch(), time))
{}

asio::awaitable<result<void>> cloudwatch::put_metric_alarm(put_metric_alarm_request r)
{
    auto const read = [](detail::reply const& end) { return end.refused ? *end.refused : result<void>(); };
    return detail::call(host_, "PutMetricAlarm", to_json(r.alarm), read);
}

asio::awaitable<result<void>> cloudwatch::delete_alarms(delete_alarms_request r)
{
    std::string body;
    text::json_writer to(body);
    to.begin_object().key("AlarmNames").begin_array();
    for (auto const& name : r.names)
        to.string(name);
    to.end_array().end_object();
    auto const read = [](detail::reply const& end) { return end.refused ? *end.refused : result<void>(); };
    return detail::call(host_, "DeleteAlarms", std::move(body), read);
}

asio::awaitable<result<void>> cloudwatch::put_metric_data(put_metric_data_request r)
{
    auto const at = std::chrono::floor<std::chrono::seconds>(r.at.time_since_epoch()).count();
    std::string body;
    text::json_writer to(body);
    to.begin_object().member("Namespace", r.name_space).key("MetricData").begin_array();
    for (auto const& [name, count] : r.counts) {
        to.begin_object().member("MetricName", name);
        write_dimension(to, r.queue);
        to.member("Timestamp", at).key("Value").number(count);
        to.member("Unit", "Count").end_object();
    }
    to.end_array().end_object();
    auto const read = [](detail::reply const& end) { return end.refused ? *end.refused : result<void>(); };
    return detail::call(host_, "PutMetricData", std::move(body), read);
}

} // namespace quern::services
