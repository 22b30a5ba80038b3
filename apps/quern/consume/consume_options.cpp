#include "consume/consume_options.hpp"

#include "common/command_line.hpp"
#include "common/complaint.hpp"
#include "common/flag_text.hpp"
#include "common/rate_text.hpp"
#include "consume/consume_help.hpp"
#include "consume/fleet_work.hpp"

#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

namespace quern::app {

namespace {

std::map<std::string, group_policy> const group_policies{{"retry", group_policy::retry_head},
    {"skip", group_policy::skip_head}, {"park", group_policy::park_group}, {"halt", group_policy::halt}};

std::string check_max_bytes(std::string const& bytes)
{
    auto const size = std::stoull(bytes);
    return size == 0 || size >= sqs::max_message_bytes ? "" : "at least 1MiB, the largest message, or 0 for no limit";
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
        {"--flag-interval SECONDS", o.flag_interval, "With --flag: read it so often; default 10", range(1, 3'600),
            needs("--flag")},
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
    if (!o.fleet.empty() && o.rate.empty() && o.fleet_concurrency == 0)
        return "--fleet-limit needs --rate or --fleet-concurrency";
    if (!o.fleet.empty() && o.queues.size() > 1) return "--fleet-limit goes with one queue";
    if (o.park_for && o.on_group_failure != "park") return "--park-for needs --on-group-failure park";
    return {};
}

consumer_options options_from(consume_options const& o)
{
    consumer_options out;
    out.max_in_flight =
        o.max_in_flight.value_or(o.exec.empty() ? 1'000 : 2 * std::max(1u, std::thread::hardware_concurrency()));
    out.max_bytes_in_flight = o.max_bytes;
    out.handler_concurrency = o.handler_concurrency;
    if (!o.rate.empty() && o.fleet.empty()) {
        out.rate = rate_from(o.rate);
        out.rate->burst = o.burst;
    }
    out.stall_after = std::chrono::seconds(o.stall_after);
    out.wait_time = std::chrono::seconds(o.wait_time.value_or(o.until_empty ? 2 : 20));
    out.visibility_timeout = std::chrono::seconds(o.visibility_timeout);
    out.drain_deadline = std::chrono::seconds(o.drain_deadline);
    out.handler_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(o.handler_timeout * 1000));
    out.max_age = std::chrono::seconds(o.max_age);
    out.max_tries = o.max_tries;
    if (!o.tenant.empty()) out.tenant = tenant_rule::parse(o.tenant).value();
    out.flag.name = o.flag_name;
    if (o.flag_interval) {
        out.flag.interval = std::chrono::seconds(*o.flag_interval);
        out.flag.max_age = std::max(out.flag.max_age, 3 * out.flag.interval);
    }
    out.flag.halt_when_unknown = o.on_unknown_flag == "halt";
    out.on_group_failure = group_policies.at(o.on_group_failure);
    if (o.park_for) out.park_for = std::chrono::seconds(*o.park_for);
    out.system_attributes = {"SentTimestamp", "MessageGroupId"};
    out.log = to_stderr();
    out.log_bodies = o.log_bodies;
    out.give_up_at_start_after = std::chrono::seconds(0); // somebody has just typed it, or waits for it to start
    return out;
}

void add_consumer_options(command& to, consume_options& o)
{
    to.add({
        {"--until-empty", o.until_empty, "End when the queue has no message left, see below"},
        {"--max-bytes SIZE", o.max_bytes,
            "Receive no more while the messages held here have so many bytes together: 64MiB, 1GiB; 0: no limit; "
            "default 256MiB",
            size_value(), check(check_max_bytes)},
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
        {"--visibility-timeout SECONDS", o.visibility_timeout,
            "Hide a received message from others for so long; extended again and again while its handler runs",
            range(3, 43'200), shows_default()},
        {"--max-age SECONDS", o.max_age,
            "Reject a message that fails again so long after its first receive; default: never. Without "
            "--poison-queue and dead-letter queue it is deleted",
            range(1, 1'209'600)},
        {"--max-tries N", o.max_tries,
            "Reject a message that fails again once SQS has counted so many receives of it; default: never. Without "
            "--poison-queue and dead-letter queue it is deleted",
            range(1, 1'000'000)},
        {"--poison-queue QUEUE", o.poison_queue,
            "Move rejected messages to this queue, URL, name or ARN; default: the dead-letter queue of the redrive "
            "policy; where there is none they are deleted"},
        {"--on-group-failure POLICY", o.on_group_failure,
            "FIFO queues: what becomes of a group whose first message fails, see below; default retry",
            one_of({"halt", "park", "retry", "skip"})},
        {"--park-for SECONDS", o.park_for,
            "With --on-group-failure park: the time for which the group waits; default 3600", range(1, 43'200)},
        {"--wait-time SECONDS", o.wait_time,
            "Wait so long for a message in each receive; default 20, with --until-empty 2", range(0, 20)},
        {"--drain-deadline SECONDS", o.drain_deadline,
            "End a drain after so long, although handlers may not have ended", range(1, 43'200), shows_default()},
        {"--tenant TENANT", o.tenant,
            "Whom a message belongs to: group, attribute:NAME or body:/json/pointer. While what the messages of one "
            "need is down, those of the others go on; default: all messages are alike",
            parsed_by(tenant_rule::parse)},
    });
    add_flag_options(to, o);
    to.add({
        {"--stall-after SECONDS", o.stall_after,
            "Log a line \"stalled:\" with the reason when nothing was received or settled for so long; 0: never",
            range(0, 86'400), shows_default()},
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
    add_admin_options(to, o.admin);
}

void add_options(command& to, consume_options& o)
{
    to.add({
        {"QUEUE", o.queues, "Queue to consume, URL, name or ARN; several share --max-in-flight", required()},
        {"--exec COMMAND", o.exec,
            "Run this shell command for each message, with the body on standard input; default: print the messages"},
        {"--max-in-flight N", o.max_in_flight,
            "Hold at most so many messages at once, running and waiting; default 1000, with --exec twice the number "
            "of processors",
            range(1, 120'000)},
        {"--handler-timeout SECONDS", o.handler_timeout,
            "Cancel a handler that runs for longer, and try its message again later; 0: not before its lease ends, "
            "12 hours at most; default 0",
            range(0.0, 43'200.0)},
        {"--handler-concurrency N", o.handler_concurrency,
            "Run at most so many handlers, or commands, at once; 0: as many as --max-in-flight; default 0",
            range(0, 120'000)},
        {"--settings FILE", o.settings, "Read limits from this TOML file, at the start and at SIGHUP; see below"},
    });
    add_consumer_options(to, o);
    to.footer(consume_help);
}

} // namespace quern::app
