#include "alarm_plan.hpp"
#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/duration_text.hpp"
#include "common/service_options.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"

#include <quern/aws/config/detail/partitions.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/metrics/collection.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/queue_attributes.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace asio = boost::asio;

struct alarm_options {
    std::string queue;
    std::string dead_letters, poison; ///< empty: not given
    std::vector<std::string> topics;
    std::string max_age = "15m";
    int redrive_failures = 10;
    std::uint16_t noisy_groups = 0;
    bool fair = false;
    std::string format = "cloudformation";
    bool dry_run = false;
};

/// Name of the dead-letter queue; empty where the queue has none.
asio::awaitable<result<std::string>> dead_letters_of(session& s, std::string queue)
{
    auto url = co_await sqs::find_queue_url(s.sqs, std::move(queue));
    if (!url) co_return url.error();
    sqs::get_queue_attributes_request request(std::move(*url));
    request.attribute_names.emplace_back("RedrivePolicy");
    auto const got = co_await s.sqs.get_queue_attributes(std::move(request));
    if (!got) co_return got.error();
    auto const policy = sqs::redrive_policy_in(got->attributes);
    if (!policy) co_return policy.error();
    co_return std::string(sqs::queue_name_in(policy->dead_letter_arn));
}

/// The option that cannot be followed, in words; empty when all is well.
std::string problem_of(alarm_options const& o)
{
    constexpr std::size_t most_topics = 5; // of an alarm's state
    if (o.topics.size() > most_topics) return "--topic: an alarm tells five at most";
    for (auto const& topic : o.topics)
        if (!topic.starts_with("arn:"))
            return "--topic: \"" + topic + "\" is no ARN, as arn:aws:sns:eu-west-1:111122223333:on-call is one";
    for (auto const& [option, name] : {std::pair("--queue", &o.queue),
             std::pair("--dead-letter-queue", &o.dead_letters), std::pair("--poison-queue", &o.poison)}) {
        if (!name->empty() && !sqs::is_queue_name(sqs::queue_name_in(*name)))
            return std::string(option) + ": \"" + *name + "\" is neither a queue's name nor its URL";
    }
    return {};
}

alarm_plan plan_of(alarm_options const& o)
{
    alarm_plan out;
    out.queue = sqs::queue_name_in(o.queue);
    if (!o.dead_letters.empty()) out.dead_letters = sqs::queue_name_in(o.dead_letters);
    if (!o.poison.empty()) out.poison = sqs::queue_name_in(o.poison);
    out.topics = o.topics;
    out.max_age = std::chrono::ceil<std::chrono::seconds>(duration_from(o.max_age).value());
    out.redrive_failures = o.redrive_failures;
    out.fair = o.fair;
    out.noisy_groups = o.noisy_groups;
    return out;
}

/// Asks SQS for the dead-letter queue where the command line names none.
int complete(alarm_plan& plan, endpoint_options where, alarm_options const& o)
{
    if (plan.dead_letters) return ok;
    where.url.clear(); // CloudWatch's
    return run(where, o.queue, [&](session& s) -> asio::awaitable<int> {
        auto const found = co_await dead_letters_of(s, o.queue);
        if (!found) {
            co_return complain("the dead-letter queue of " + o.queue + ": " + describe(found.error()) +
                "; name it with --dead-letter-queue");
        }
        if (found->empty())
            say(stderr, "quern: {} has no dead-letter queue: no alarms for one\n", printable(plan.queue));
        else
            plan.dead_letters = *found;
        co_return ok;
    });
}

asio::awaitable<int> put_all(services::cloudwatch& client, std::vector<services::metric_alarm> alarms)
{
    for (auto const& alarm : alarms) {
        services::put_metric_alarm_request request(alarm);
        auto const done = co_await client.put_metric_alarm(std::move(request));
        if (!done)
            co_return complain(alarm.name + ", at " + client.endpoint().authority() + ": " + describe(done.error()));
        say(stdout, "{}\n", printable(alarm.name));
    }
    co_return ok;
}

