// A look at dead letters: `quern redrive sample`, `quern dead-letters`.

#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/message_json.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"
#include "common/told_to_end.hpp"
#include "redrive/looking.hpp"

#include <quern/core/detail/printable.hpp>
#include <quern/redrive/plan.hpp>
#include <quern/redrive/sample.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/queue_attributes.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace asio = boost::asio;

/// A look at a queue: what was seen, and what it cost.
struct look {
    redrive::sample seen;
    std::string queue;                 ///< by name
    std::string by;                    ///< the part by which it groups, as it was written; empty: none
    std::optional<std::size_t> depth;  ///< messages in the queue, about; absent: nobody may ask
    int moves_on_after = 0;            ///< maxReceiveCount of its own redrive policy; 0: it has none
    std::size_t requests = 0;          ///< all of them
    std::size_t damaged = 0;           ///< messages that arrived and could not be read
    std::size_t still_hidden = 0;      ///< until their leases end: SQS was told to show them, and did not confirm
    bool interrupted = false;          ///< by a signal
    std::chrono::milliseconds took{0}; ///< from the first receive until all were visible again
};

constexpr std::size_t reason_shown = 32; // bytes, in a table

std::string time_of(std::optional<wall_time> const& at)
{
    return at ? iso_time(*at) : std::string();
}

