// Dead letters in a file: `quern redrive export DLQ FILE`, `quern redrive import FILE QUEUE`.

#include "redrive/redrive_saved.hpp"

#include "common/command_line.hpp"
#include "common/depth.hpp"
#include "common/report_file.hpp"
#include "common/session.hpp"
#include "common/standard_streams.hpp"
#include "common/told_to_end.hpp"
#include "redrive/copy_check.hpp"
#include "redrive/looking.hpp"

#include <quern/core/detail/printable.hpp>
#include <quern/redrive/plan.hpp>
#include <quern/redrive/saved.hpp>
#include <quern/sqs/batch.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace asio = boost::asio;
/// A line in the file for each message that can be received.
asio::awaitable<result<void>> collect(looking& from, told_to_end const& told, report_file& to, copy_of_queue& all)
{
    std::set<std::string> ids;
    for (int empty = 0; empty < 2 && !told.yes();) {
        auto const got = co_await from.receive(sqs::max_batch_messages);
        if (!got) co_return got.error();
        all.damaged += got->damaged.size();
        std::string lines;
        for (auto const& m : got->messages)
            if (ids.emplace(m.id).second) lines += redrive::saved_line(m);
        empty = lines.empty() ? empty + 1 : 0;
        auto const written = to.append(lines);
        if (!written) co_return written.error();
        all.copied = ids.size();
    }
    co_return result<void>();
}

/// Words about a copy that does not take its place.
std::string kept(std::string const& path, std::string const& partial)
{
    std::error_code ignored;
    auto text = path + (std::filesystem::exists(path, ignored) ? " is as it was" : " was not written");
    if (!partial.empty()) text += ", and what was exported is in " + partial;
    return text;
}

bool has_content(std::string const& path)
{
    std::error_code ec;
    auto const size = std::filesystem::file_size(path, ec);
    return !ec && size != 0;
}

asio::awaitable<int> export_messages(session& s, std::string queue, std::string path)
{
    auto const url = co_await sqs::find_queue_url(s.sqs, queue);
    if (!url) co_return s.complain(url.error(), queue);
    auto const before = co_await queue_depth(s.sqs, *url);
    if (!before) co_return s.complain(before.error(), queue);
    auto file = report_file::open_lasting(path);
    if (!file) co_return complain(path + ": " + describe(file.error()));
    copy_of_queue all;
    all.queue = printable(std::string(sqs::queue_name_in(*url)));
    all.before = before->total();
    told_to_end const told(s.io);
    looking from(s.sqs, *url, [&] { return told.yes(); });
    auto const collected = co_await collect(from, told, *file, all);
    all.interrupted = told.yes();
    auto const after = co_await queue_depth(s.sqs, *url);
    auto const hidden = co_await from.give_back();
    if (hidden != 0)
        say(stderr, "{} may stay hidden for a while: that they shall be visible was not confirmed\n", hidden);
    std::optional<failure> why;
    if (!after) why = after.error();
    if (!collected) why = collected.error();
    if (why)
        co_return s.complain(
            *why, fmt::format("{}, after {} messages; {}", all.queue, all.copied, kept(path, file->lasting())));
    all.after = after->total();
    all.in_flight_after = after->in_flight;
    all.delayed_after = after->delayed;
    auto const total = std::max(all.before, all.after);
    if (auto const missing = what_is_missing(all); !missing.empty())
        co_return complain(fmt::format("exported {} of about {} messages of {}; {}. {}", all.copied, total, all.queue,
            missing, kept(path, file->lasting())));
    if (all.copied == 0 && has_content(path))
        co_return complain(fmt::format("{} is empty; {}", all.queue, kept(path, {})));
    auto const written = file->finish();
    if (!written) co_return complain(fmt::format("{}; {}", describe(written.error()), kept(path, file->lasting())));
    say(stderr, "exported {} of about {}; they stay in {}, which cost each of them a receive\n", all.copied, total,
        all.queue);
    co_return ok;
}

/// For a FIFO queue; a standard one takes groups, too, and keeps no order.
bool is_ordered(sqs::send_message_entry const& one)
{
    return one.deduplication_id && one.group_id;
}

/// Messages that go in one request, and the lines that they stand in. Of a group of a FIFO queue it has one message:
/// of several SQS may take the second and not the first.
struct parcel {
    std::vector<sqs::send_message_entry> entries;
    std::vector<std::size_t> lines;
    std::vector<std::string> groups; ///< empty where there is no order
    std::size_t size = 0;