/// Deletes what put_all() may ever have set for that queue. One by one: of several of which one is missing,
/// CloudWatch may refuse all.
asio::awaitable<int> delete_all(services::cloudwatch& client, std::vector<std::string> names)
{
    for (auto const& name : names) {
        std::vector<std::string> one{name};
        services::delete_alarms_request request(std::move(one));
        auto const done = co_await client.delete_alarms(std::move(request));
        auto const was_missing = !done && done.error().service_code.starts_with("ResourceNotFound");
        if (!done && !was_missing)
            co_return complain(name + ", at " + client.endpoint().authority() + ": " + describe(done.error()));
        if (done) say(stdout, "{}\n", printable(name));
    }
    co_return ok;
}

/// A queue's numbers are in its own region.
endpoint_options with_region_of(endpoint_options where, std::string const& queue)
{
    if (!where.region.empty()) return where;
    if (auto const arn = sqs::queue_arn_in(queue)) where.region = arn->region;
    if (sqs::is_queue_url(queue)) where.region = aws::detail::home_of(queue).region;
    return where;
}

int show(endpoint_options const& where, alarm_options const& o)
{
    auto plan = plan_of(o);
    if (int const code = complete(plan, where, o); code != ok) return code;
    auto const alarms = cloudwatch_alarms(plan);
    if (o.format == "cloudformation" && !o.dry_run) say(stdout, "{}\n", cloudformation(alarms));
    if (o.format == "json" || o.dry_run) {
        for (auto const& alarm : alarms)
            say(stdout, "{}\n", to_json(alarm));
    }
    return ok;
}

/// Has the work done by a client of CloudWatch in the queue's region.
int run_client(endpoint_options const& where, alarm_options const& o,
    std::function<asio::awaitable<int>(services::cloudwatch&)> const& work)
{
    aws::client_options options;
    auto const settled =
        settle(options, aws::cloudwatch_service, with_region_of(where, o.queue), aws::process_environment);
    if (!settled) return complain(settled.error());
    asio::io_context io(1);
    services::cloudwatch client(io.get_executor(), std::move(options));
    int const code = run(io, work(client));
    client.close();
    io.run();
    return code;
}

int put(endpoint_options const& where, alarm_options const& o)
{
    if (o.topics.empty())
        say(stderr, "quern: no --topic: the alarms tell nobody, and are to be seen in CloudWatch alone\n");
    if (o.dry_run) return show(where, o);
    auto plan = plan_of(o);
    if (int const code = complete(plan, where, o); code != ok) return code;
    return run_client(where, o, [&](services::cloudwatch& at) { return put_all(at, cloudwatch_alarms(plan)); });
}

int delete_set(endpoint_options const& where, alarm_options const& o)
{
    auto const names = names_of_alarms(std::string(sqs::queue_name_in(o.queue)));
    return run_client(where, o, [&](services::cloudwatch& at) { return delete_all(at, names); });
}

int rules(endpoint_options const&, alarm_options const& o)
{
    if (o.dead_letters.empty())
        say(stderr,
            "quern: no rule for failed redrives: their queue is not known; name it with --dead-letter-queue\n");
    say(stdout, "{}", prometheus_rules(plan_of(o)));
    return ok;
}

constexpr char const* footer =
    R"(Four alarms in CloudWatch: messages in the dead-letter queue, messages in the poison queue, messages that wait for longer
than --max-age, and redrives of which more than --max-redrive-failures percent fail (by the counts of `quern redrive
--metrics emf`). A queue that is not used sets none off. Each tells the --topic when it begins and when it is over; one that is
there already is changed. --fair adds two: on the age of messages of quiet groups, and on noisy groups. It takes
cloudwatch:PutMetricAlarm, and sqs:GetQueueAttributes to find the dead-letter queue. `delete` takes all away
(cloudwatch:DeleteAlarms): before a `put` without --poison-queue for one, which leaves an earlier alarm as it is.

`rules` writes alerting rules for Prometheus instead, over what `quern consume --admin-port` shows: dead letters, rejected and
spilled messages, a queue that nobody empties, a breaker that stays open, receives that fail, leases lost, damaged messages;
and over `quern redrive --admin-port` of the --dead-letter-queue, which is not looked up here: redrives that fail.