/// "1 message", "2 messages"
std::string counted(std::size_t count, std::string const& what)
{
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string lines_of(
    std::vector<redrive::sample_group> const& groups, std::string const& before, std::string const& without)
{
    std::string out;
    for (auto const& one : groups) {
        auto const what = one.unreadable ? std::string(one.count == 1 ? "has" : "have") + " no readable JSON"
            : one.value.empty()          ? without
                                         : before + one.value;
        out += fmt::format("{:>6} {}", one.count, what);
        if (one.oldest) out += ", sent " + iso_time(*one.oldest);
        if (one.oldest != one.newest) out += " to " + iso_time(*one.newest);
        out += '\n';
    }
    return out;
}

boost::json::array json_of(std::vector<redrive::sample_group> const& groups, char const* name)
{
    boost::json::array out;
    for (auto const& one : groups) {
        boost::json::object line;
        if (!one.value.empty()) line[name] = one.value;
        if (one.unreadable) line["unreadable"] = true;
        line["count"] = one.count;
        if (one.oldest) line["oldest"] = iso_time(*one.oldest);
        if (one.newest) line["newest"] = iso_time(*one.newest);
        line["example"] = one.example;
        out.push_back(std::move(line));
    }
    return out;
}

/// A line for each message under a line of names; the columns of what none has are left out.
std::string table_of(redrive::sample const& of)
{
    auto const& all = of.messages();
    auto const any = [&](std::string redrive::sampled::*which) {
        return std::ranges::any_of(all, [&](auto const& one) { return !(one.*which).empty(); });
    };
    auto const has_groups = any(&redrive::sampled::group), has_reasons = any(&redrive::sampled::reason);
    auto const line = [&](auto const& id, auto const& sent, auto const& first, auto const& received,
                          auto const& redriven, auto const& source, auto const& group, auto const& reason,
                          auto const& body) {
        auto out =
            fmt::format("{:<36} {:<24} {:<24} {:>4} {:>4} {:<20} ", id, sent, first, received, redriven, source);
        if (has_groups) out += fmt::format("{:<12} ", group);
        if (has_reasons) out += fmt::format("{:<{}} ", reason, reason_shown);
        return out + body + '\n';
    };
    auto out = line("ID", "SENT", "FIRST RECEIVED", "RCVD", "RDRV", "SOURCE", "GROUP", "REASON", std::string("BODY"));
    for (auto const& one : all)
        out += line(one.id, time_of(one.sent_at), one.first_received, one.receives, one.attempts, one.source,
            one.group, redrive::cut(one.reason, reason_shown - 1), one.body);
    return out;
}

/// A line for each group: "30 from orders, sent 2026-11-22T14:20:17.142Z to 2026-11-22T14:21:00.001Z".
std::string groups_of(look const& l)
{
    auto out = lines_of(l.seen.by_source(), "from ", "from nobody knows where");
    auto const reasons = l.seen.by_reason();
    auto const is_any = std::ranges::any_of(reasons, [](auto const& one) { return !one.value.empty(); });
    if (is_any) out += lines_of(reasons, "because ", "without a reason");
    if (!l.by.empty()) out += lines_of(l.seen.by_part(), "with " + l.by + " = ", "without " + l.by);
    return out;
}

/// A JSON object a line for each message.
std::string json_lines_of(redrive::sample const& of)
{
    std::string out;
    for (auto const& one : of.messages()) {
        boost::json::object line;
        line["message_id"] = one.id;
        line["sent_at"] = time_of(one.sent_at);
        line["first_received_at"] = one.first_received;
        line["receive_count"] = one.receives;
        line["redrive_attempts"] = one.attempts;
        if (!one.source.empty()) line["source"] = one.source;
        if (!one.reason.empty()) line["reason"] = one.reason;
        if (!one.group.empty()) line["group"] = one.group;
        line["size"] = one.size;
        line["body"] = one.body;
        out += boost::json::serialize(line) + '\n';
    }
    return out;
}

/// One line of JSON: the groups, and what the look cost.
std::string json_groups_of(look const& l)
{
    boost::json::object line;
    line["queue"] = l.queue;
    line["messages"] = l.seen.messages().size();
    if (l.depth) line["depth"] = *l.depth;
    line["by_source"] = json_of(l.seen.by_source(), "source");
    line["by_reason"] = json_of(l.seen.by_reason(), "reason");
    if (!l.by.empty()) {
        line["part"] = l.by;
        line["by_part"] = json_of(l.seen.by_part(), "value");
    }
    boost::json::object cost;
    cost["receives"] = l.seen.receives();
    cost["requests"] = l.requests;
    cost["hidden_ms"] = l.took.count();
    cost["still_hidden"] = l.still_hidden;
    cost["damaged"] = l.damaged;
    if (l.moves_on_after != 0) {
        cost["moves_on_after"] = l.moves_on_after;
        cost["at_their_last"] = l.seen.at_their_last(l.moves_on_after);
    }
    line["cost"] = std::move(cost);
    return boost::json::serialize(line) + '\n';
}

/// The cost of the look, in words.
std::string cost_of(look const& l)
{
    auto const count = l.seen.messages().size();
    if (count == 0 && l.damaged == 0)
        return l.depth == 0 ? l.queue + " is empty\n"
                            : l.queue + ": no message could be received" +
                (l.depth ? fmt::format(", of about {}: they are hidden, or delayed\n", *l.depth) : "\n");
    auto out = counted(count, "message");
    if (l.depth) out += fmt::format(" of about {}", std::max(*l.depth, count));
    out += fmt::format(" looked at, which costs each of them a receive; {} in all, and {:.1f} s in which others did "
                       "not see them\n",
        counted(l.requests, "request"), std::chrono::duration<double>(l.took).count());
    if (auto const more = l.seen.receives() - count; more != 0)
        out += fmt::format("{} more, of messages that came to light again\n", counted(more, "receive"));
    if (l.damaged != 0) out += counted(l.damaged, "message") + " could not be read\n";
    if (l.still_hidden != 0)
        out += counted(l.still_hidden, "message") +
            " may stay hidden for a while: that they shall be visible was not confirmed\n";
    if (auto const last = l.moves_on_after == 0 ? 0 : l.seen.at_their_last(l.moves_on_after); last != 0)
        out +=
            fmt::format("{} has a redrive policy of its own, which counts looks: its next receive may move {} on\n",
                l.queue, counted(last, "message"));
    return out;
}

struct sample_options {
    std::string queue, by;
    std::size_t count = 20, body = 60;
    bool json = false, groups = false;
};

/// How many messages the queue has, and whether it moves them on. Nothing where nobody may ask.
asio::awaitable<void> ask_about(session& s, std::string url, look& l)
{
    sqs::get_queue_attributes_request ask(std::move(url));
    ask.attribute_names = sqs::depth_attributes();
    ask.attribute_names.emplace_back("RedrivePolicy");
    ++l.requests;
    auto const got = co_await s.sqs.get_queue_attributes(std::move(ask));
    if (!got) co_return;
    if (auto const policy = sqs::redrive_policy_in(got->attributes)) l.moves_on_after = policy->max_receives;
    if (auto const depth = sqs::depth_in(got->attributes)) l.depth = depth->total();
}

/// Receives up to so many messages, each once unless it comes to light meanwhile; made visible again afterwards.
asio::awaitable<std::optional<failure>> take_sample(session& s, std::string url, std::size_t count, look& l)
{
    std::optional<failure> wrong;
    auto const began = real_clock().now();
    told_to_end const told(s.io);
    looking from(s.sqs, std::move(url), [&] { return told.yes(); });
    for (bool has_new = true; has_new && l.seen.messages().size() < count;) {
        auto const got = co_await from.receive(count - l.seen.messages().size());
        has_new = false;
        if (!got) wrong = got.error();
        if (!got) break;
        for (auto const& m : got->messages)
            has_new = l.seen.add(m) || has_new;
        l.damaged += got->damaged.size();
    }
    l.interrupted = told.yes();
    l.still_hidden = co_await from.give_back();
    l.requests += from.requests();
    l.took = std::chrono::duration_cast<std::chrono::milliseconds>(real_clock().now() - began);
    co_return wrong;
}

asio::awaitable<int> show_sample(session& s, sample_options const& o)
{
    std::optional<redrive::part> by;
    if (!o.by.empty()) by = redrive::parse_part(o.by).value(); // it was checked
    auto url = co_await sqs::find_queue_url(s.sqs, o.queue);
    if (!url) co_return s.complain(url.error(), o.queue);
    look l{redrive::sample(o.body, by), printable(std::string(sqs::queue_name_in(*url))), printable(o.by)};
    co_await ask_about(s, *url, l);
    auto const wrong = co_await take_sample(s, *url, o.count, l);
    if (wrong) co_return s.complain(*wrong, o.queue);
    auto const early = "a signal ended it early: begin again";
    if (l.interrupted && l.seen.messages().empty()) co_return complain(early);
    if (o.json)
        say(stdout, "{}", harmless(o.groups ? json_groups_of(l) : json_lines_of(l.seen)));
    else
        say(stdout, "{}{}", o.groups ? std::string() : table_of(l.seen), groups_of(l));
    std::fflush(stdout); // the cost comes after what it was for, also where both go to one file
    say(stderr, "{}", cost_of(l));
    if (l.interrupted) co_return complain(early);
    co_return ok;
}

} // namespace

