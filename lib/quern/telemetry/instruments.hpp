#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace quern::telemetry {

/// Everything that is measured, in the order of the table below.
enum class id : std::uint8_t {
    receives,
    messages_received,
    messages_settled,
    messages_adopted,
    messages_damaged,
    messages_malformed,
    messages_spilled,
    leases_extended,
    leases_lost,
    handler_failures,
    breaker_transitions,
    process_duration,
    dwell,
    wait,
    settle,
    in_flight_messages,
    in_flight_bytes,
    handlers_running,
    receives_open,
    oldest_in_flight,
    last_progress,
    limit,
    saturation,
    breaker_state,
    obstacle,
    flag_halted,
    flag_read,
    tenant_messages,
    tenant_capped,
    queue_messages,
    dead_letter_messages,
    wanted_replicas,
    redrive_messages,
    redrive_returns,
    redrive_failures,
    idempotency_messages,
    web_hook_requests,
    messages_sent,
    sends_unconfirmed,
    send_duration,
    producer_messages,
    producer_calls,
    producer_calls_limit,
    producer_bound,
    requests,
    request_duration,
    telemetry_dropped,
    build_info,
};
inline constexpr std::size_t instrument_count = static_cast<std::size_t>(id::build_info) + 1;

enum class kind : std::uint8_t { counter, gauge, histogram };

/// Kind of source that measures it. A source of numbers is of one part: it has the instruments of that and no others.
enum class part : std::uint8_t {
    consumer,     ///< of one queue
    tenant,       ///< of that, one of the busiest
    queue,        ///< as GetQueueAttributes tells, now and then
    dead_letters, ///< the same of the queue's dead-letter queue
    advice,       ///< what a process makes of the queue and of itself
    redrive,      ///< of a run over a dead-letter queue
    idempotency,  ///< of the guard of a queue's handlers
    web_hook,     ///< of the relay of a queue
    producer,     ///< into one queue
    client,       ///< requests to SQS, of all who share the client
    exporter,     ///< of these numbers
    program,
};

/// A label whose values are known beforehand, so that each has its place.
struct label {
    std::string_view name;
    std::string_view otel; ///< what OpenTelemetry's conventions call it; empty: `name`
    std::span<std::string_view const> values;
};

/// One row of the table.
struct instrument {
    id which;
    part of;
    kind what;
    std::string_view prometheus; ///< with the "_total" of a counter
    std::string_view otel;       ///< empty: OpenTelemetry tells it in another way
    std::string_view cloudwatch; ///< see cloudwatch_name(); empty: not sent there, where each costs money
    std::string_view unit;       ///< by UCUM: "s", "By", "1", "{message}"
    std::array<label, 2> labels; ///< the second and the first may be missing: no name
    std::string_view help;

    /// As many as the labels' values combine to; the last label's change first.
    constexpr std::size_t series() const
    {
        std::size_t out = 1;
        for (auto const& l : labels)
            if (!l.name.empty()) out *= l.values.size();
        return out;
    }
};

/// Upper bounds of all histograms, in seconds: those of OpenTelemetry's conventions for messaging, and four for what
/// takes minutes. What is above the last has a bucket too.
inline constexpr std::array<double, 18> bounds{
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300, 900};
inline constexpr std::size_t bucket_count = bounds.size() + 1;

namespace values {

using text = std::string_view;
inline constexpr text receive_result[] = {"messages", "empty", "failed", "repeated"};
inline constexpr text settled[] = {"acked", "retried", "released", "rejected"};
inline constexpr text failure_kind[] = {"threw", "timed_out", "cancelled", "unavailable"};
inline constexpr text breaker[] = {"closed", "open", "half_open"};
inline constexpr text verdict[] = {"retry", "ack", "release", "reject", "unavailable"};
inline constexpr text limited[] = {"messages", "bytes", "handlers", "receives"};
inline constexpr text obstacle[] = {"max_in_flight", "max_bytes_in_flight", "rate", "handler_concurrency",
    "receives_fail", "empty_answers", "paused", "handlers_hang", "breaker", "flag", "leases", "not_started",
    "draining", "ended"};
inline constexpr text tenant_state[] = {"running", "waiting"};
inline constexpr text queue_state[] = {"visible", "not_visible", "delayed"};
inline constexpr text redriven[] = {"redriven", "isolated", "skipped", "left"};
inline constexpr text guarded[] = {"claimed", "completed", "duplicate", "released", "abandoned", "mismatched",
    "fenced", "unavailable", "unrecorded"};
inline constexpr text sent_result[] = {"confirmed", "failed"};
inline constexpr text held[] = {"waiting", "under_way", "put_off", "outside"};
inline constexpr text producer_bound[] = {"calls", "messages", "bytes", "service", "groups"};
inline constexpr text request_result[] = {"ok", "throttled", "error", "timeout"};
inline constexpr std::array<text, 34> web_hook{"200", "201", "202", "204", "2xx", "1xx", "3xx", "400", "401", "403",
    "404", "405", "407", "408", "409", "410", "413", "415", "422", "425", "429", "4xx", "500", "501", "502", "503",
    "504", "5xx", "other", "cut_off", "no_answer", "not_sent", "not_asked", "cancelled"};
inline constexpr text signal[] = {"metrics", "traces"};

/// The last is for all others.
inline constexpr text operation[] = {"ReceiveMessage", "DeleteMessageBatch", "DeleteMessage",
    "ChangeMessageVisibilityBatch", "SendMessageBatch", "SendMessage", "GetQueueAttributes", "other"};

} // namespace values

