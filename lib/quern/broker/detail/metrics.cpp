#include <quern/broker/detail/metrics.hpp>

namespace quern::broker {

std::string metrics_text(std::vector<queue_look> const& queues, answer_counts const& answers)
{
    std::string out = "# HELP quern_broker_messages Messages of a queue, by state.\n"
                      "# TYPE quern_broker_messages gauge\n";
    for (auto const& q : queues) {
        std::pair<std::string_view, std::size_t> const states[] = {
            {"visible", q.visible}, {"delayed", q.delayed}, {"in_flight", q.in_flight}};
        for (auto const& [state, number] : states) {
            out.append("quern_broker_messages{queue=\"").append(q.name).append("\",arn=\"").append(q.arn);
            out.append("\",state=\"").append(state).append("\"} ").append(std::to_string(number)).append(1, '\n');
        }
    }
    out += "# HELP quern_broker_requests_total Requests, by operation and HTTP status; \"none\": left unanswered by "
           "a fault.\n"
           "# TYPE quern_broker_requests_total counter\n";
    for (auto const& [what, number] : answers) {
        auto const& [operation, status] = what;
        out.append("quern_broker_requests_total{operation=\"").append(operation).append("\",status=\"");
        out.append(status == 0 ? "none" : std::to_string(status)).append("\"} ").append(std::to_string(number));
        out += '\n';
    }
    return out;
}

} // namespace quern::broker