command& add_sample(command& to, char const* name, command_line& line)
{
    auto const o = std::make_shared<sample_options>();
    auto* const command =
        to.add_subcommand(name, "Look at some messages of a dead-letter queue, and leave them there");
    command->add({
        {"DLQ", o->queue, "URL, name or ARN"}, // required, unless a subcommand is named
        {"--count N", o->count, "Look at no more than so many messages", range(1, 10'000), shows_default()},
        {"--body N", o->body, "Show the first bytes of each body, so many",
            range(std::size_t(0), sqs::max_message_bytes), shows_default()},
        {"--by PART", o->by,
            "Group by this part of the message too: attr.NAME, or a JSON pointer into the body (/order/state)",
            parsed_by(redrive::parse_part)},
        {"--groups", o->groups, "Print the groups alone, without a line for each message"},
        {"--json", o->json, "Print JSON: an object a line for each message, or one of all groups"},
    });
    command->footer(
        "RCVD counts receives, this one included; RDRV says how often the message was redriven before. A reason is "
        "there where a consumer rejected the message or somebody isolated it; of what SQS moved by itself the "
        "consumer's log has it. Each look is a receive, and a queue with a redrive policy of its own counts them. "
        "While this runs, nobody else sees the messages; then they are visible again, also after Ctrl-C. When it is "
        "killed by SIGKILL, they are so after 30 s, or after as long again as it has run, 15 minutes at most.");
    command->callback([command, o, &line] {
        if (command->names_subcommand()) return;
        if (o->queue.empty()) throw usage_error("DLQ is required");
        line.run = [o, &line] { return run(line.where, o->queue, [o](session& s) { return show_sample(s, *o); }); };
    });
    return *command;
}

} // namespace quern::app