// clang-format off
inline constexpr std::array<instrument, instrument_count> instruments{{
    {id::receives, part::consumer, kind::counter,
     "quern_receives_total", "quern.receives", "Receives*", "{receive}", {{{"result", "", values::receive_result}}},
     "Receives that ended; repeated: by a FIFO queue's consumer, after a lost answer."},
    {id::messages_received, part::consumer, kind::counter,
     "quern_messages_received_total", "messaging.client.consumed.messages", "MessagesReceived", "{message}", {},
     "Messages received, redeliveries included."},
    {id::messages_settled, part::consumer, kind::counter,
     "quern_messages_settled_total", "quern.messages.settled", "Messages*", "{message}",
     {{{"outcome", "", values::settled}}},
     "Messages deleted, retried, released or rejected, as SQS has confirmed."},
    {id::messages_adopted, part::consumer, kind::counter,
     "quern_messages_adopted_total", "quern.messages.adopted", "", "{message}", {},
     "Redeliveries of a message that the consumer still holds: not handled again."},
    {id::messages_damaged, part::consumer, kind::counter,
     "quern_messages_damaged_total", "quern.messages.damaged", "MessagesDamaged", "{message}", {},
     "Messages that arrived unreadable or with a wrong digest."},
    {id::messages_malformed, part::consumer, kind::counter,
     "quern_messages_malformed_total", "quern.messages.malformed", "MessagesMalformed", "{message}", {},
     "Messages that their handler could not read."},
    {id::messages_spilled, part::consumer, kind::counter,
     "quern_messages_spilled_total", "quern.messages.spilled", "MessagesSpilled", "{message}", {},
     "Messages that an outage sent to the dead-letter queue, on their last receive."},
    {id::leases_extended, part::consumer, kind::counter,
     "quern_leases_extended_total", "quern.leases.extended", "", "{lease}", {},
     "Extensions of a lease that SQS has confirmed."},
    {id::leases_lost, part::consumer, kind::counter,
     "quern_leases_lost_total", "quern.leases.lost", "LeasesLost", "{lease}", {},
     "Leases that ended while the message was held: it may be handled twice."},
    {id::handler_failures, part::consumer, kind::counter,
     "quern_handler_failures_total", "quern.handler.failures", "Handlers*", "{failure}",
     {{{"kind", "", values::failure_kind}}},
     "Handlers that threw, timed out or were cancelled, or found a dependency unavailable."},
    {id::breaker_transitions, part::consumer, kind::counter,
     "quern_breaker_transitions_total", "quern.breaker.transitions", "Breaker*:half_open", "{transition}",
     {{{"to", "", values::breaker}}},
     "Changes of a breaker, by its new state."},
    {id::process_duration, part::consumer, kind::histogram,
     "quern_process_duration_seconds", "messaging.process.duration", "ProcessDuration", "s",
     {{{"outcome", "quern.outcome", values::verdict}}},
     "Time that handlers took, by outcome."},
    {id::dwell, part::consumer, kind::histogram,
     "quern_dwell_seconds", "quern.dwell", "Dwell", "s", {},
     "Time from the sending of a message to its handler, earlier tries included."},
    {id::wait, part::consumer, kind::histogram,
     "quern_wait_seconds", "quern.wait", "", "s", {},
     "Time from the receive of a message to its handler."},
    {id::settle, part::consumer, kind::histogram,
     "quern_settle_seconds", "quern.settle", "", "s", {},
     "Time from the end of a handler until SQS confirmed its outcome."},
    {id::in_flight_messages, part::consumer, kind::gauge,
     "quern_in_flight_messages", "quern.in_flight.messages", "InFlightMessages", "{message}", {},
     "Messages held."},
    {id::in_flight_bytes, part::consumer, kind::gauge,
     "quern_in_flight_bytes", "quern.in_flight.size", "", "By", {},
     "Bytes of the messages held."},
    {id::handlers_running, part::consumer, kind::gauge,
     "quern_handlers_running", "quern.handlers.running", "", "{handler}", {},
     "Messages whose handler runs."},
    {id::receives_open, part::consumer, kind::gauge,
     "quern_receives_open", "quern.receives.open", "", "{receive}", {},
     "Receives under way."},
    {id::oldest_in_flight, part::consumer, kind::gauge,
     "quern_oldest_in_flight_timestamp_seconds", "quern.oldest_in_flight.time", "", "s", {},
     "Time of receipt of the oldest message held; absent: none is held."},
    {id::last_progress, part::consumer, kind::gauge,
     "quern_last_progress_timestamp_seconds", "quern.last_progress.time", "", "s", {},
     "Time of the last answered receive, or finished message."},
    {id::limit, part::consumer, kind::gauge,
     "quern_limit", "quern.limit", "", "1", {{{"what", "", values::limited}}},
     "Limits in force; absent: there is none."},
    {id::saturation, part::consumer, kind::gauge,
     "quern_saturation_ratio", "quern.saturation", "Saturation", "1", {},
     "Messages held, as a part of the limit."},
    {id::breaker_state, part::consumer, kind::gauge,
     "quern_breaker_state", "quern.breaker.state", "", "{breaker}", {{{"state", "", values::breaker}}},
     "Breakers that are not closed, by state; closed: 1 if all are."},
    {id::obstacle, part::consumer, kind::gauge,
     "quern_obstacle", "quern.obstacle", "", "1", {{{"what", "", values::obstacle}}},
     "1: this prevents the next receive."},
    {id::flag_halted, part::consumer, kind::gauge,
     "quern_flag_halted", "quern.flag.halted", "", "1", {},
     "1: the flag halts the work; absent: there is no flag."},
    {id::flag_read, part::consumer, kind::gauge,
     "quern_flag_read_timestamp_seconds", "quern.flag.read.time", "", "s", {},
     "Time of the last read of the flag that gave a valid word; absent: never."},
    {id::tenant_messages, part::tenant, kind::gauge,
     "quern_tenant_messages", "quern.tenant.messages", "", "{message}", {{{"state", "", values::tenant_state}}},
     "Messages of one of the twenty busiest tenants that run, or wait here for their turn."},
    {id::tenant_capped, part::tenant, kind::gauge,
     "quern_tenant_capped", "quern.tenant.capped", "", "1", {},
     "1: as many of the tenant's messages run as may."},
    {id::queue_messages, part::queue, kind::gauge,
     "quern_queue_messages", "quern.queue.messages", "", "{message}", {{{"state", "", values::queue_state}}},
     "Messages in the queue, as SQS says, approximately."},
    {id::dead_letter_messages, part::dead_letters, kind::gauge,
     "quern_dead_letter_messages", "quern.dead_letter.messages", "DeadLetters:visible", "{message}",
     {{{"state", "", values::queue_state}}},
     "Messages in its dead-letter queue, as SQS says, approximately."},
    {id::wanted_replicas, part::advice, kind::gauge,
     "quern_wanted_replicas", "quern.wanted_replicas", "WantedReplicas", "{process}", {},
     "Processes like this one that the queue needs for its target dwell; absent: not known yet."},
    {id::redrive_messages, part::redrive, kind::counter,
     "quern_redrive_messages_total", "quern.redrive.messages", "", "{message}",
     {{{"result", "", values::redriven}}},
     "Dead letters that `quern redrive` has decided on: sent and confirmed, not chosen, or chosen and neither sent nor isolated."},
    {id::redrive_returns, part::redrive, kind::counter,
     "quern_redrive_returns_total", "quern.redrive.returns", "", "{message}", {},
     "Redriven messages that failed again, as far as the run saw."},
    {id::redrive_failures, part::redrive, kind::counter,
     "quern_redrive_failures_total", "quern.redrive.failures", "", "{send}", {},
     "Sends of a redrive that failed or were refused; most are tried again."},
    {id::idempotency_messages, part::idempotency, kind::counter,
     "quern_idempotency_messages_total", "quern.idempotency.messages", "", "{message}",
     {{{"result", "", values::guarded}}},
     "Messages whose handler must not repeat, by what became of them: claimed, and then completed, abandoned, fenced or unrecorded; deleted as a duplicate; released since somebody else works on the key; mismatched with the payload of their key; or the store was unavailable."},
    {id::web_hook_requests, part::web_hook, kind::counter,
     "quern_webhook_requests_total", "quern.web_hook.requests", "", "{request}",
     {{{"status", "http.response.status_code", values::web_hook}}},
     "Requests of a relay to its web service that are over, by the status of the answer; 2xx and the like: another of that class; cut_off: the answer is not whole; no_answer: sent, and none came; not_sent: the service saw nothing of it; not_asked: there was no connection for it here; cancelled: its lease was lost, or a drain ended it."},
    {id::messages_sent, part::producer, kind::counter,
     "quern_messages_sent_total", "messaging.client.sent.messages", "MessagesSent*", "{message}",
     {{{"result", "", values::sent_result}}},
     "Messages of a producer, confirmed by SQS or failed for good."},
    {id::sends_unconfirmed, part::producer, kind::counter,
     "quern_sends_unconfirmed_total", "quern.sends.unconfirmed", "", "{message}", {},
     "Messages of a producer's requests that were not confirmed; most are tried again."},
    {id::send_duration, part::producer, kind::histogram,
     "quern_send_duration_seconds", "quern.send.duration", "", "s", {{{"result", "", values::sent_result}}},
     "Time from the call of send() to its end."},
    {id::producer_messages, part::producer, kind::gauge,
     "quern_producer_messages", "quern.producer.messages", "", "{message}", {{{"state", "", values::held}}},
     "Messages that a producer holds; outside: sends that wait for room in its buffer."},
    {id::producer_calls, part::producer, kind::gauge,
     "quern_producer_calls", "quern.producer.calls", "", "{request}", {},
     "Requests of a producer under way."},
    {id::producer_calls_limit, part::producer, kind::gauge,
     "quern_producer_calls_limit", "quern.producer.calls.limit", "", "{request}", {},
     "Requests that a producer may have under way now; it grows up to max_calls where that brings more."},
    {id::producer_bound, part::producer, kind::gauge,
     "quern_producer_bound", "quern.producer.bound", "", "1", {{{"what", "", values::producer_bound}}},
     "1: this limits the producer's speed."},
    {id::requests, part::client, kind::counter,
     "quern_requests_total", "quern.requests", "", "{request}",
     {{{"operation", "messaging.operation.name", values::operation}, {"result", "", values::request_result}}},
     "Requests to SQS that are over."},
    {id::request_duration, part::client, kind::histogram,
     "quern_request_duration_seconds", "messaging.client.operation.duration", "", "s",
     {{{"operation", "messaging.operation.name", values::operation}}},
     "Time that requests to SQS took, with their retries; long polls wait up to 20 s."},
    {id::telemetry_dropped, part::exporter, kind::counter,
     "quern_telemetry_dropped_total", "quern.telemetry.dropped", "", "{item}", {{{"signal", "", values::signal}}},
     "Exports of metrics that failed, or were left out because the one before was still under way; spans that nobody took."},
    {id::build_info, part::program, kind::gauge,
     "quern_build_info", "", "", "1", {},
     "1, with the version as a label."},
}};
// clang-format on

constexpr instrument const& about(id which)
{
    return instruments[static_cast<std::size_t>(which)];
}

/// Cells of one series: a counter and a gauge have one, a histogram its buckets and then the sum, in nanoseconds.
constexpr std::size_t cells_each(kind what)
{
    return what == kind::histogram ? bucket_count + 1 : 1;
}

namespace detail {

/// Where each instrument's cells begin in a source of its part, and at the end how many cells the part has.
struct layout {
    std::array<std::size_t, instrument_count> first{};
    std::array<std::size_t, static_cast<std::size_t>(part::program) + 1> size{};
};
inline constexpr layout cells = [] {
    layout out;
    for (auto const& i : instruments) {
        auto& size = out.size[static_cast<std::size_t>(i.of)];
        out.first[static_cast<std::size_t>(i.which)] = size;
        size += i.series() * cells_each(i.what);
    }
    return out;
}();

} // namespace detail

constexpr std::size_t first_cell(id which)
{
    return detail::cells.first[static_cast<std::size_t>(which)];
}
constexpr std::size_t cell_count(part of)
{
    return detail::cells.size[static_cast<std::size_t>(of)];
}

} // namespace quern::telemetry
