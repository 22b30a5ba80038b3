// A look at dead letters: `quern redrive sample`, `quern dead-letters`.

#include "commands.hpp"
#include "message_json.hpp"
#include "session.hpp"
#include "standard_streams.hpp"

#include <quern/core/detail/printable.hpp>
#include <quern/redrive/plan.hpp>
#include <quern/sqs/batch.hpp>
#include <quern/sqs/detail/copy.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <map>
#include <memory>
#include <set>

namespace quern::app {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct sample_options {
    std::string queue;
    std::size_t count = 20;
    bool json = false;
};

constexpr std::size_t body_shown = 60; // bytes, as printed

struct sampled {
    std::string id, handle, sent_at, first_received, source, reason, group, body;
    int receives = 0, attempts = 0;
    std::size_t size = 0;
};

sampled look_at(sqs::message const& m)
{
    namespace mark = sqs::detail::mark;
    auto const its = redrive::history_of(m);
    sampled out;
    out.id = m.id;
    out.handle = m.receipt_handle;
    if (auto const at = m.sent_at()) out.sent_at = iso_time(*at);
    out.first_received = its.first_received;
    auto const* const from = m.attribute(mark::source);
    out.source = redrive::queue_name(m.system("DeadLetterQueueSourceArn"));
    if (out.source.empty() && from) out.source = from->value;
    if (auto const* const why = m.attribute(mark::reason)) out.reason = why->value;
    out.group = m.group_id();
    out.receives = m.receive_count();
    out.attempts = its.attempts;
    out.size = m.body.size();
    out.body = printable(std::string(m.body.substr(0, body_shown))) + (m.body.size() > body_shown ? "…" : "");
    return out;
}

void print_table(std::vector<sampled> const& all)
{
    say(stdout, "{:<36} {:<24} {:<24} {:>4} {:>4} {:<20} BODY\n", "ID", "SENT", "FIRST RECEIVED", "RCVD", "RDRV",
        "SOURCE");
    std::map<std::string, std::size_t> sources, reasons;
    for (auto const& one : all) {
        say(stdout, "{:<36} {:<24} {:<24} {:>4} {:>4} {:<20} {}\n", printable(one.id), one.sent_at,
            printable(one.first_received), one.receives, one.attempts, printable(one.source), one.body);
        ++sources[one.source.empty() ? "unknown" : one.source];
        if (!one.reason.empty()) ++reasons[one.reason];
    }
    for (auto const& [source, count] : sources)
        say(stdout, "{} from {}\n", count, printable(source));
    for (auto const& [reason, count] : reasons)
        say(stdout, "{} because {}\n", count, printable(reason));
}

void print_json(std::vector<sampled> const& all)
{
    for (auto const& one : all) {
        boost::json::object line;
        line["message_id"] = one.id;
        line["sent_at"] = one.sent_at;
        line["first_received_at"] = one.first_received;
        line["receive_count"] = one.receives;
        line["redrive_attempts"] = one.attempts;
        if (!one.source.empty()) line["source"] = one.source;
        if (!one.reason.empty()) line["reason"] = one.reason;
        if (!one.group.empty()) line["group"] = one.group;
        line["size"] = one.size;
        line["body"] = one.body;
        say(stdout, "{}\n", boost::json::serialize(line));
    }
}

/// Up to so many messages, each received once; made visible again afterwards.
asio::awaitable<result<std::vector<sampled>>> take_sample(session& s, std::string url, std::size_t count)
{
    std::vector<sampled> out;
    std::set<std::string> seen;
    std::optional<failure> wrong;
    while (out.size() < count) {
        sqs::receive_message_request ask(url);
        ask.max_messages = static_cast<int>(std::min(count - out.size(), sqs::max_batch_messages));
        ask.visibility_timeout = 60s;
        ask.wait_time = 1s;
        ask.system_attribute_names = {"All"};
        ask.attribute_names = {"All"};
        auto const got = co_await s.sqs.receive_message(std::move(ask));
        if (!got) wrong = got.error();
        if (!got || got->messages.empty()) break;
        for (auto const& m : got->messages)
            if (seen.emplace(m.id).second) out.push_back(look_at(m));
    }
    for (std::size_t at = 0; at < out.size();) {
        std::vector<sqs::change_visibility_entry> some;
        for (; at < out.size() && some.size() < sqs::max_batch_entries; ++at)
            some.emplace_back("", out[at].handle, 0s);
        co_await sqs::change_visibility_batch(s.sqs, url, std::move(some));
    }
    if (wrong) co_return *wrong;
    co_return out;
}

asio::awaitable<int> sample(session& s, sample_options const& o)
{
    auto url = co_await queue_url(s.sqs, o.queue);
    if (!url) co_return s.complain(url.error(), o.queue);
    auto const all = co_await take_sample(s, *url, o.count);
    if (!all) co_return s.complain(all.error(), o.queue);
    if (o.json)
        print_json(*all);
    else
        print_table(*all);
    say(stderr, "{} messages looked at, which costs each of them a receive\n", all->size());
    co_return ok;
}

} // namespace

void add_sample(CLI::App& to, char const* name, command_line& line)
{
    auto const o = std::make_shared<sample_options>();
    auto* const command =
        to.add_subcommand(name, "Look at some messages of a dead-letter queue, and leave them there");
    command->add_option("DLQ", o->queue, "URL or name")->required();
    command->add_option("--count", o->count, "Look at so many at most")
        ->type_name("N")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    command->add_flag("--json", o->json, "One JSON object a line instead of a table");
    command->footer(
        "RCVD counts receives, this one included; RDRV says how often the message was redriven before. Of a body the "
        "first 60 bytes are shown. Each look is a receive, and a queue with a redrive policy of its own counts them. "
        "A message is visible again when this ends; if it cannot say so, after a minute.");
    command->callback([o, &line] {
        line.run = [o, &line] { return run(line.where, o->queue, [o](session& s) { return sample(s, *o); }); };
    });
}

} // namespace quern::app
