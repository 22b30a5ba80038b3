#include "redrive_options.hpp"

#include "complaint.hpp"
#include "duration_text.hpp"
#include "flag_text.hpp"
#include "rate_text.hpp"
#include "redrive_text.hpp"

#include <CLI/CLI.hpp>

#include <quern/aws/config/files.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/date.hpp>
#include <quern/policy/flag.hpp>
#include <quern/sqs/limits.hpp>

#include <algorithm>
#include <functional>
#include <map>

namespace quern::app {
namespace {

std::map<std::string, policy::jitter> const jitters{
    {"none", policy::jitter::none}, {"half", policy::jitter::half}, {"full", policy::jitter::full}};

/// Refuses what `read` cannot read.
template <class Read>
std::function<std::string(std::string const&)> must_be(Read read, std::string what)
{
    return [read, what](std::string const& text) { return read(text) ? std::string() : text + " is no " + what; };
}

template <class Read>
std::function<std::string(std::string const&)> must_make_sense(Read read)
{
    return [read](std::string const& text) {
        auto const made = read(text);
        return made ? std::string() : made.error().message;
    };
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

} // namespace

void add_common_options(CLI::App& command, redrive_options& o)
{
    command.add_option("--limit", o.limit, "Take at most so many messages; default: all, with --id one")
        ->type_name("N")
        ->check(CLI::Range(std::size_t(1), std::size_t(1'000'000'000)));
    command.add_option("--id", o.id, "Take only the message with this id")->type_name("ID")->check(is_given);
    command.add_option("--group", o.group, "Take only messages of this group")->type_name("GROUP")->check(is_given);
    command
        .add_option("--where", o.where,
            "Take only messages with such an attribute: 'attr.type = \"x\"', or with !=; all that are given must "
            "hold")
        ->type_name("TEXT")
        ->allow_extra_args(false)
        ->check(must_make_sense(redrive::parse_where));
    command
        .add_option("--where-body", o.where_body,
            "Take only messages with such a part of a JSON body: '/order/state = \"new\"', or with !=; all that are "
            "given must hold, and a body that is no JSON is never taken")
        ->type_name("TEXT")
        ->allow_extra_args(false)
        ->check(must_make_sense(redrive::parse_where_body));
    auto const is_moment =
        must_make_sense([](std::string const& text) { return redrive::parse_moment(text, wall_time()); });
    command
        .add_option("--since", o.since,
            "Take only messages that were first sent at this time or later: 2026-11-22T10:00:00Z, or 2h for two "
            "hours ago")
        ->type_name("TIME")
        ->check(is_moment);
    command
        .add_option(
            "--until", o.until, "Take only messages that were first sent before this time; written as for --since")
        ->type_name("TIME")
        ->check(is_moment);
    command.add_option("--concurrency", o.concurrency, "Hold at most so many messages at once")
        ->type_name("N")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    command.add_flag("--dry-run", o.dry_run,
        "Send nothing, and tell what would be done; each message is received once for it, which its receive count "
        "shows");
    command.add_flag("--yes", o.yes, "Begin without the question that is asked where standard input is a terminal");
    add_telling_options(command, o);
}

void add_telling_options(CLI::App& command, redrive_options& o)
{
    command
        .add_option("--report", o.report,
            "Write a report to this file, as JSON: what was sent, rejected and left; default: no report")
        ->type_name("FILE")
        ->check(is_given);
    command
        .add_option("--metrics", o.metrics,
            "Print metrics at the end, as emf: a line on standard output, of which CloudWatch makes metrics where it "
            "takes in logs; default: none")
        ->type_name("FORM")
        ->check(CLI::IsMember({"emf"}));
    add_admin_options(command, o.admin);
}

void add_redrive_options(CLI::App& command, redrive_options& o)
{
    auto* const to =
        command
            .add_option("--to", o.to,
                "Send all messages to this queue, URL or name; default: each to the queue that it came from")
            ->type_name("QUEUE")
            ->check(is_given);
    command
        .add_flag(
            "--to-source", o.to_source, "Send each message to the queue that it came from, which is the default")
        ->excludes(to);
    command
        .add_option("--poison-queue", o.poison_queue,
            "Move messages that have used up --max-attempts to this queue, URL or name; default: they stay")
        ->type_name("QUEUE")
        ->check(is_given);
    add_common_options(command, o);
    command
        .add_option("--cutoff", o.cutoff,
            "Whether what comes back during the run is sent again: now: it is left; off: it is sent")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"now", "off"}))
        ->capture_default_str();

    command
        .add_option("--reason", o.chosen_reason,
            "Take only messages with this text in the attribute QuernReason: those rejected or isolated for it")
        ->type_name("TEXT")
        ->check(is_given);
    auto* const rate =
        command
            .add_option("--rate", o.rate, "Send at most so many messages in a time: 10/s, 30/min; default: no limit")
            ->type_name("RATE")
            ->check(check_rate);
    command
        .add_option("--ramp", o.ramp,
            "Let the rate grow from one to another within a time: 1/s..200/s:10m; default: no limit")
        ->type_name("RAMP")
        ->check(must_be(ramp_from, "ramp: 1/s..200/s:10m"))
        ->excludes(rate);
    command
        .add_option("--canary", o.canary,
            "Send so many first, and the others only if these have not come back after a time: 10:5m; default: none "
            "first")
        ->type_name("N:TIME")
        ->check(must_be(canary_from, "canary: 10:5m"));
    command
        .add_option("--stop-on-return", o.stop_on_return,
            "Stop when more than this part of what was sent has come back: 5%; default: when any of --canary has, "
            "else never")
        ->type_name("PART")
        ->check(must_be(ratio_from, "part: 5%"));
    command
        .add_option("--stop-on-failure", o.stop_on_failure,
            "Stop when so many sends fail within a time: 10/min; default: never")
        ->type_name("N/TIME")
        ->check(must_be(failure_limit_from, "number in a time: 10/min, or in s or h"));

    command
        .add_option("--max-attempts", o.max_attempts,
            "Send a message at most so often, counted over all runs; after that it is poison, see --poison-queue")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000))
        ->capture_default_str();
    command
        .add_option("--delay-base", o.delay_base,
            "Delay the first attempt of a message by so long; each further one waits twice as long; 0: no delay")
        ->type_name("TIME")
        ->check(must_be(duration_from, duration))
        ->capture_default_str();
    command
        .add_option("--delay-max", o.delay_max, "Delay no attempt by more than this; 15m at most, 30d with --journal")
        ->type_name("TIME")
        ->check(must_be(duration_from, duration))
        ->capture_default_str();
    command
        .add_option(
            "--jitter", o.jitter, "Leave a part of each delay to chance, so that messages do not come all at once")
        ->type_name("PART")
        ->check(CLI::IsMember(jitters))
        ->capture_default_str();
    command
        .add_option("--native", o.native,
            "Whether SQS itself moves the messages, which counts no attempts: never; auto: it does if no other "
            "option is given that it cannot follow; only: it does, or the run is refused")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"auto", "never", "only"}))
        ->capture_default_str();
    auto* const keep =
        command.add_flag("--keep", o.keep, "Send copies, and leave the messages in the dead-letter queue");
    command
        .add_option("--breaker-flag", o.breaker_flag,
            "Send only while this flag says closed, off, false or 0. A file is read before each send, and lets "
            "nothing be sent while it cannot be read; any other is read every five seconds, and lets nothing be sent "
            "once it could not be read for a minute. One of " +
                std::string(flag_forms) + "; default: no flag")
        ->type_name("FLAG")
        ->check(check_flag);
    command
        .add_option("--on-open", o.on_open,
            "With --breaker-flag: what to do while it lets nothing be sent: stop: end the run; wait: hold "
            "--concurrency messages until it does")
        ->type_name("WHAT")
        ->check(CLI::IsMember({"stop", "wait"}))
        ->needs(command.get_option("--breaker-flag"))
        ->capture_default_str();
    auto* const journal = command
                              .add_option("--journal", o.journal,
                                  "Write every decision to this folder before it is carried out: a run that was "
                                  "killed can go on, delays may be days; default: no journal")
                              ->type_name("DIR")
                              ->check(is_given)
                              ->excludes(keep)
                              ->excludes(command.get_option("--dry-run"));
    command
        .add_option("--name", o.name,
            "With --journal: the name of the run; one of that name that is not over goes on; default: the queue's "
            "name")
        ->type_name("NAME")
        ->check(is_given)
        ->needs(journal);
}

void add_isolate_options(CLI::App& command, redrive_options& o)
{
    o.isolate = true;
    command.add_option("DLQ", o.queue, "URL or name")->required();
    command.add_option("--to", o.to, "Move the chosen messages to this poison queue, URL or name")
        ->type_name("QUEUE")
        ->required()
        ->check(is_given);
    command.add_option("--reason", o.reason, "Give the messages this attribute QuernReason")
        ->type_name("TEXT")
        ->check(is_given)
        ->capture_default_str();
    add_common_options(command, o);
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
    return o.name.empty() ? std::string(redrive::queue_name(o.queue)) : o.name;
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
