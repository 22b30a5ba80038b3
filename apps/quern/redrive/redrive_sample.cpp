// A look at dead letters: `quern redrive sample`, `quern dead-letters`.

#include "common/command_line.hpp"
#include "common/commands.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"
#include "common/told_to_end.hpp"
#include "redrive/looking.hpp"
#include "redrive/redrive_sample_text.hpp"

#include <quern/consumer/detail/gate/redrive_inquiry.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/redrive/plan.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <charconv>
#include <memory>

namespace quern::app {
namespace {

namespace asio = boost::asio;

struct sample_options {
    std::string queue, by;
    std::size_t count = 20, body = 60;
    bool json = false, groups = false;
};

/// How many messages the queue has, and whether it moves them on. Nothing where nobody may ask.
asio::awaitable<void> ask_about(session& s, std::string url, look& l)
{
    sqs::get_queue_attributes_request ask(std::move(url));
    ask.attribute_names = {"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible",
        "ApproximateNumberOfMessagesDelayed", "RedrivePolicy"};
    ++l.requests;
    auto const got = co_await s.sqs.get_queue_attributes(std::move(ask));
    if (!got) co_return;
    std::int64_t total = 0;
    for (auto const& [name, text] : got->attributes) {
        std::int64_t some = 0;
        if (name == "RedrivePolicy")
            l.moves_on_after = detail::redrive_policy_in(text).max_receives;
        else if (std::from_chars(text.data(), text.data() + text.size(), some).ec == std::errc())
            total += some;
    }
    l.depth = total;
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
    look l{redrive::sample(o.body, by), printable(std::string(redrive::queue_name(*url))), printable(o.by)};
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
