#include "consume/consume_options.hpp"

#include "common/backoff_text.hpp"
#include "common/command_line.hpp"
#include "common/complaint.hpp"
#include "common/flag_text.hpp"
#include "common/rate_text.hpp"
#include "consume/consume_help.hpp"
#include "consume/fleet_work.hpp"

#include <quern/core/detail/text/reading.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

namespace quern::app {

using namespace std::chrono_literals;
using std::chrono::duration_cast;
using std::chrono::seconds;

namespace {

std::map<std::string, group_policy> const group_policies{{"retry", group_policy::retry_head},
    {"skip", group_policy::skip_head}, {"park", group_policy::park_group}, {"halt", group_policy::halt}};

std::string check_concurrency(std::string const& said)
{
    auto const n = detail::text::number_in<std::size_t>(said);
    return said == "auto" || (n && *n >= 1 && *n <= 120'000) ? "" : "wants a number from 1 to 120000, or auto";
}

result<std::pair<std::string, double>> tenant_weight_from(std::string_view text)
{
    auto const equals = text.rfind('=');
    auto const weight =
        equals == text.npos ? std::nullopt : quern::detail::text::number_in<double>(text.substr(equals + 1));
    if (!weight || !(*weight > 0 && *weight <= 1e6))
        return failure(errc::invalid_option, "must be TENANT=WEIGHT, as shop-7=2, the weight a number above 0");
    return std::pair(std::string(text.substr(0, equals)), *weight);
}

void add_flag_options(command& to, consume_options& o)
{
    to.add({
        {"--flag FLAG", o.flag,
            "Halt while this flag says open, go on when it says closed; one of " + std::string(flag_forms) +
                "; default: no flag",
            parsed_by(parse_flag)},
        {"--flag-name NAME", o.flag_name, "With --flag: read this member of the flag where its text is JSON",
            needs("--flag")},
        {"--flag-interval DURATION", o.flag_interval, "With --flag: read it so often; default 10s",
            duration_within(1s, 1h), needs("--flag")},
        {"--on-unknown-flag run|halt", o.on_unknown_flag,
            "With --flag: what to do where it was never read, or said run and could not be read for five minutes or "
            "three intervals, whichever is longer; a halt that was read stands; default run",
            one_of_told({"run", "halt"}), needs("--flag")},
    });
}

} // namespace

std::string conflict(consume_options const& o)
{
    if (o.on_group_failure == "skip" && o.poison_queue.empty())
        return "--on-group-failure skip needs --poison-queue, where the skipped message goes";
    for (auto const& queue : o.queues)
        if (std::ranges::count(o.queues, queue) != 1) return "the queue " + queue + " is named twice";
    if (!o.fleet.empty() && o.rate.empty() && !o.fleet_concurrency)
        return "--fleet-limit needs --rate or --fleet-concurrency";
    if (o.platform.target_dwell && o.queues.size() > 1) return "--target-dwell goes with one queue";
    if (!o.fleet.empty() && o.queues.size() > 1) return "--fleet-limit goes with one queue";
    if (!o.flag.empty() && o.flag == o.platform.raise_flag)
        return "--raise-flag is the flag of --flag: the consumer would halt itself, and never find out that the "
               "outage is over";
    if (o.park_for && o.on_group_failure != "park") return "--park-for needs --on-group-failure park";
    return {};
}

exit_rule exit_rule_from(consume_options const& o)
{
    exit_rule out;
    out.sysexits = o.sysexits;
    out.retry = exit_statuses::parse(o.exec_retry).value();
    out.reject = exit_statuses::parse(o.exec_reject).value();
    out.malformed = exit_statuses::parse(o.exec_malformed).value();
    out.unavailable = exit_statuses::parse(o.exec_unavailable).value();
    return out;
}

policy::flag_options flag_options_from(consume_options const& o)
{
    policy::flag_options out;
    out.name = o.flag_name;
    out.interval = o.flag_interval.value_or(out.interval);
    out.max_age = std::max(out.max_age, 3 * out.interval);
    out.halt_when_unknown = o.on_unknown_flag == "halt";
    return out;
}

namespace {

/// Places for what waits come on top of those for what is handled, and for as much that is being acknowledged.
void set_fairness(consumer_options& to, consume_options const& o)
{
    to.fairness.tenant_concurrency = o.tenant_concurrency;
    if (o.look_ahead) {
        auto& limits = to.limits;
        to.fairness.look_ahead = o.look_ahead;
        auto const at_once = limits.handler_concurrency.value_or(limits.max_in_flight);
        if (!to.concurrency) limits.handler_concurrency = at_once;
        limits.max_in_flight = std::min<std::size_t>(120'000, *o.look_ahead + 2 * at_once);
    }
    std::map<std::string, double> weights;
    for (auto const& text : o.tenant_weights) {
        auto const one = tenant_weight_from(text).value();
        weights.insert_or_assign(one.first, one.second);
    }
    if (weights.empty()) return;
    to.fairness.weight = [weights = std::move(weights)](std::string const& tenant) {
        auto const found = weights.find(tenant);
        return found == weights.end() ? 1 : found->second;
    };
}

} // namespace

consumer_options options_from(consume_options const& o)
{
    consumer_options out;
    auto const commands = o.finds_concurrency() ? 200u : 2 * std::max(1u, std::thread::hardware_concurrency());
    out.limits.max_in_flight = o.max_in_flight.value_or(o.exec.empty() ? 1'000 : commands);
    out.limits.max_bytes_in_flight = o.max_bytes_in_flight.most;
    if (o.finds_concurrency())
        out.concurrency.emplace().max = out.limits.max_in_flight;
    else
        out.limits.handler_concurrency = detail::text::number_in<std::size_t>(o.handler_concurrency);
    if (!o.rate.empty() && o.fleet.empty()) {
        out.limits.rate = rate_from(o.rate);
        out.limits.rate->burst = o.burst;
    }
    out.stall_after = o.stall_after;
    out.wait_time = duration_cast<seconds>(o.wait_time.value_or(o.until_empty ? 2s : 20s));
    out.receive_latency = o.receive_latency;
    out.visibility_timeout = duration_cast<seconds>(o.visibility_timeout);
    out.drain_deadline = o.drain_deadline;
    out.handler_timeout = o.handler_timeout;
    out.max_age = o.max_age;
    out.max_tries = o.max_tries;
    if (!o.backoff.empty()) out.backoff = backoff_from(o.backoff).value();
    if (!o.tenant.empty()) out.tenant = tenant_rule::parse(o.tenant).value();
    set_fairness(out, o);
    out.fifo.on_failure = group_policies.at(o.on_group_failure);
    out.fifo.park_for = o.park_for.value_or(out.fifo.park_for);
    out.system_attributes = {"SentTimestamp", "MessageGroupId"};
    out.log = to_stderr();
    out.log_bodies = o.log_bodies;
    out.give_up.at_start_after = 0s; // somebody has just typed it, or waits for it to start
    return out;
}

void add_consumer_options(command& to, consume_options& o)
{
    to.add({
        {"--until-empty", o.until_empty, "End when the queue has no message left, see below"},
        {"--max-bytes-in-flight SIZE", o.max_bytes_in_flight,
            "Receive no more while the messages held here have so many bytes together: 64MiB, 1GiB, none; default "
            "256MiB",
            size_or_none(sqs::max_message_bytes)},
        {"--rate N[/min|/h]", o.rate,
            "Begin to handle at most so many messages a second, or a minute or an hour: 50, 30/min, 100/h; default: "
            "no limit",
            check(check_rate)},
        {"--burst N", o.burst, "With --rate: the number of messages that may begin at once after a quiet time",
            range(1, 1'000'000), shows_default(), needs("--rate")},
        {"--fleet-limit ddb:TABLE/NAME", o.fleet,
            "Share --rate, and --fleet-concurrency, with all processes that name the same item of a DynamoDB table; "
            "each leases a part",
            check(check_fleet)},
        {"--fleet-concurrency N", o.fleet_concurrency,
            "With --fleet-limit: handle at most so many messages at once in all processes together",
            range(1, 1'000'000), needs("--fleet-limit")},
        {"--visibility-timeout DURATION", o.visibility_timeout,
            "Hide a received message from others for so long, in whole seconds; extended again and again while its "
            "handler runs",
            duration_within(3s, 12h), shows_default()},
        {"--max-age DURATION", o.max_age,
            "Reject a message that fails again so long after its first receive; default: never. Without "
            "--poison-queue and dead-letter queue it is deleted",
            duration_within(1s, 14 * 24h)},
        {"--max-tries N", o.max_tries,
            "Reject a message that fails again once SQS has counted so many receives of it; default: never. Without "
            "--poison-queue and dead-letter queue it is deleted",
            range(1, 1'000'000)},
        {"--backoff SERIES", o.backoff,
            "Delays after failures, by the receive count: exponential,1s,factor=2,cap=15m,jitter=half (the default), "
            "linear,10s,step=10s, fibonacci,1s, or a list, 5s,30s,2m, whose last one repeats",
            parsed_by(backoff_from)},
        {"--poison-queue QUEUE", o.poison_queue,
            "Move rejected messages to this queue, URL, name or ARN; default: the dead-letter queue of the redrive "
            "policy; where there is none they are deleted"},
        {"--on-group-failure POLICY", o.on_group_failure,
            "FIFO queues: what becomes of a group whose first message fails, see below; default retry",
            one_of({"halt", "park", "retry", "skip"})},
        {"--park-for DURATION", o.park_for,
            "With --on-group-failure park: the time for which the group waits; default 1h", duration_within(1s, 12h)},
        {"--wait-time DURATION", o.wait_time,
            "Wait so long, in whole seconds, for a message in each receive; default 20s, with --until-empty 2s",
            duration_within(0s, 20s)},
        {"--receive-latency DURATION", o.receive_latency,
            "Let a message wait so long in the queue that one receive brings several, while several arrive in that "
            "time; 0: fast, and a request for each message",
            duration_within(0s, 1s), shows_default()},
        {"--drain-deadline DURATION", o.drain_deadline,
            "End a drain after so long, although handlers may not have ended", duration_within(1s, 12h),
            shows_default()},
        {"--tenant TENANT", o.tenant,
            "Whom a message belongs to: group, attribute:NAME or body:/json/pointer. While what the messages of one "
            "need is down, those of the others go on; default: all messages are alike",
            parsed_by(tenant_rule::parse)},
        {"--look-ahead N", o.look_ahead,
            "With --tenant: let so many messages wait here for their turn, so that what tenants send behind a burst "
            "of one "
            "is seen; default: as many as handlers take next",
            range(1, 100'000), needs("--tenant")},
        {"--tenant-concurrency N", o.tenant_concurrency,
            "With --tenant: run at most so many handlers of one tenant at once; default: any number",
            range(1, 120'000), needs("--tenant")},
        {"--tenant-weight TENANT=WEIGHT", o.tenant_weights,
            "With --tenant: give this tenant so many times the part of the others; may be given again; default 1 "
            "each",
            parsed_by(tenant_weight_from), one_each_time(), needs("--tenant")},
    });
    add_flag_options(to, o);
    to.add({
        {"--log-messages LEVEL", o.log_messages,
            "Log a line for each message that is done with, at level info or debug: its tries, what its handler "
            "found, "
            "how long that took and when it comes again; default: none",
            one_of_told({"info", "debug"})},
        {"--stall-after DURATION", o.stall_after,
            "Log a line \"stalled:\" with the reason when nothing was received or settled for so long; none: never",
            duration_within(1s, 24h, true), shows_default()},
        {"--log-bodies", o.log_bodies,
            "Show the beginning of the body in the log lines about malformed and damaged messages; default: no body "
            "is logged"},
    });
    add_idempotency_options(to, o.idempotency);
    to.add({
        {"--report FILE", o.report,
            "Write a report of the drain to this file, as JSON: what was done, and what was left behind; default: no "
            "report"},
        {"--metrics FORM", o.metrics,
            "Send metrics once a minute and at the end, as emf: lines on standard error, of which CloudWatch makes "
            "metrics where it takes in logs; otlp: to the collector that the variables OTEL_* name; cloudwatch: "
            "PutMetricData; default: none",
            one_of_told({"emf", "otlp", "cloudwatch"})},
    });
    add_traces_option(to, o.traces);
    to.add({"--trace-links", o.traces.links,
        "With --traces: begin a trace for each handler, linked to the sender's; default: its span is a child of the "
        "sender's",
        needs("--traces")});
    add_admin_options(to, o.admin, true);
    add_platform_options(to, o.platform);
}

void add_options(command& to, consume_options& o)
{
    to.add({
        {"QUEUE", o.queues, "Queue to consume, URL, name or ARN; several share --max-in-flight", required()},
        {"--exec COMMAND", o.exec,
            "Run this shell command for each message, with the body on standard input; default: print the messages"},
        {"--max-in-flight N", o.max_in_flight,
            "Hold at most so many messages at once, running and waiting; default 1000, with --exec twice the number "
            "of processors, with --handler-concurrency auto as well 200",
            range(1, 120'000)},
        {"--handler-timeout DURATION", o.handler_timeout,
            "Cancel a handler that runs for longer, and try its message again later; default: not before its lease "
            "ends, 12 hours at most",
            duration_within(1ms, 12h)},
        {"--handler-concurrency N", o.handler_concurrency,
            "Run at most so many handlers, or commands, at once; auto: as many as bring more; default: as many as "
            "--max-in-flight",
            check(check_concurrency)},
        {"--sysexits", o.sysexits,
            "With --exec: statuses mean what sysexits.h says: 65 malformed, 67 and 77 rejected, 69 and 71 "
            "unavailable, "
            "all others retried; default: all are retried",
            needs("--exec")},
        {"--exec-reject STATUSES", o.exec_reject,
            "With --exec: statuses that reject the message for good, 77 or 100-110; default none",
            parsed_by(exit_statuses::parse), needs("--exec")},
        {"--exec-malformed STATUSES", o.exec_malformed,
            "With --exec: statuses of a message that cannot be understood: rejected, and logged as malformed; "
            "default "
            "none",
            parsed_by(exit_statuses::parse), needs("--exec")},
        {"--exec-unavailable STATUSES", o.exec_unavailable,
            "With --exec: statuses that say nothing of the message: what the command needs is down; default none",
            parsed_by(exit_statuses::parse), needs("--exec")},
        {"--exec-retry STATUSES", o.exec_retry,
            "With --exec: statuses that are retried whatever the options above say; default none",
            parsed_by(exit_statuses::parse), needs("--exec")},
        {"--settings FILE", o.settings, "Read limits from this TOML file, at the start and at SIGHUP; see below"},
    });
    add_consumer_options(to, o);
    to.footer(consume_help);
}

} // namespace quern::app
