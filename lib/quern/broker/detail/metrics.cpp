#include <quern/broker/detail/metrics.hpp>

#include <algorithm>

namespace quern::broker {
namespace {

constexpr std::string_view of_queue = "`queue`, `arn`";

constexpr metric all[] = {
    {"quern_broker_messages", "gauge", "`queue`, `arn`, `state`: visible delayed in_flight",
        "Messages of a queue, by state."},
    {"quern_broker_oldest_message_age_seconds", "gauge", of_queue, "Age of a queue's oldest message; absent: none."},
    {"quern_broker_messages_sent_total", "counter", of_queue, "Messages sent to a queue."},
    {"quern_broker_messages_received_total", "counter", of_queue, "Receives of a queue's messages."},
    {"quern_broker_messages_deleted_total", "counter", of_queue, "Messages of a queue that were deleted."},
    {"quern_broker_messages_moved_total", "counter", of_queue,
        "Messages of a queue that went to another: dead letters, and those brought back."},
    {"quern_broker_requests_total", "counter", "`operation`, `status`",
        "Requests, by operation and HTTP status; none: left unanswered by a fault."},
    {"quern_broker_faults_total", "counter", "", "Requests that a fault was made for."},
    {"quern_broker_connections_total", "counter", "", "Connections accepted."},
    {"quern_broker_connections_cut_total", "counter", "", "Connections closed as too slow, or as too many."},
    {"quern_broker_connections", "gauge", "", "Connections open."},
    {"quern_broker_long_polls", "gauge", "", "Long polls that wait for a message."},
    {"quern_broker_request_bytes_total", "counter", "", "Bytes of the bodies of requests."},
    {"quern_broker_answer_bytes_total", "counter", "", "Bytes of the bodies of answers."},
};

class metrics_page {
public:
    void head(std::string_view name)
    {
        name_ = name;
        auto const& m = *std::ranges::find(all, name, &metric::name);
        out.append("# HELP ").append(name).append(1, ' ').append(m.help);
        out.append("\n# TYPE ").append(name).append(1, ' ').append(m.kind).append(1, '\n');
    }
    /// Names of queues and operations hold nothing that would have to be escaped.
    void line(std::string_view labels, std::uint64_t value)
    {
        out.append(name_);
        if (!labels.empty()) out.append(1, '{').append(labels).append(1, '}');
        out.append(1, ' ').append(std::to_string(value)).append(1, '\n');
    }
    void number(std::string_view name, std::uint64_t value)
    {
        head(name);
        line({}, value);
    }

    std::string out;

private:
    std::string_view name_;
};

std::string labels_of(queue_look const& q)
{
    return "queue=\"" + q.name + "\",arn=\"" + q.arn + '"';
}

void write_queues(metrics_page& to, std::vector<queue_look> const& queues, instant now)
{
    to.head("quern_broker_messages");
    for (auto const& q : queues) {
        auto const labels = labels_of(q) + ",state=\"";
        to.line(labels + "visible\"", q.visible);
        to.line(labels + "delayed\"", q.delayed);
        to.line(labels + "in_flight\"", q.in_flight);
    }
    to.head("quern_broker_oldest_message_age_seconds");
    for (auto const& q : queues) {
        if (!q.oldest_sent_at) continue;
        auto const age = std::chrono::duration_cast<std::chrono::seconds>(now - *q.oldest_sent_at);
        to.line(labels_of(q), static_cast<std::uint64_t>(std::max<std::int64_t>(age.count(), 0)));
    }
    std::pair<std::string_view, std::uint64_t queue_counts::*> const counts[] = {
        {"quern_broker_messages_sent_total", &queue_counts::sent},
        {"quern_broker_messages_received_total", &queue_counts::received},
        {"quern_broker_messages_deleted_total", &queue_counts::deleted},
        {"quern_broker_messages_moved_total", &queue_counts::moved}};
    for (auto const& [name, member] : counts) {
        to.head(name);
        for (auto const& q : queues)
            to.line(labels_of(q), q.counts.*member);
    }
}

} // namespace

std::span<metric const> metrics()
{
    return all;
}

std::string metrics_text(
    std::vector<queue_look> const& queues, answer_counts const& answers, server_counters const& counters, instant now)
{
    metrics_page to;
    write_queues(to, queues, now);
    to.head("quern_broker_requests_total");
    for (auto const& [what, number] : answers) {
        auto const& [operation, status] = what;
        auto const text = status == 0 ? std::string("none") : std::to_string(status);
        to.line("operation=\"" + std::string(operation) + "\",status=\"" + text + '"', number);
    }
    to.number("quern_broker_faults_total", counters.faults);
    to.number("quern_broker_connections_total", counters.connections);
    to.number("quern_broker_connections_cut_total", counters.cut_connections);
    to.number("quern_broker_connections", counters.open_connections);
    to.number("quern_broker_long_polls", counters.parked_polls);
    to.number("quern_broker_request_bytes_total", counters.request_bytes);
    to.number("quern_broker_answer_bytes_total", counters.answer_bytes);
    return std::move(to.out);
}

} // namespace quern::broker
