// What the journal of a redrive tells, and what can be asked of it.

#include "redrive/redrive_journal.hpp"

#include "common/command_line.hpp"
#include "common/complaint.hpp"
#include "common/message_json.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"
#include "redrive/redrive_saved.hpp"

#include <quern/core/detail/printable.hpp>
#include <quern/core/detail/text/reading.hpp>
#include <quern/redrive/detail/give_back.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace asio = boost::asio;

struct journal_options {
    std::string folder, name, message, format = "json";
    std::string queue, file; // of an export of messages
    redrive_options telling; // of a run that is resumed: its report, metrics and port
};

/// Names of the journals that are asked for; where one is needed and several are there, they are named.
result<std::vector<std::string>> names_from(journal_options const& o, bool one)
{
    if (!o.name.empty()) return std::vector<std::string>{o.name};
    auto all = redrive::journal_names(o.folder);
    if (!all) return all.error();
    if (all->empty()) return failure(errc::invalid_option, o.folder + " has no journal");
    if (!one || all->size() == 1) return *all;
    std::string list;
    for (auto const& name : *all)
        list += ' ' + name;
    return failure(errc::invalid_option, "which one? --name and one of" + list);
}

/// Words about a journal that cannot be read, and the way out.
std::string unreadable(std::string const& folder, std::string const& name, failure const& why)
{
    auto text = fmt::format("{}/{}.jsonl: {}", folder, name, why.message);
    if (why.code == errc::bad_reply)
        text +=
            "; begin anew with another --name: what had been sent and not deleted, --concurrency messages at most, "
            "is sent again";
    return text;
}

/// Shows each event that is asked for.
result<void> each_event(
    journal_options const& o, std::string const& name, std::function<void(redrive::event const&)> const& show)
{
    auto const text = redrive::read_journal_file(o.folder, name);
    if (!text) return failure(errc::invalid_option, unreadable(o.folder, name, text.error()));
    auto const read = redrive::read_events(*text, [&](redrive::event&& e) {
        if (o.message.empty() || e.message == o.message) show(e);
        return result<void>();
    });
    if (!read) return failure(errc::invalid_option, unreadable(o.folder, name, read.error()));
    return {};
}

