#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/depth.hpp"
#include "common/flag_source.hpp"
#include "common/report_file.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"
#include "redrive/flag_watch.hpp"
#include "redrive/redrive_door.hpp"
#include "redrive/redrive_edit.hpp"
#include "redrive/redrive_journal.hpp"
#include "redrive/redrive_metrics.hpp"
#include "redrive/redrive_native.hpp"
#include "redrive/redrive_options.hpp"
#include "redrive/redrive_saved.hpp"
#include "redrive/redrive_text.hpp"
#include "redrive/redrive_watch.hpp"

#include <quern/aws/config/detail/partitions.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <unistd.h>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace asio = boost::asio;

/// True when nobody is there to ask, or says yes.
bool agrees(redrive_options const& o, redrive::options const& settings, std::size_t depth)
{
    if (o.yes || o.dry_run || ::isatty(STDIN_FILENO) != 1) return true;
    std::string const from(sqs::queue_name_in(settings.dlq_url));
    std::string const to(sqs::queue_name_in(o.isolate ? settings.poison_url : settings.to_url));
    say(stderr, "{} has about {} messages. {} {} to {}? [y/N] ", printable(from), depth,
        o.isolate ? "Isolate" : "Redrive", settings.which.chooses_all() ? "them" : "those that are chosen",
        to.empty() ? "the queues that they came from" : printable(to));
    std::string line;
    std::getline(std::cin, line);
    return line == "y" || line == "Y" || line == "yes";
}

/// Prints the counts, the reasons behind them, and which messages are left.
void tell(redrive::report const& r)
{
    auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(r.took);
    say(stderr, "{}, in {}\n", counts_text(r), time_text(seconds));
    for (auto const& [reason, count] : r.by_reason)
        say(stderr, "  {} because {}\n", count, printable(reason));
    for (auto const& one : r.left_messages)
        say(stderr, "  left: {}: {}\n", printable(one.id), printable(one.reason));
    if (r.left > r.left_messages.size()) say(stderr, "  and {} more\n", r.left - r.left_messages.size());
    if (r.unreadable != 0)
        say(stderr, "  {} no readable JSON: no --where-body chooses such, be it with = or with !=\n",
            r.unreadable == 1 ? "1 has" : fmt::format("{} have", r.unreadable));
    if (r.unknown != 0) say(stderr, "  {} may be in two queues: `quern redrive status` names them\n", r.unknown);
    if (r.elsewhere != 0)
        say(stderr, "  {} messages were in flight elsewhere: run it again when they are back\n", r.elsewhere);
    if (r.behind != 0)
        say(stderr, "  {} more are in the queue, behind others of their group that were not chosen\n", r.behind);
    if (r.still_hidden != 0)
        say(stderr, "  {} could not be made visible again: they come to light by themselves\n", r.still_hidden);
    if (r.interrupted) say(stderr, "  it was ended early: run it again for the rest\n");
}

int judge(redrive_options const& o, redrive::report const& r, std::optional<report_file>& to)
{
    tell(r);
    int code = ok;
    if (r.left != 0 || r.unknown != 0 || r.interrupted || r.elsewhere != 0) code = failed;
    if (!r.drain.clean())
        code = complain("the drain left messages behind that come again later: " + to_json(r.drain), not_drained);
    if (r.stopped) code = complain("stopped: " + printable(*r.stopped), r.journal_failed ? usage : halted);
    if (r.cancelled) code = complain("cancelled", halted);
    if (to) {
        if (auto const written = to->write(to_json(r) + '\n'); !written)
            code = complain_of_report(o.report, written.error());
    }
    return code;
}

/// Settles the queue that an option names; an empty name stays empty.
asio::awaitable<result<std::string>> settled(session& s, std::string const& name)
{
    if (name.empty()) co_return name;
    auto url = co_await existing_queue(s.sqs, name);
    co_return url;
}

/// A flag that stands in no file, read in the background from now on; null where there is none. What cannot be read
/// for a minute is no permission.
asio::awaitable<result<std::shared_ptr<flag_watch>>> watched_flag(session& s, redrive_options const& o)
{
    if (o.breaker_flag.empty() || flag_file(o)) co_return std::shared_ptr<flag_watch>();
    policy::flag_options how;
    how.interval = std::chrono::seconds(5);
    how.max_age = std::chrono::minutes(1);
    how.halt_when_unknown = true;
    auto opened = open_flag(s, "--breaker-flag", o.breaker_flag, std::chrono::seconds(5));
    if (!opened) co_return opened.error();
    how.source = std::move(*opened);
    auto const out = std::make_shared<flag_watch>(s.io.get_executor(), std::move(how));
    co_await out->begin();
    co_return out;
}

bool has_begun(std::optional<redrive::journal> const& it)
{
    return it && it->book().now() != redrive::run_book::phase::none;
}