    bool has_room(sqs::send_message_entry const& more, std::size_t its_size) const
    {
        if (entries.size() == sqs::max_batch_entries || size + its_size > sqs::max_message_bytes) return false;
        return !is_ordered(more) || std::ranges::find(groups, *more.group_id) == groups.end();
    }

    void add(sqs::send_message_entry one, std::size_t line, std::size_t its_size)
    {
        groups.push_back(is_ordered(one) ? *one.group_id : std::string());
        entries.push_back(std::move(one));
        lines.push_back(line);
        size += its_size;
    }
};

/// The work of one import.
struct import_run {
    session& s;
    std::string url;
    bool fifo;
    std::size_t sent = 0;
    std::map<std::string, std::size_t> broken; ///< groups of a FIFO queue, and the first line of each that did not go

    asio::awaitable<void> send(parcel what)
    {
        if (what.entries.empty()) co_return;
        auto entries = std::move(what.entries);
        auto const ends = co_await sqs::send_batch(s.sqs, url, std::move(entries));
        for (std::size_t i = 0; i < ends.size(); ++i) {
            if (ends[i]) {
                ++sent;
                continue;
            }
            complain(fmt::format("line {}: {}", what.lines[i], printable(describe(ends[i].error()))));
            if (fifo) broken.try_emplace(what.groups[i], what.lines[i]);
        }
    }

    /// Whether an earlier message of its group is missing, behind which it must not come.
    bool is_held_up(sqs::send_message_entry const& one, std::size_t line) const
    {
        if (!fifo) return false;
        auto const found = broken.find(one.group_id.value_or(std::string()));
        if (found == broken.end()) return false;
        complain(fmt::format("line {}: not sent, since line {} of its group was not", line, found->second));
        return true;
    }
};

asio::awaitable<int> import_messages(session& s, std::string path, std::string queue)
{
    std::ifstream file(path);
    if (!file) co_return complain(path + " cannot be read", usage);
    auto const url = co_await sqs::find_queue_url(s.sqs, queue);
    if (!url) co_return s.complain(url.error(), queue);
    import_run all{s, *url, url->ends_with(".fifo"), 0, {}};
    std::size_t number = 0;
    parcel next;
    for (std::string line; std::getline(file, line);) {
        if (++number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3); // some editors write one
        auto one = redrive::parse_saved(line, all.fifo);
        if (!one) {
            complain(fmt::format("{}, line {}: {}", path, number, printable(one.error().message)));
            continue;
        }
        auto const size = sqs::message_size(one->copy.body, one->copy.attributes);
        if (!next.has_room(one->copy, size)) {
            auto full = std::exchange(next, parcel());
            co_await all.send(std::move(full));
        }
        if (!all.is_held_up(one->copy, number)) next.add(std::move(one->copy), number, size);
    }
    auto const read_all = file.eof(); // of a folder, or a bad disk, lines end in the middle
    co_await all.send(std::move(next));
    if (!read_all)
        co_return complain(fmt::format("{} cannot be read behind line {}; imported {}", path, number, all.sent));
    say(stderr, "imported {} of {}\n", all.sent, number);
    co_return all.sent == number ? ok : failed;
}

} // namespace

int export_to_file(command_line const& line, std::string const& queue, std::string const& path)
{
    return run(line.where, queue, [=](session& s) { return export_messages(s, queue, path); });
}

void add_import(command& redrive, command_line& line)
{
    struct options {
        std::string file, queue;
    };
    auto const o = std::make_shared<options>();
    auto* const it = redrive.add_subcommand("import", "Send the messages of a file that `export` wrote");
    it->add({
        {"FILE", o->file, "As `export DLQ FILE` wrote it", required()},
        {"QUEUE", o->queue, "Where they go, URL, name or ARN", required()},
    });
    it->footer("The messages are as they were, but for their ids and times. A line that cannot be sent is named, the "
               "others go (but to a FIFO queue none behind it of its group), and the status is 1. Twice imported is "
               "twice there; a FIFO queue takes the second copy for one and the same within five minutes.");
    when_named(*it, line, [o, &line] {
        return run(line.where, o->queue, [o](session& s) { return import_messages(s, o->file, o->queue); });
    });
}

} // namespace quern::app