/// Messages that are not done with, counted in words.
std::string open_text(redrive::run_book::tally const& n)
{
    std::string out;
    auto const add = [&](std::size_t count, char const* what) {
        if (count != 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
    };
    add(n.planned, "planned and not sent");
    add(n.waiting, "waiting until they are due");
    add(n.unknown, "that may have been sent");
    add(n.undeleted, "sent and not known to be deleted");
    return out.empty() ? "nothing is open" : "open: " + out;
}

/// When the last message that waits can be received again, whatever becomes of the run.
wall_time hidden_until(redrive::run_book const& book)
{
    wall_time out{};
    for (auto const& [id, one] : book.messages())
        if (one.where == redrive::stage::waiting) out = std::max(out, one.hidden_until);
    return out;
}

/// How far the run is, and how it may go on.
void print_counts(std::string const& folder, std::string const& name, redrive::run_book const& book)
{
    if (book.now() == redrive::run_book::phase::none) {
        say(stdout, "{}: empty\n", printable(name));
        return;
    }
    auto const n = book.counts();
    say(stdout, "{}: {}, of {}, begun {}, last event {} at {}\n", printable(name), name_of(book.now()),
        printable(std::string(sqs::queue_name_in(book.start().queue))), iso_time(book.start().at), book.last_id(),
        iso_time(book.last_at()));
    if (!book.ended_because().empty()) say(stdout, "  because {}\n", printable(book.ended_because()));
    say(stdout, "  redriven {}, isolated {}, deleted {}, skipped {}, left {}, failed sends {}, maybe twice {}\n",
        n.redriven, n.isolated, n.deleted, n.skipped, n.left, n.failures, n.maybe_twice);
    say(stdout, "  {}\n", open_text(n));
    if (auto const until = hidden_until(book); until > real_clock().wall())
        say(stdout,
            "  what waits is hidden until {} at the latest: nobody else receives it, and no alarm counts it\n",
            iso_time(until));
    using phase = redrive::run_book::phase;
    if (book.now() != phase::running && book.now() != phase::stopped) return;
    say(stdout, "  {} on with: quern redrive resume --journal {} --name {}\n",
        book.now() == phase::running ? "unless a process is about it, it goes" : "it goes", printable(folder),
        printable(name));
}

/// The messages that are not done with; each unknown one is named.
void print_open(redrive::run_book const& book, std::string const& message)
{
    std::map<std::string, redrive::run_book::entry> in_order(book.messages().begin(), book.messages().end());
    for (auto const& [id, one] : in_order) {
        if (message.empty() ? !one.is_unknown() : id != message) continue;
        say(stdout, "  {}: {}, attempt {}{}{}\n", printable(id), name_of(one.where), one.attempt,
            one.due == wall_time() ? std::string() : ", due " + iso_time(one.due),
            one.reason.empty() ? std::string() : ", " + printable(one.reason));
    }
}

int show_status(journal_options const& o, command_line const&)
{
    auto const names = names_from(o, false);
    if (!names) return complain(names.error());
    int code = ok;
    for (auto const& name : *names) {
        auto const text = redrive::read_journal_file(o.folder, name);
        auto const book = text ? redrive::read_journal(*text) : result<redrive::run_book>(text.error());
        if (!book) {
            code = complain(unreadable(o.folder, name, book.error()));
            continue;
        }
        print_counts(o.folder, name, *book);
        print_open(*book, o.message);
    }
    return code;
}

std::string detail_of(redrive::event const& e)
{
    std::string out;
    auto const add = [&](char const* name, std::string const& text) {
        if (!text.empty()) out += fmt::format(" {}={}", name, printable(text));
    };
    add("decision", e.decision);
    if (e.attempt != 0) add("attempt", std::to_string(e.attempt));
    add("queue", std::string(sqs::queue_name_in(e.queue)));
    if (e.due != wall_time()) add("due", iso_time(e.due));
    if (e.hidden_until != wall_time()) add("hidden-until", iso_time(e.hidden_until));
    add("message-id", e.new_id);
    if (e.maybe_twice) add("possible-duplicate", "true");
    add("cause", e.reason);
    return out;
}

int show_history(journal_options const& o, command_line const&)
{
    auto const names = names_from(o, true);
    if (!names) return complain(names.error());
    auto const done = each_event(o, names->front(), [](redrive::event const& e) {
        say(stdout, "{:>6} {} {:<22} {}{}\n", e.id, iso_time(e.at), redrive::name_of(e.kind), printable(e.message),
            detail_of(e));
    });
    return done ? ok : complain(done.error());
}

std::string csv(std::string const& text)
{
    auto out = printable(text);
    // What a spreadsheet would take for a formula.
    if (!out.empty() && std::string_view("=+-@").find(out.front()) != std::string_view::npos) out.insert(0, 1, '\'');
    if (out.find_first_of(",\"") == std::string::npos) return out;
    for (std::size_t at = 0; (at = out.find('"', at)) != std::string::npos; at += 2)
        out.insert(at, 1, '"');
    return '"' + out + '"';
}

int export_history(journal_options const& o, command_line const& line)
{
    if (!o.file.empty()) return export_to_file(line, o.queue, o.file);
    auto const names = names_from(o, true);
    if (!names) return complain(names.error());
    auto const time = [](wall_time at) { return at == wall_time() ? std::string() : iso_time(at); };
    bool const as_csv = o.format == "csv";
    if (as_csv)
        say(stdout,
            "id,previousEventId,timestamp,type,message,decision,attempt,queue,due,hiddenUntil,messageId,"
            "sequenceNumber,possibleDuplicate,cause\n");
    auto const done = each_event(o, names->front(), [&](redrive::event const& e) {
        if (!as_csv) {
            say(stdout, "{}", harmless(to_line(e)));
            return;
        }
        say(stdout, "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", e.id, e.previous, iso_time(e.at),
            redrive::name_of(e.kind), csv(e.message), e.decision, e.attempt, csv(e.queue), time(e.due),
            time(e.hidden_until), csv(e.new_id), csv(e.sequence), e.maybe_twice, csv(e.reason));
    });
    return done ? ok : complain(done.error());
}

/// Makes visible what the messages of a run that is over were hidden for.
asio::awaitable<int> show_again(session& s, std::string name, std::string queue_url, std::vector<std::string> handles)
{
    auto const count = handles.size();
    auto const given =
        co_await redrive::detail::give_back(s.sqs, real_clock(), std::move(queue_url), std::move(handles));
    say(stderr, "{}: cancelled; {} of {} that wait are visible again\n", printable(name), count - given.hidden,
        count);
    if (given.hidden == 0) co_return ok;
    co_return complain("the others are so within 12 hours: that they shall be was not confirmed");
}

int cancel(journal_options const& o, command_line const& line)
{
    auto const names = names_from(o, true);
    if (!names) return complain(names.error());
    auto const& name = names->front();
    auto const there = redrive::find_journal_file(o.folder, name);
    if (!there) return complain(there.error());
    auto file = redrive::open_journal_file(o.folder, name);
    if (!file && file.error().code != errc::invalid_option) return complain(file.error());
    if (!file) {
        auto const asked = redrive::ask_to_cancel(o.folder, name);
        if (!asked) return complain(asked.error());
        say(stderr, "{}: asked for its end: {}\n", printable(name), printable(file.error().message));
        return ok;
    }
    auto journal = redrive::journal::open(std::move(*file));
    if (!journal) return complain(unreadable(o.folder, name, journal.error()));
    auto const hidden = journal->book().hidden(real_clock().wall());
    auto const phase = std::string(name_of(journal->book().now()));
    journal->write({.kind = redrive::event_kind::cancelled, .reason = "on request"}, real_clock().wall());
    if (journal->is_broken()) return complain(fmt::format("{} cannot be cancelled: it is {}", name, phase));
    auto const kept = journal->flush();
    if (!kept) return complain(kept.error());
    std::vector<std::string> handles;
    for (auto const& [id, handle] : hidden)
        handles.push_back(handle);
    auto const queue = journal->book().start().queue;
    if (!handles.empty())
        return run(line.where, queue, [&](session& s) { return show_again(s, name, queue, std::move(handles)); });
    say(stderr, "{}: cancelled\n", printable(name));
    return ok;
}

int resume(journal_options const& o, command_line const& line)
{
    auto const names = names_from(o, true);
    if (!names) return complain(names.error());
    auto const began = redrive::read_journal_start(o.folder, names->front());
    if (!began) return complain(unreadable(o.folder, names->front(), began.error()));
    if (!*began) return complain(names->front() + " has not begun", usage);
    auto settings = from_input((*began)->input);
    if (!settings) return complain(settings.error());
    settings->journal = o.folder;
    settings->name = names->front();
    settings->report = o.telling.report;
    settings->metrics = o.telling.metrics;
    settings->admin = o.telling.admin;
    return redrive_with(line, std::make_shared<redrive_options>(std::move(*settings)));
}

void add_export_of_messages(command& it, journal_options& o)
{
    it.add({
        {"DLQ", o.queue, "Export the messages of this queue instead, URL, name or ARN", needs("FILE"),
            excludes("--journal")},
        {"FILE", o.file,
            "To this file, a line of JSON each; they stay in the queue. Only a complete copy replaces a file",
            needs("DLQ")},
        {"--format", o.format, "Format of a history: json, as the journal has it, or csv", one_of({"json", "csv"}),
            shows_default()},
    });
}

/// NAME, NAME-2, NAME-3, …: the last one there, or the one behind it when that one is over.
std::string next_name(std::string const& folder, std::string const& name)
{
    std::size_t last = 0;
    auto const all = redrive::journal_names(folder);
    for (auto const& one : all ? *all : std::vector<std::string>()) {
        if (one == name) last = std::max<std::size_t>(last, 1);
        if (one.starts_with(name + '-'))
            last = std::max(last, text::number_in<std::size_t>(one.substr(name.size() + 1)).value_or(0));
    }
    auto const numbered = [&](std::size_t n) { return n < 2 ? name : fmt::format("{}-{}", name, n); };
    auto const text = redrive::read_journal_file(folder, numbered(last));
    auto const book = text ? redrive::read_journal(*text) : result<redrive::run_book>(redrive::run_book());
    using phase = redrive::run_book::phase;
    auto const is_over = book && (book->now() == phase::succeeded || book->now() == phase::cancelled);
    return numbered(is_over ? last + 1 : last);
}

} // namespace