The endpoint is that of CloudWatch here: --endpoint, AWS_ENDPOINT_URL_CLOUDWATCH or AWS_ENDPOINT_URL, else the region's own.

Examples:
  quern alarms put --queue orders --topic arn:aws:sns:eu-west-1:111122223333:on-call
  quern alarms delete --queue orders
  quern alarms show --queue orders --poison-queue orders-poison > alarms.json
  quern alarms rules --queue orders --dead-letter-queue orders-dead > orders.rules.yml && promtool check rules orders.rules.yml)";

} // namespace

void add_alarms(command& app, command_line& line)
{
    auto const o = std::make_shared<alarm_options>();
    auto* const all =
        app.add_subcommand("alarms", "Set alarms on a queue and its dead letters, or write their rules");
    all->one_subcommand_at_most(); // see main()
    all->footer(footer);
    auto const is_duration = [](std::string const& text) {
        auto const d = duration_from(text);
        bool const good = d && d->count() > 0;
        return good ? std::string() : text + " is no duration above zero: 15m, 2h";
    };
    auto const add = [&](char const* name, char const* what, char const* dead_letters,
                         int (*run_it)(endpoint_options const&, alarm_options const&)) {
        auto* const one = all->add_subcommand(name, what);
        one->footer(footer);
        one->add({
            {"--queue QUEUE", o->queue, "The queue: URL, name or ARN", required()},
            {"--max-age DURATION", o->max_age, "Alarm when a message has waited for longer; default 15m",
                check(is_duration)},
            {"--dead-letter-queue QUEUE", o->dead_letters, dead_letters},
            {"--max-redrive-failures N", o->redrive_failures,
                "Alarm when more than so many percent of redriven messages fail again; default 10", range(0, 99)},
        });
        when_named(*one, line, [o, &line, run_it] {
            auto const wrong = problem_of(*o);
            return wrong.empty() ? run_it(line.where, *o) : complain(wrong, usage);
        });
        return one;
    };
    auto const add_for_cloudwatch = [&](char const* name, char const* what, auto run_it) {
        auto* const one = add(name, what,
            "The dead-letter queue: URL, name or ARN; default: that of the queue's redrive policy", run_it);
        one->add({
            {"--poison-queue QUEUE", o->poison,
                "Alarm for messages in this queue too, where rejected messages go; default: none"},
            {"--topic ARN", o->topics,
                "Tell this ARN of each alarm, a topic of SNS for instance; up to five; default: none", any_number()},
            {"--fair", o->fair,
                "The queue is fair, its messages have groups: alarm for quiet groups that wait longer than "
                "--max-age, and "
                "for noisy ones"},
            {"--max-noisy-groups N", o->noisy_groups,
                "With --fair: alarm when more groups than that have been noisy for a quarter of an hour; default 0"},
        });
        return one;
    };
    add_for_cloudwatch("put", "Set the alarms in CloudWatch", put)
        ->add({"--dry-run", o->dry_run, "Print what would be asked of CloudWatch, a JSON object a line"});
    add_for_cloudwatch("show", "Print the alarms, for who deploys otherwise", show)
        ->add({"--format", o->format,
            "Print a CloudFormation template, or as JSON what PutMetricAlarm takes, one a line; default "
            "cloudformation",
            one_of({"cloudformation", "json"})});
    auto* const gone = all->add_subcommand("delete", "Delete the alarms that `put` has set for a queue");
    gone->footer(footer);
    gone->add({"--queue QUEUE", o->queue, "The queue: URL, name or ARN", required()});
    when_named(*gone, line, [o, &line] {
        auto const wrong = problem_of(*o);
        return wrong.empty() ? delete_set(line.where, *o) : complain(wrong, usage);
    });
    add("rules", "Write alerting rules for Prometheus",
        "The dead-letter queue, for a rule for failed redrives; default: no such rule", rules);
}

} // namespace quern::app
