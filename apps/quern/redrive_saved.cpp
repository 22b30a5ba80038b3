// Dead letters in a file: `quern redrive export DLQ FILE`, `quern redrive import FILE QUEUE`.

#include "redrive_saved.hpp"

#include "depth.hpp"
#include "report_file.hpp"
#include "session.hpp"
#include "standard_streams.hpp"

#include <quern/core/detail/printable.hpp>
#include <quern/redrive/saved.hpp>
#include <quern/sqs/batch.hpp>
#include <quern/sqs/limits.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace quern::app {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct collected {
    std::string text;
    std::vector<std::string> handles;
    std::set<std::string> ids;
    std::size_t damaged = 0;
};

/// Each message that can be received, once; hidden for 15 minutes.
asio::awaitable<std::optional<failure>> collect(session& s, std::string url, collected& to)
{
    for (int empty = 0; empty < 2;) {
        sqs::receive_message_request ask(url);
        ask.max_messages = 10;
        ask.visibility_timeout = 900s;
        ask.wait_time = 1s;
        ask.system_attribute_names = {"All"};
        ask.attribute_names = {"All"};
        auto const got = co_await s.sqs.receive_message(std::move(ask));
        if (!got) co_return got.error();
        to.damaged += got->damaged.size();
        auto const before = to.ids.size();
        for (auto const& m : got->messages) {
            to.handles.emplace_back(m.receipt_handle);
            if (to.ids.emplace(m.id).second) to.text += redrive::saved_line(m);
        }
        empty = to.ids.size() == before ? empty + 1 : 0;
    }
    co_return std::nullopt;
}

asio::awaitable<void> give_back(session& s, std::string url, std::vector<std::string> handles)
{
    for (std::size_t at = 0; at < handles.size();) {
        std::vector<sqs::change_visibility_entry> some;
        for (; at < handles.size() && some.size() < sqs::max_batch_entries; ++at)
            some.emplace_back("", handles[at], 0s);
        co_await sqs::change_visibility_batch(s.sqs, url, std::move(some));
    }
}

asio::awaitable<int> export_messages(session& s, std::string queue, std::string path)
{
    auto const url = co_await queue_url(s.sqs, queue);
    if (!url) co_return s.complain(url.error(), queue);
    auto const depth = co_await queue_depth(s.sqs, *url);
    if (!depth) co_return s.complain(depth.error(), queue);
    auto file = report_file::open(path);
    if (!file) co_return complain(path + ": " + describe(file.error()));
    collected all;
    auto const wrong = co_await collect(s, *url, all);
    // Half a copy must not take the place of an earlier whole one.
    auto const written = wrong ? result<void>(*wrong) : file->write(all.text);
    auto handles = all.handles;
    co_await give_back(s, *url, std::move(handles));
    if (wrong)
        co_return s.complain(
            *wrong, fmt::format("{}, after {} messages; {} is as it was", queue, all.ids.size(), path));
    if (!written) co_return complain(path + ": " + describe(written.error()));
    say(stderr, "exported {} of about {}; they stay in {}, which cost each of them a receive\n", all.ids.size(),
        depth->total(), printable(queue));
    if (all.damaged != 0) co_return complain(fmt::format("{} messages arrived damaged", all.damaged));
    if (all.ids.size() < static_cast<std::size_t>(depth->total()))
        co_return complain(
            "some could not be received: they are in flight, delayed, or behind others of their group");
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
    auto const url = co_await queue_url(s.sqs, queue);
    if (!url) co_return s.complain(url.error(), queue);
    import_run all{s, *url, url->ends_with(".fifo"), 0, {}};
    std::size_t number = 0;
    parcel next;
    for (std::string line; std::getline(file, line);) {
        ++number;
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

void add_import(CLI::App& redrive, command_line& line)
{
    struct options {
        std::string file, queue;
    };
    auto const o = std::make_shared<options>();
    auto* const it = redrive.add_subcommand("import", "Send the messages of a file that `export` wrote");
    it->add_option("FILE", o->file, "As `export DLQ FILE` wrote it")->required();
    it->add_option("QUEUE", o->queue, "Where they go, URL or name")->required();
    it->footer(
        "The messages are as they were, but for their ids and times. A line that cannot be sent is named, the others "
        "go (but to a FIFO queue none behind it of its group), and the status is 1. Twice imported is twice there; a "
        "FIFO queue takes the second copy for one and the "
        "same "
        "within five minutes.");
    it->callback([o, &line] {
        line.run = [o, &line] {
            return run(line.where, o->queue, [o](session& s) { return import_messages(s, o->file, o->queue); });
        };
    });
}

} // namespace quern::app