result<std::optional<redrive::journal>> journal_for(redrive_options const& o)
{
    std::optional<redrive::journal> none;
    if (o.journal.empty()) return none;
    auto const name = o.again ? next_name(o.journal, journal_name(o)) : journal_name(o);
    auto file = redrive::open_journal_file(o.journal, name, std::string(sqs::queue_name_in(o.queue)));
    if (!file) return file.error();
    auto out = redrive::journal::open(std::move(*file));
    if (!out) return failure(errc::invalid_option, unreadable(o.journal, name, out.error()));
    if (out->cut() != 0)
        log_line(log_level::warning,
            fmt::format("{}/{}.jsonl: cut {} bytes of a write that was not finished", o.journal, name, out->cut()));
    auto const& book = out->book();
    using phase = redrive::run_book::phase;
    if (book.now() == phase::none) return std::optional(std::move(*out));
    if (!is_input_of(o, book.start().input))
        return failure(errc::invalid_option,
            "the run " + name + " was begun with other settings: resume it, or give another --name");
    if (book.now() == phase::succeeded || book.now() == phase::cancelled)
        return failure(errc::invalid_option,
            "the run " + name + " is over (" + std::string(name_of(book.now())) +
                "); a new one takes another --name");
    return std::optional(std::move(*out));
}

