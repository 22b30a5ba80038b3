#include "redrive/redrive_options.hpp"

#include "common/command_line.hpp"
#include "common/complaint.hpp"
#include "common/duration_text.hpp"
#include "common/flag_text.hpp"
#include "common/rate_text.hpp"
#include "redrive/redrive_text.hpp"

#include <quern/aws/config/files.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/policy/flag.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <algorithm>
#include <map>

namespace quern::app {

using namespace quern::detail;

namespace {

std::map<std::string, policy::jitter> const jitters{
    {"none", policy::jitter::none}, {"half", policy::jitter::half}, {"full", policy::jitter::full}};

/// Refuses what `read` cannot read.
template <class Read>
trait must_be(Read read, std::string what)
{
    return check(
        [read, what](std::string const& text) { return read(text) ? std::string() : text + " is no " + what; });
}

auto const duration = "duration: 60s, 15m, 2h or 3d";

/// A variable of a script that is not set must not mean every message.
std::string is_given(std::string const& text)
{
    return text.empty() ? "must not be empty" : std::string();
}

/// Why nothing may be sent. What cannot be read is no permission.
std::optional<std::string> halted_by(std::string const& path)
{
    auto const text = aws::real_files().read(path);
    if (!text) return path + " cannot be read";
    if (policy::read_flag(*text) == policy::flag_word::run) return {};
    return path + " says \"" + printable(text->substr(0, std::min<std::size_t>(text->find('\n'), 100))) + '"';
}

/// How fast, and when to stop.
void add_pace_options(command& to, redrive_options& o)
{
    to.add({
        {"--rate RATE", o.rate, "Send at most so many messages in a time: 10/s, 30/min; default: no limit",
            check(check_rate)},
        {"--ramp RAMP", o.ramp,
            "Let the rate grow from one to another within a time: 1/s..200/s:10m; default: no limit",
            must_be(ramp_from, "ramp: 1/s..200/s:10m"), excludes("--rate")},
        {"--canary N:TIME", o.canary,
            "Send so many first, and the others only if these have not come back after a time: 10:5m; default: none "
            "first",
            must_be(canary_from, "canary: 10:5m")},
        {"--stop-on-return PART", o.stop_on_return,
            "Stop when more than this part of what was sent has come back: 5%; default: when any of --canary has, "
            "else never",
            must_be(ratio_from, "part: 5%")},
        {"--stop-on-failure N/TIME", o.stop_on_failure,
            "Stop when so many sends fail within a time: 10/min; default: never",
            must_be(failure_limit_from, "number in a time: 10/min, or in s or h")},
    });
}

} // namespace

void add_common_options(command& to, redrive_options& o)
{
    auto const is_moment =
        parsed_by([](std::string const& text) { return redrive::parse_moment(text, wall_time()); });
    to.add({
        {"--limit N", o.limit, "Take at most so many messages; default: all, with --id one",
            range(std::size_t(1), std::size_t(1'000'000'000))},
        {"--id ID", o.id, "Take only the message with this id", check(is_given)},
        {"--group GROUP", o.group, "Take only messages of this group", check(is_given)},
        {"--where TEXT", o.where,
            "Take only messages with such an attribute: 'attr.type = \"x\"', or with !=; all that are given must "
            "hold",
            one_each_time(), parsed_by(redrive::parse_where)},
        {"--where-body TEXT", o.where_body,
            "Take only messages with such a part of a JSON body: '/order/state = \"new\"', or with !=; all that are "
            "given must hold, and a body that is no JSON is never taken",
            one_each_time(), parsed_by(redrive::parse_where_body)},
        {"--since TIME", o.since,
            "Take only messages that were first sent at this time or later: 2026-11-22T10:00:00Z, or 2h for two "
            "hours ago",
            is_moment},
        {"--until TIME", o.until, "Take only messages that were first sent before this time; written as for --since",
            is_moment},
        {"--concurrency N", o.concurrency, "Hold at most so many messages at once", range(1, 10'000),
            shows_default()},
        {"--dry-run", o.dry_run,
            "Send nothing, and tell what would be done; each message is received once for it, which its receive "
            "count shows"},
        {"--yes", o.yes, "Begin without the question that is asked where standard input is a terminal"},
    });
    add_telling_options(to, o);
}

void add_telling_options(command& to, redrive_options& o)
{
    to.add({
        {"--report FILE", o.report,
            "Write a report to this file, as JSON: what was sent, rejected and left; default: no report",
            check(is_given)},
        {"--metrics FORM", o.metrics,
            "Tell CloudWatch the counts of the run, as emf: a line on standard output at the end, of which it makes "
            "metrics where it takes in logs; cloudwatch: PutMetricData once a minute and at the end; default: none",
            one_of({"emf", "cloudwatch"})},
    });
    add_admin_options(to, o.admin);
}

void add_redrive_options(command& to, redrive_options& o)
{
    to.add({
        {"--to QUEUE", o.to,
            "Send all messages to this queue, URL, name or ARN; default: each to the queue that it came from",
            check(is_given)},
        {"--to-source", o.to_source, "Send each message to the queue that it came from, which is the default",
            excludes("--to")},
        {"--poison-queue QUEUE", o.poison_queue,
            "Move messages that have used up --max-attempts to this queue, URL, name or ARN; default: they stay",
            check(is_given)},
        {"--rule TEXT", o.rules,
            "Send messages with such a part to this queue: 'attr.type = \"x\" -> QUEUE', '/order/state = \"new\" -> "
            "QUEUE', or with !=; the first of several that holds counts, and the others go as --to says",
            one_each_time(), parsed_by(rule_from)},
    });
    add_common_options(to, o);
    to.add({
        {"--cutoff WHEN", o.cutoff,
            "Whether what comes back during the run is sent again: now: it is left; off: it is sent",
            one_of({"now", "off"}), shows_default()},
        {"--reason TEXT", o.chosen_reason,
            "Take only messages with this text in the attribute QuernReason: those rejected or isolated for it",
            check(is_given)},
    });
    add_pace_options(to, o);
    to.add({
        {"--max-attempts N", o.max_attempts,
            "Send a message at most so often, counted over all runs; after that it is poison, see --poison-queue",
            range(1, 1'000), shows_default()},
        {"--delay-base TIME", o.delay_base,
            "Delay the first attempt of a message by so long; each further one waits twice as long; 0: no delay",
            must_be(duration_from, duration), shows_default()},
        {"--delay-max TIME", o.delay_max, "Delay no attempt by more than this; 15m at most, 30d with --journal",
            must_be(duration_from, duration), shows_default()},
        {"--jitter PART", o.jitter, "Leave a part of each delay to chance, so that messages do not come all at once",
            one_of({"full", "half", "none"}), shows_default()},
        {"--native WHEN", o.native,
            "Whether SQS itself moves the messages, which counts no attempts: never; auto: it does if no other "
            "option is given that it cannot follow; only: it does, or the run is refused",
            one_of({"auto", "never", "only"}), shows_default()},
        {"--keep", o.keep, "Send copies, and leave the messages in the dead-letter queue"},
        {"--breaker-flag FLAG", o.breaker_flag,
            "Send only while this flag says closed, off, false or 0. A file is read before each send, and lets "
            "nothing be sent while it cannot be read; any other is read every five seconds, and lets nothing be sent "
            "once it could not be read for a minute. One of " +
                std::string(flag_forms) + "; default: no flag",
            parsed_by(parse_flag)},
        {"--on-open WHAT", o.on_open,
            "With --breaker-flag: what to do while it lets nothing be sent: stop: end the run; wait: hold "
            "--concurrency messages until it does",
            one_of({"stop", "wait"}), needs("--breaker-flag"), shows_default()},
        {"--journal DIR", o.journal,
            "Write every decision to this folder before it is carried out: a run that was killed can go on, delays "
            "may be days; default: no journal",
            check(is_given), excludes("--keep"), excludes("--dry-run")},
        {"--name NAME", o.name,
            "With --journal: the name of the run; one of that name that is not over goes on; default: the queue's "
            "name",
            check(is_given), needs("--journal")},
        {"--again", o.again,
            "With --journal, of a run that is started on a timer: one of the name that is not over goes on, and when "
            "it is over a new one begins: NAME-2, NAME-3 and so on; none while the queue is empty",
            needs("--journal")},
    });
}

void add_isolate_options(command& to, redrive_options& o)
{
    o.isolate = true;
    to.add({
        {"DLQ", o.queue, "URL, name or ARN", required()},
        {"--to QUEUE", o.to, "Move the chosen messages to this poison queue, URL, name or ARN", required(),
            check(is_given)},
        {"--reason TEXT", o.reason, "Give the messages this attribute QuernReason", check(is_given), shows_default()},
    });
    add_common_options(to, o);
}

std::optional<std::string> flag_file(redrive_options const& o)
{
    if (o.breaker_flag.empty()) return {};
    auto const at = parse_flag(o.breaker_flag);
    if (!at || at->where != flag_place::kind::file) return {};
    return at->path[0];
}

std::string journal_name(redrive_options const& o)
{
    return o.name.empty() ? std::string(sqs::queue_name_in(o.queue)) : o.name;
}

void fix_moments(redrive_options& o, wall_time now)
{
    auto const fix = [now](std::string const& given, std::string& at) {
        if (!given.empty() && at.empty()) at = text::rfc3339(redrive::parse_moment(given, now).value());
    };
    fix(o.since, o.since_at);
    fix(o.until, o.until_at);
}

result<redrive::options> options_from(redrive_options const& o)
{
    redrive::options out;
    auto& which = out.which;
    for (auto const& text : o.where)
        which.where.push_back(redrive::parse_where(text).value());
    for (auto const& text : o.where_body)
        which.where.push_back(redrive::parse_where_body(text).value());
    if (!o.since_at.empty()) which.since = redrive::parse_moment(o.since_at, wall_time()).value();
    if (!o.until_at.empty()) which.until = redrive::parse_moment(o.until_at, wall_time()).value();
    for (auto const& text : o.rules)
        out.targets.push_back(rule_from(text).value());
    which.id = o.id;
    which.group = o.group;
    which.reason = o.chosen_reason;

    out.cutoff = o.cutoff == "now";
    out.concurrency = o.concurrency;
    out.speed.limit = o.limit;
    if (!o.id.empty() && !o.limit) out.speed.limit = 1; // there is no second one to look for
    if (!o.rate.empty()) out.speed.rate = per_second(o.rate);
    if (!o.ramp.empty()) out.speed.ramp = ramp_from(o.ramp);
    if (!o.canary.empty()) out.speed.canary = canary_from(o.canary);
    if (!o.stop_on_return.empty()) out.speed.stop_on_return = ratio_from(o.stop_on_return);
    if (!o.stop_on_failure.empty()) out.speed.stop_on_failure = failure_limit_from(o.stop_on_failure);

    out.plan.waits = !o.journal.empty();
    out.plan.max_attempts = o.max_attempts;
    out.plan.delay_base = duration_from(o.delay_base).value();
    out.plan.delay_max = duration_from(o.delay_max).value();
    out.plan.jitter = jitters.at(o.jitter);
    if (o.isolate) out.plan.isolate_all = o.reason;
    out.keep = o.keep;
    out.dry_run = o.dry_run;
    if (auto const file = flag_file(o)) out.halted = [path = *file] { return halted_by(path); };
    if (out.plan.delay_max > sqs::max_delay) out.wait_time = std::chrono::seconds(20); // there are days of it
    out.waits_when_halted = o.on_open == "wait";
    out.log = to_stderr();
    if (auto const wrong = out.plan.validate()) return *wrong;
    if (auto const wrong = out.speed.validate()) return *wrong;
    return out;
}

} // namespace quern::app
