#include <quern/broker/detail/metrics.hpp>

#include <quern/core/detail/text/prometheus_page.hpp>

#include <algorithm>

namespace quern::broker::detail {

using namespace quern::detail;

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

using text::prometheus_page;

void begin_family(prometheus_page& to, std::string_view name)
{
    auto const& m = *std::ranges::find(all, name, &metric::name);
    to.family(name, m.kind, m.help);
}

std::string labels_of(queue_look const& q)
{
    std::string out;
    text::append_label(out, "queue", q.name);
    text::append_label(out, "arn", q.arn);
    return out;
}

void write_queues(prometheus_page& to, std::vector<queue_look> const& queues, instant now)
{
    begin_family(to, "quern_broker_messages");
    for (auto const& q : queues) {
        std::pair<std::string_view, std::uint64_t> const states[] = {
            {"visible", q.visible}, {"delayed", q.delayed}, {"in_flight", q.in_flight}};
        for (auto const& [state, number] : states) {
            auto labels = labels_of(q);
            text::append_label(labels, "state", state);
            to.sample(labels, number);
        }
    }
    begin_family(to, "quern_broker_oldest_message_age_seconds");
    for (auto const& q : queues) {
        if (!q.oldest_sent_at) continue;
        auto const age = std::chrono::duration_cast<std::chrono::seconds>(now - *q.oldest_sent_at);
        to.sample(labels_of(q), static_cast<std::uint64_t>(std::max<std::int64_t>(age.count(), 0)));
    }
    std::pair<std::string_view, std::uint64_t queue_counts::*> const counts[] = {
        {"quern_broker_messages_sent_total", &queue_counts::sent},
        {"quern_broker_messages_received_total", &queue_counts::received},
        {"quern_broker_messages_deleted_total", &queue_counts::deleted},
        {"quern_broker_messages_moved_total", &queue_counts::moved}};
    for (auto const& [name, member] : counts) {
        begin_family(to, name);
        for (auto const& q : queues)
            to.sample(labels_of(q), q.counts.*member);
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
    prometheus_page to;
    write_queues(to, queues, now);
    begin_family(to, "quern_broker_requests_total");
    for (auto const& [what, number] : answers) {
        auto const& [operation, status] = what;
        std::string labels;
        text::append_label(labels, "operation", operation);
        text::append_label(labels, "status", status == 0 ? "none" : std::to_string(status));
        to.sample(labels, number);
    }
    std::pair<std::string_view, std::uint64_t> const alone[] = {{"quern_broker_faults_total", counters.faults},
        {"quern_broker_connections_total", counters.connections},
        {"quern_broker_connections_cut_total", counters.cut_connections},
        {"quern_broker_connections", counters.open_connections}, {"quern_broker_long_polls", counters.parked_polls},
        {"quern_broker_request_bytes_total", counters.request_bytes},
        {"quern_broker_answer_bytes_total", counters.answer_bytes}};
    for (auto const& [name, value] : alone) {
        begin_family(to, name);
        to.sample({}, value);
    }
    return to.take();
}

} // namespace quern::broker::detail