void add_redrive_journal(command& redrive, command_line& line)
{
    using work = int (*)(journal_options const&, command_line const&);
    struct verb {
        char const *name, *what;
        work run;
    };
    verb const all[] = {{"status", "Tell how far the runs of a journal are", show_status},
        {"history", "Tell every decision of a run", show_history}, {"cancel", "End a run for good", cancel},
        {"resume", "Go on with a run", resume},
        {"export", "Write the history of a run, or the messages of a queue", export_history}};
    for (auto const& one : all) {
        auto const o = std::make_shared<journal_options>();
        auto* const it = redrive.add_subcommand(one.name, one.what);
        std::string const is(one.name);
        option folder("--journal DIR", o->folder, "Folder of the journal");
        if (is != "export") folder.traits.push_back(required());
        it->add({folder, {"--name NAME", o->name, "Name of the run; default: the only one there"}});
        if (is == "status" || is == "history" || is == "export")
            it->add({"--message ID", o->message, "Tell of this message alone"});
        if (is == "resume") add_telling_options(*it, o->telling);
        if (is == "export") add_export_of_messages(*it, *o);
        it->callback([o, &line, work_of = one.run] {
            if (o->folder.empty() && o->file.empty())
                throw usage_error("--journal DIR, or DLQ and FILE, is required");
            line.run = [o, &line, work_of] { return work_of(*o, line); };
        });
    }
}

} // namespace quern::app
