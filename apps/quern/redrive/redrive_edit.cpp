// One dead letter, mended by hand and sent back: `quern dead-letters edit ID`.

#include "redrive/redrive_edit.hpp"

#include "common/command_line.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"
#include "common/told_to_end.hpp"
#include "redrive/looking.hpp"

#include <quern/core/detail/descriptor.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/redrive/plan.hpp>
#include <quern/sqs/batch.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace asio = boost::asio;

struct edit_options {
    std::string id, queue, to, body;
    std::vector<std::string> attributes; ///< NAME=VALUE
};

/// A message within the answer that brought it.
struct found_message {
    sqs::receive_message_response answer;
    sqs::message it;
};

/// Receives until that message comes, or nothing new does twice. Everything is held until it is given back.
asio::awaitable<result<std::optional<found_message>>> find_message(looking& from, std::string id)
{
    std::set<std::string> seen;
    for (int empty = 0; empty < 2;) {
        auto got = co_await from.receive(sqs::max_batch_messages);
        if (!got) co_return got.error();
        bool is_new = false;
        for (auto const& m : got->messages) {
            is_new = seen.emplace(m.id).second || is_new;
            if (m.id != id) continue;
            found_message out;
            out.it = m;
            out.answer = std::move(*got);
            co_return std::optional(std::move(out));
        }
        empty = is_new ? 0 : empty + 1;
    }
    co_return std::optional<found_message>();
}

/// A file with that text for as long as this lives, unless it is kept.
class draft {
public:
    explicit draft(std::string const& text)
    {
        std::error_code ignored;
        auto const folder = std::filesystem::temp_directory_path(ignored);
        path_ = (ignored ? std::filesystem::path("/tmp") : folder) / "quern-edit-XXXXXX";
        descriptor const file(::mkstemp(path_.data()));
        is_there_ = file.get() >= 0 && write_all(file.get(), text);
    }
    draft(draft const&) = delete;
    draft& operator=(draft const&) = delete;
    ~draft()
    {
        if (is_there_ && !is_kept_) ::unlink(path_.c_str());
    }

    bool is_there() const { return is_there_; }
    std::string const& path() const { return path_; }
    void keep() { is_kept_ = true; }

private:
    std::string path_;
    bool is_there_ = false, is_kept_ = false;
};

