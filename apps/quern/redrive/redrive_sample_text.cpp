// What `quern redrive sample` prints.

#include "redrive/redrive_sample_text.hpp"

#include "common/message_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace quern::app {
namespace {

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

} // namespace

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

std::string groups_of(look const& l)
{
    auto out = lines_of(l.seen.by_source(), "from ", "from nobody knows where");
    auto const reasons = l.seen.by_reason();
    auto const is_any = std::ranges::any_of(reasons, [](auto const& one) { return !one.value.empty(); });
    if (is_any) out += lines_of(reasons, "because ", "without a reason");
    if (!l.by.empty()) out += lines_of(l.seen.by_part(), "with " + l.by + " = ", "without " + l.by);
    return out;
}

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

std::string cost_of(look const& l)
{
    auto const count = l.seen.messages().size();
    if (count == 0 && l.damaged == 0)
        return l.depth == 0 ? l.queue + " is empty\n"
                            : l.queue + ": no message could be received" +
                (l.depth ? fmt::format(", of about {}: they are hidden, or delayed\n", *l.depth) : "\n");
    auto out = counted(count, "message");
    if (l.depth) out += fmt::format(" of about {}", std::max(*l.depth, static_cast<std::int64_t>(count)));
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

} // namespace quern::app
