#include "alarm_plan.hpp"

#include <quern/core/detail/text/json_writer.hpp>

#include <fmt/core.h>

namespace quern::app {

using namespace quern::detail;

using services::metric_alarm;
using services::queue_metric;

namespace {

metric_alarm alarm_for(alarm_plan const& p, char const* what, std::string description)
{
    metric_alarm out;
    out.name = fmt::format("quern {}: {}", p.queue, what);
    out.description = std::move(description);
    out.actions = p.topics;
    return out;
}

/// SQS reports nothing of what its own moves to a dead-letter queue send there, so the depth is what tells.
metric_alarm depth_alarm(alarm_plan const& p, char const* what, std::string const& of, char const* meaning)
{
    auto out = alarm_for(p, what, fmt::format("{} of {} are in {}.", meaning, p.queue, of));
    out.of = {{"m", "AWS/SQS", "ApproximateNumberOfMessagesVisible", of, "Maximum", std::chrono::seconds(60)}};
    return out;
}

metric_alarm age_alarm(alarm_plan const& p)
{
    auto out = alarm_for(
        p, "age", fmt::format("The oldest message of {} has waited for more than {} s.", p.queue, p.max_age.count()));
    out.of = {{"m", "AWS/SQS", "ApproximateAgeOfOldestMessage", p.queue, "Maximum", std::chrono::seconds(60)}};
    out.above = static_cast<double>(p.max_age.count());
    out.periods = 3; // the number jumps when a message is put off
    return out;
}

/// Tenants that do nothing wrong and wait all the same: fair queues have failed, or consumers are too few.
metric_alarm quiet_alarm(alarm_plan const& p)
{
    auto out = alarm_for(p, "quiet groups",
        fmt::format("A message of a quiet group of {} has waited for more than {} s.", p.queue, p.max_age.count()));
    out.of = {
        {"m", "AWS/SQS", "ApproximateAgeOfOldestMessageInQuietGroups", p.queue, "Maximum", std::chrono::seconds(60)}};
    out.above = static_cast<double>(p.max_age.count());
    out.periods = 3;
    return out;
}

metric_alarm noisy_alarm(alarm_plan const& p)
{
    auto out = alarm_for(p, "noisy groups",
        fmt::format("More than {} groups of {} have been noisy for a quarter of an hour.", p.noisy_groups, p.queue));
    out.of = {{"m", "AWS/SQS", "ApproximateNumberOfNoisyGroups", p.queue, "Minimum", std::chrono::seconds(60)}};
    out.above = p.noisy_groups;
    out.periods = 15;
    return out;
}

/// Counts of `quern redrive --metrics emf`.
metric_alarm redrive_alarm(alarm_plan const& p)
{
    auto out = alarm_for(p, "failed redrives",
        fmt::format("More than {} % of the sends of redrives from {} failed.", p.redrive_failures, *p.dead_letters));
    auto const count = [&](char const* id, char const* name) {
        return queue_metric{id, "DLQRedriver", name, *p.dead_letters, "Sum", std::chrono::seconds(300)};
    };
    out.of = {count("failed", "RedriveFailures"), count("good", "SuccessfulRedrives")};
    out.expression = "IF(FILL(failed,0)>0,100*FILL(failed,0)/(FILL(failed,0)+FILL(good,0)),0)";
    out.above = p.redrive_failures;
    return out;
}

/// Between the quotes of a label of PromQL, within those of YAML.
std::string selected(std::string_view queue)
{
    return fmt::format("{{queue=\"{}\"}}", queue); // a queue's name needs no escape
}

struct rule {
    std::string alert, expression;
    std::string lasting; ///< "5m"; empty: at once
    char const* severity;
    std::string summary;
};

/// Counts of `quern redrive --admin-port`, of the dead-letter queue.
rule redrive_rule(alarm_plan const& p, std::string const& dead_letters)
{
    auto const grown = [&](char const* metric, char const* more) {
        return fmt::format("sum by (job) (increase({}{{queue=\"{}\"{}}}[5m]))", metric, dead_letters, more);
    };
    auto const failed = grown("quern_redrive_failures_total", "");
    auto const good = grown("quern_redrive_messages_total", ",result=\"redriven\"");
    return {"QuernRedriveFails", fmt::format("100 * {} / ({} + {}) > {}", failed, failed, good, p.redrive_failures),
        "", "ticket",
        fmt::format("More than {} % of the sends of a redrive from {} failed.", p.redrive_failures, dead_letters)};
}

std::vector<rule> rules_of(alarm_plan const& p)
{
    auto const of = selected(p.queue);
    auto const with = [&](char const* more) { return fmt::format("{{queue=\"{}\",{}}}", p.queue, more); };
    auto const age = p.max_age.count();
    // What comes and goes while the cause stays is looked for in the last minutes: a breaker is half open now and
    // then, and receives that fail are under way between their pauses. Two services of one name are told apart by
    // their job.
    std::vector<rule> out = {
        {"QuernDeadLetters",
            fmt::format("max by (job) (quern_dead_letter_messages{}) > 0", with("state=\"visible\"")), "", "page",
            fmt::format("Dead letters of {}: look at them with `quern dead-letters`.", p.queue)},
        {"QuernRejected",
            fmt::format(
                "sum by (job) (increase(quern_messages_settled_total{}[15m])) > 0", with("outcome=\"rejected\"")),
            "", "ticket", fmt::format("Messages of {} were rejected: to the poison queue, or deleted.", p.queue)},
        {"QuernSpilled", fmt::format("sum by (job) (increase(quern_messages_spilled_total{}[15m])) > 0", of), "",
            "page", fmt::format("An outage sends messages of {} to the dead-letter queue.", p.queue)},
        {"QuernStuck",
            fmt::format("max by (job) (max_over_time(quern_queue_messages{}[30m])) > 0 and time() - max by (job) "
                        "(quern_last_progress_timestamp_seconds{}) > {}",
                with("state=\"visible\""), of, age),
            "1m", "page",
            fmt::format("Messages wait in {}, and for {} s nothing was received or settled.", p.queue, age)},
        {"QuernBreakerOpen",
            fmt::format(
                "max by (job) (max_over_time(quern_breaker_state{}[5m])) > 0", with("state=~\"open|half_open\"")),
            fmt::format("{}s", age), "page",
            fmt::format("What the handlers of {} depend on has been down for {} s.", p.queue, age)},
        {"QuernReceivesFail",
            fmt::format("min by (job) (max_over_time(quern_obstacle{}[2m])) > 0", with("what=\"receives_fail\"")),
            "5m", "page", fmt::format("No consumer of {} can receive.", p.queue)},
        {"QuernLeasesLost", fmt::format("sum by (job) (increase(quern_leases_lost_total{}[15m])) > 0", of), "",
            "ticket", fmt::format("Leases of {} were lost: messages may have been handled twice.", p.queue)},
        {"QuernDamaged", fmt::format("sum by (job) (increase(quern_messages_damaged_total{}[15m])) > 0", of), "",
            "ticket", fmt::format("Messages of {} arrived unreadable.", p.queue)},
    };
    if (p.dead_letters) out.push_back(redrive_rule(p, *p.dead_letters));
    return out;
}

/// A scalar of YAML in single quotes, of which only these are doubled.
std::string in_quotes(std::string_view text)
{
    std::string out = "'";
    for (char const c : text)
        out.append(c == '\'' ? 2 : 1, c);
    return out + "'";
}

/// Logical names of CloudFormation are letters and digits.
std::string logical_name(std::string_view name)
{
    std::string out;
    bool begins = true;
    for (char const c : name) {
        bool const is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool const is_digit = c >= '0' && c <= '9';
        if (is_letter || is_digit) out += begins && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        begins = !is_letter && !is_digit;
    }
    return out;
}

} // namespace

std::vector<metric_alarm> cloudwatch_alarms(alarm_plan const& p)
{
    std::vector<metric_alarm> out;
    if (p.dead_letters) out.push_back(depth_alarm(p, "dead letters", *p.dead_letters, "Dead letters"));
    if (p.poison) out.push_back(depth_alarm(p, "poison", *p.poison, "Poison messages"));
    out.push_back(age_alarm(p));
    if (p.dead_letters) out.push_back(redrive_alarm(p));
    if (p.fair) out.push_back(quiet_alarm(p));
    if (p.fair) out.push_back(noisy_alarm(p));
    return out;
}

std::vector<std::string> names_of_alarms(std::string const& queue)
{
    alarm_plan all;
    all.queue = queue;
    all.fair = true;
    all.dead_letters = all.poison = queue; // whichever they were
    std::vector<std::string> out;
    for (auto const& one : cloudwatch_alarms(all))
        out.push_back(one.name);
    return out;
}

std::string cloudformation(std::vector<metric_alarm> const& alarms)
{
    std::string out = "{\"AWSTemplateFormatVersion\":\"2010-09-09\",\"Resources\":{";
    for (auto const& a : alarms) {
        if (&a != &alarms.front()) out += ',';
        text::append_json_string(out, logical_name(a.name));
        out += ":{\"Type\":\"AWS::CloudWatch::Alarm\",\"Properties\":" + to_json(a) + '}';
    }
    return out + "}}";
}

std::string prometheus_rules(alarm_plan const& p)
{
    std::string out = fmt::format("groups:\n  - name: {}\n    rules:\n", in_quotes("quern " + p.queue));
    for (auto const& r : rules_of(p)) {
        out += fmt::format("      - alert: {}\n        expr: {}\n", r.alert, in_quotes(r.expression));
        if (!r.lasting.empty()) out += fmt::format("        for: {}\n", r.lasting);
        out += fmt::format(
            "        labels:\n          severity: {}\n          queue: {}\n", r.severity, in_quotes(p.queue));
        out += fmt::format("        annotations:\n          summary: {}\n", in_quotes(r.summary));
    }
    return out;
}

} // namespace quern::app