/// The settings of the run but for its queues; what they mean by "2h ago" is as its journal has it.
result<redrive::options> settings_for(redrive_options& o, std::optional<redrive::journal>& journal)
{
    if (has_begun(journal)) {
        auto const began_with = from_input(journal->book().start().input);
        if (!began_with) return began_with.error();
        o.since_at = began_with->since_at;
        o.until_at = began_with->until_at;
    }
    fix_moments(o, real_clock().wall());
    auto out = options_from(o);
    if (!out || !journal) return out;
    auto const input = to_input(o);
    if (!input) return input.error();
    auto counted = redrive::counted_attempts(o.journal);
    if (!counted) return counted.error();
    out->counted_before = std::move(*counted);
    out->record = &*journal;
    out->record_input = *input;
    return out;
}

/// Finds the queues. Tells, and completes with the exit code, when one cannot be had.
asio::awaitable<std::optional<int>> find_queues(session& s, redrive_options const& o, redrive::options& to)
{
    struct named {
        std::string option, name;
        std::string& url;
    };
    std::string const none;
    named const all[] = {{"", o.queue, to.dlq_url}, {"--to ", o.isolate ? none : o.to, to.to_url},
        {o.isolate ? "--to " : "--poison-queue ", o.isolate ? o.to : o.poison_queue, to.poison_url}};
    for (auto const& one : all) {
        auto const url = co_await settled(s, one.name);
        if (!url) co_return s.complain(url.error(), one.option + one.name);
        one.url = *url;
    }
    for (auto& one : to.targets) {
        auto const url = co_await settled(s, one.url);
        if (!url) co_return s.complain(url.error(), "--rule: " + one.url);
        one.url = *url;
    }
    if (!aws::detail::is_amazons(s.sqs.endpoint().host)) to.speed.depth_lag = std::chrono::milliseconds(0);
    co_return std::nullopt;
}

/// Runs the redriver, shown at work, and tells how it ended. `total`: the messages of the queue; they and those that
/// the run has settled in processes before this one are what it is about.
asio::awaitable<int> run_redriver(session& s, redrive_options const& o, redrive::options settings, std::size_t total,
    std::optional<report_file>& report)
{
    auto const flag = co_await watched_flag(s, o);
    if (!flag) co_return complain(flag.error());
    if (*flag) settings.halted = [flag = *flag] { return flag->halted(); };
    auto const ex = s.io.get_executor();
    auto base = s.options;
    base.credentials = s.sqs.credentials();
    auto const opened_door = redrive_door::open(s, o.admin, settings.dlq_url);
    if (!opened_door) co_return complain(opened_door.error());
    auto const door = *opened_door;
    if (door) {
        base.observer = door->of_client();
        door->watch(settings);
    }
    auto& client = s.consumers.emplace(ex, redrive::client_options_for(settings, std::move(base)));
    auto const before = settings.record ? settings.record->book().counts() : redrive::run_book::tally();
    auto const opened_metrics = redrive_metrics::open(s, o.metrics, settings.dlq_url, before);
    if (!opened_metrics) co_return complain(opened_metrics.error());
    auto const metrics = *opened_metrics;
    auto const settled = before.redriven + before.isolated;
    auto const all = total + settled - std::min(before.undeleted, total);
    auto const expected = settings.which.chooses_all() ? std::min(settings.speed.limit.value_or(all), all) : 0;
    redrive::redriver driver(ex, client, std::move(settings));
    auto const also = [door, metrics](redrive::report const& r) {
        if (door) door->tell(r);
        if (metrics) metrics->tell(r);
    };
    auto const watch = std::make_shared<redrive_watch>(s.io, driver, expected, settled, also);
    watch->begin();
    auto const end = co_await driver.run();
    watch->end();
    if (*flag) (*flag)->end();
    if (!end) co_return s.complain(end.error(), o.queue);
    if (metrics) co_await metrics->finish(*end);
    co_return judge(o, *end, report);
}

int complain_of_options(failure wrong)
{
    wrong.message = by_options_of_program(std::move(wrong.message));
    return complain(wrong);
}

/// A run on a timer that finds nothing: told as any run, but no journal is kept of it.
asio::awaitable<int> end_without_work(session& s, redrive_options const& o, std::optional<report_file>& to)
{
    redrive::report const none;
    auto const metrics = redrive_metrics::open(s, o.metrics, o.queue, {});
    if (!metrics) co_return complain(metrics.error());
    if (*metrics) co_await (*metrics)->finish(none);
    co_return judge(o, none, to);
}

asio::awaitable<int> redrive_queue(session& s, redrive_options o)
{
    auto journal = journal_for(o);
    if (!journal) co_return complain(journal.error());
    auto settings = settings_for(o, *journal);
    if (!settings) co_return complain_of_options(settings.error());
    auto const unfound = co_await find_queues(s, o, *settings);
    if (unfound) co_return *unfound;
    if (auto const wrong = settings->validate()) co_return complain_of_options(*wrong);
    auto const more = o.native == "never" ? std::string() : beyond_a_move_task(o);
    if (o.native == "only" && !more.empty())
        co_return complain("--native only: SQS moves all as they are, and knows no " + more, usage);
    auto const depth = co_await queue_depth(s.sqs, settings->dlq_url);
    auto const total = depth ? depth->total() : 0;

    auto report = open_report(o.report);
    if (!report) co_return complain_of_report(o.report, report.error());
    if (o.again && depth && total == 0 && !has_begun(*journal)) co_return co_await end_without_work(s, o, *report);
    if (!has_begun(*journal) && !agrees(o, *settings, total)) co_return complain("nothing was done");
    if (o.native != "never" && more.empty())
        co_return co_await move_natively(s, o, settings->dlq_url, settings->to_url);
    co_return co_await run_redriver(s, o, std::move(*settings), total, *report);
}

} // namespace