std::optional<std::string> content_of(std::istream& from)
{
    std::string out{std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
    return from.bad() ? std::nullopt : std::optional(std::move(out));
}

std::optional<std::string> content_of(std::string const& path)
{
    if (path == "-") return content_of(std::cin);
    std::ifstream file(path, std::ios::binary);
    return file ? content_of(file) : std::nullopt;
}

/// True when the user's editor was there, and ended well.
bool edit(std::string const& path)
{
    auto const* editor = std::getenv("VISUAL");
    if (!editor || !*editor) editor = std::getenv("EDITOR");
    std::string quoted = "'"; // as the shell wants it
    for (char const c : path)
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    auto const line = std::string(editor && *editor ? editor : "vi") + ' ' + quoted + "'";
    auto const end = std::system(line.c_str());
    return WIFEXITED(end) && WEXITSTATUS(end) == 0;
}

/// Editors end a file with a line feed, which the message need not have had.
std::string without_added_end(std::string text, std::string_view before)
{
    if (text.ends_with('\n') && !before.ends_with('\n')) text.pop_back();
    return text;
}

/// The problem with an attribute, in words; empty when it could be set.
std::string set_attribute(sqs::send_message_entry& to, std::string const& text)
{
    auto const at = text.find('=');
    if (at == 0 || at == text.npos) return "--attribute " + text + ": write NAME=VALUE";
    auto& one = to.attributes[text.substr(0, at)];
    if (one.data_type.empty()) one.data_type = "String";
    if (one.data_type.starts_with("Binary")) return "--attribute " + text.substr(0, at) + ": it is binary, and stays";
    one.value = text.substr(at + 1);
    return {};
}

/// The copy that goes, counted as a redrive; the other side says why there is none.
struct letter {
    std::optional<sqs::send_message_entry> copy;
    std::string problem;
};
letter letter_from(sqs::message m, std::string const& body, std::string const& from, std::string const& to,
    std::vector<std::string> const& attributes)
{
    m.body = body;
    redrive::plan_policy policy;
    policy.max_attempts = 1'000;
    policy.delay_base = std::chrono::milliseconds(0);
    std::mt19937_64 unused; // a plan without a delay leaves nothing to chance
    auto p = redrive::plan_for(m, {sqs::queue_name_in(from), to, {}}, policy, unused, 0);
    if (p.what != redrive::action::send) return {{}, p.reason};
    for (auto const& text : attributes)
        if (auto problem = set_attribute(p.copy, text); !problem.empty()) return {{}, std::move(problem)};
    auto const size = sqs::message_size(p.copy.body, p.copy.attributes);
    if (size > sqs::max_message_bytes)
        return {{}, fmt::format("it has {} bytes now, and SQS takes {}", size, sqs::max_message_bytes)};
    return {std::move(p.copy), {}};
}

/// Sends the copy and then deletes the message.
asio::awaitable<int> replace(
    session& s, sqs::message m, sqs::send_message_entry copy, std::string from, std::string to, looking& held)
{
    std::string const id(m.id), handle(m.receipt_handle);
    std::vector<sqs::send_message_entry> one;
    one.push_back(std::move(copy));
    auto const sent = co_await sqs::send_batch(s.sqs, to, std::move(one));
    if (!sent.front()) co_return s.complain(sent.front().error(), id + " stays as it was");
    std::vector<std::string> handles{handle};
    auto const deleted = co_await sqs::delete_batch(s.sqs, from, std::move(handles));
    auto const what = fmt::format("{}: edited, sent to {} as {}", id, printable(std::string(sqs::queue_name_in(to))),
        printable(sent.front()->message_id));
    auto const name = printable(std::string(sqs::queue_name_in(from)));
    if (!deleted.front())
        co_return complain(what + "; that it is deleted from " + name + " was not confirmed: it may be in both");
    held.forget(id);
    say(stderr, "{}, deleted from {}\n", what, name);
    co_return ok;
}

/// The queue to send it to; a failure in words.
asio::awaitable<result<std::string>> target_of(session& s, edit_options const& o, sqs::message m)
{
    std::string const source(m.system("DeadLetterQueueSourceArn"));
    if (o.to.empty() && source.empty())
        co_return failure(errc::invalid_option, "nothing says which queue it came from: name one with --to");
    auto const named = o.to.empty() ? source : o.to;
    auto url = co_await sqs::find_queue_url(s.sqs, named);
    co_return url;
}

/// Finds the message and hands it to `then`; gives everything back that is left.
asio::awaitable<int> with_message(session& s, edit_options const& o, std::string url,
    std::function<asio::awaitable<int>(looking&, sqs::message)> then)
{
    told_to_end const told(s.io);
    looking from(s.sqs, url, [&] { return told.yes(); });
    auto const found = co_await find_message(from, o.id);
    int code = failed;
    if (!found)
        code = s.complain(found.error(), o.queue);
    else if (told.yes())
        complain("a signal ended it early: begin again");
    else if (!*found)
        complain(fmt::format("{} has no message {} that can be received", o.queue, printable(o.id)));
    if (found && *found && !told.yes()) code = co_await then(from, (*found)->it);
    auto const hidden = co_await from.give_back();
    if (hidden != 0)
        say(stderr, "{} may stay hidden for a while: that they shall be visible was not confirmed\n", hidden);
    co_return code;
}

/// The message as it is to be, and as it was: nobody's lease lasts while somebody edits.
asio::awaitable<int> edit_message(session& s, edit_options o)
{
    auto const url = co_await sqs::find_queue_url(s.sqs, o.queue);
    if (!url) co_return s.complain(url.error(), o.queue);
    std::optional<std::string> was, body;
    std::unique_ptr<draft> file;
    if (!o.body.empty()) {
        body = content_of(o.body);
        if (!body) co_return complain(o.body + " cannot be read", usage);
    } else if (o.attributes.empty()) {
        auto read = [&](looking&, sqs::message m) -> asio::awaitable<int> {
            was = std::string(m.body);
            co_return ok;
        };
        auto const code = co_await with_message(s, o, *url, read);
        if (!was) co_return code;
        file = std::make_unique<draft>(*was);
        if (!file->is_there() || !edit(file->path())) co_return complain("it was not edited: nothing was done");
        body = content_of(file->path());
        if (!body || without_added_end(*body, *was) == *was) co_return complain("it is as it was: nothing was done");
    }
    auto send = [&](looking& held, sqs::message m) -> asio::awaitable<int> {
        if (was && *was != m.body) co_return complain("it has another body by now: nothing was done");
        auto const to = co_await target_of(s, o, m);
        if (!to) co_return s.complain(to.error(), o.to.empty() ? o.id : o.to);
        auto text = body ? without_added_end(*body, m.body) : std::string(m.body);
        auto made = letter_from(m, text, *url, *to, o.attributes);
        if (!made.copy) co_return complain(fmt::format("{} stays as it was: {}", o.id, printable(made.problem)));
        auto copy = std::move(*made.copy);
        auto const code = co_await replace(s, m, std::move(copy), *url, *to, held);
        co_return code;
    };
    auto const code = co_await with_message(s, o, *url, send);
    if (code != ok && file) {
        file->keep();
        say(stderr, "what you wrote is in {}\n", file->path());
    }
    co_return code;
}

} // namespace

void add_edit(command& dead_letters, command_line& line)
{
    auto const o = std::make_shared<edit_options>();
    auto* const it =
        dead_letters.add_subcommand("edit", "Change the body or attributes of a message, and send it back");
    it->add({
        {"ID", o->id, "The message's id in the dead-letter queue", required()},
        {"--queue QUEUE", o->queue, "The dead-letter queue, URL, name or ARN", required()},
        {"--to QUEUE", o->to, "Send it to this queue, URL, name or ARN; default: the queue that it came from"},
        {"--body FILE", o->body,
            "Take the new body from this file, or with - from standard input; default: what the editor that VISUAL "
            "or "
            "EDITOR names makes of the old one, unless --attribute is given"},
        {"--attribute NAME=VALUE", o->attributes, "Set this attribute; it keeps its type, a new one is a String",
            one_each_time()},
    });
    it->footer(
        "The edited message is sent, counted in x-redrive-attempt, with the original id in QuernOriginalId; then the "
        "original is deleted. A line feed at the end that the message did not have is left out. While you edit "
        "nothing is held: when somebody else takes the message meanwhile, nothing is sent, and what you wrote is "
        "kept. To find it, messages are received, which counts as a receive of each.");
    when_named(
        *it, line, [o, &line] { return run(line.where, o->queue, [o](session& s) { return edit_message(s, *o); }); });
}

} // namespace quern::app