int redrive_with(command_line const& line, std::shared_ptr<redrive_options> const& o)
{
    return run(line.where, o->queue, [o](session& s) { return redrive_queue(s, *o); });
}

namespace {

void run_redrive(command& to, std::shared_ptr<redrive_options> const& o, command_line& line)
{
    to.callback([&to, o, &line] {
        if (to.names_subcommand()) return;
        if (o->queue.empty()) throw usage_error("DLQ is required");
        line.run = [o, &line] { return redrive_with(line, o); };
    });
}

/// The text of `quern redrive --help` below its options.
constexpr char const* redrive_help =
    R"(Sends the messages of a dead-letter queue back, each to the queue that it came from unless --to names another, and
deletes it once that queue has confirmed. Any number of these may run at once.

A copy has the body, all attributes, the trace header and the group, and counts in x-redrive-attempt how often it was
redriven. After --max-attempts, or when that is no count, it is poison and goes to the --poison-queue with the reason in
QuernReason; without one it stays, is named, and the exit status is 1. The original id and times are new to the queue, but
x-original-first-receive-timestamp keeps the time of the first receive.

A message is delayed by --delay-base, doubled with each attempt up to --delay-max: by SQS on a standard queue, here on a FIFO
queue, where it counts from the start of the run and the rest of the group waits behind.

--canary 10:5m sends ten, waits until they could be received and five minutes more, and goes on only when none has come back
(or no more than --stop-on-return). What has come back is seen when it is received again, and by the queue's count of messages,
which on Amazon's SQS lags by a minute and a half: watch for longer than that.

What is not chosen is hidden while the run lasts, under leases of 30 s (longer beyond 2,000 messages), and visible again at its end.
On a FIFO queue it holds up its group.
Messages are found by receiving, so each look at one counts as a receive of it.

--native only has SQS move them (StartMessageMoveTask), from a queue that is a dead-letter queue: as they are, at --rate up to
500 a second, without a count of attempts and so without an end to what fails again.

--journal DIR writes every decision to DIR/NAME.jsonl before it is carried out. A run that was killed, stopped or drained goes on
with `quern redrive resume`; what may have been sent twice is named. Delays may then be 30 days: the messages stay in the queue,
hidden for up to 12 hours at a time. What has no room for the count goes unchanged, and DIR counts it. Any number of runs may be in
DIR, one at a time over each queue. See status, history, export and cancel.

SIGTERM and SIGINT drain. Exit status: 0 when all that was chosen went; 1 when something was left or failed, others had hidden
messages when the end of the queue was reached, the run was ended early by a signal, or nobody knows whether something was sent; 2 also when the journal cannot be written; 3 when the drain left something behind; 5 when a rule, the flag
or `cancel` stopped the run, or a refusal that would not pass.

Examples:
  quern redrive sample orders-dlq
  quern redrive orders-dlq --dry-run --where 'attr.type = "legacy"'
  quern redrive orders-dlq --canary 10:5m --ramp 1/s..50/s:10m --stop-on-return 5% --poison-queue orders-poison
  quern redrive orders-dlq --rule 'attr.type = "legacy" -> orders-legacy'
  quern redrive orders-dlq --id 30ea7123-59df-46d6-8b66-037694bbd9dc
  quern redrive orders-dlq --journal /var/lib/quern --delay-base 1d --delay-max 14d --breaker-flag ssm:/orders/halt
  quern redrive status --journal /var/lib/quern
  quern redrive isolate orders-dlq --to orders-poison --where-body '/version = 1')";

} // namespace

void add_redrive(command& app, command_line& line)
{
    auto const o = std::make_shared<redrive_options>();
    auto* const command = app.add_subcommand("redrive", "Send the messages of a dead-letter queue back");
    command->one_subcommand_at_most();
    command->add({
        {"DLQ", o->queue, "URL, name or ARN"}, // required, unless a subcommand is named
    });
    add_redrive_options(*command, *o);
    command->footer(redrive_help);
    run_redrive(*command, o, line);

    auto const by_hand = std::make_shared<redrive_options>();
    auto* const isolate = command->add_subcommand("isolate", "Move chosen messages to a poison queue");
    add_isolate_options(*isolate, *by_hand);
    run_redrive(*isolate, by_hand, line);

    add_redrive_journal(*command, line);
    add_import(*command, line);
    add_sample(*command, "sample", line);
    auto& look = add_sample(app, "dead-letters", line);
    look.one_subcommand_at_most();
    add_edit(look, line);
}

} // namespace quern::app
