// Journals on a disk, and what a process that opens one keeps of it.

#include "redrive/journal_text.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <unistd.h>

using namespace quern;
using namespace quern::test;

BOOST_AUTO_TEST_SUITE(redrive_journal_files)

namespace {

struct folder {
    std::string path = "/tmp/quern-journal-XXXXXX";
    folder() { BOOST_REQUIRE(::mkdtemp(path.data())); }
    ~folder() { std::filesystem::remove_all(path); }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_journal_has_one_writer_and_a_queue_one_run_and_the_next_is_told_who)
{
    folder f;
    auto first = open_journal_file(f.path, "a", "dead");
    BOOST_REQUIRE(first.has_value());
    auto const who = " is in use by process " + std::to_string(::getpid()) + ", for a";
    auto const second = open_journal_file(f.path, "a", "other");
    BOOST_REQUIRE(!second);
    BOOST_TEST(second.error().message == f.path + "/a.jsonl" + who);
    auto const same_queue = open_journal_file(f.path, "b", "dead");
    BOOST_REQUIRE(!same_queue);
    BOOST_TEST(same_queue.error().message == f.path + ", for dead," + who);
    BOOST_TEST(open_journal_file(f.path, "b", "other").has_value()); // a folder has any number of runs
    first->reset();
    BOOST_TEST(open_journal_file(f.path, "b", "dead").has_value());
    BOOST_TEST(!open_journal_file(f.path, "../b"));
}

// The lines that said what was being sent were gone, so it was sent again and nobody knew.
BOOST_AUTO_TEST_CASE(a_journal_whose_end_is_missing_or_damaged_is_refused)
{
    folder f;
    auto const path = f.path + "/a.jsonl";
    auto j = std::make_optional(journal::open(open_journal_file(f.path, "a").value()).value());
    j->write(made(k::started), run_start);
    j->write(made(k::planned, "m"), run_start);
    j->write(made(k::sending, "m"), run_start);
    BOOST_REQUIRE(j->flush().has_value());
    j.reset();
    auto const whole = read_journal_file(f.path, "a").value();
    auto const put = [&path](std::string const& text) { std::ofstream(path, std::ios::trunc) << text; };
    auto const opens = [&f] { return journal::open(open_journal_file(f.path, "a").value()); };
    for (std::size_t size = 0; size < whole.size(); ++size) {
        put(whole.substr(0, size));
        auto const got = opens();
        BOOST_REQUIRE(!got);
        BOOST_TEST(got.error().message.find("it had " + std::to_string(whole.size())) != std::string::npos);
        BOOST_TEST(!read_journal_file(f.path, "a"));
    }
    put("");
    BOOST_TEST(!read_journal_start(f.path, "a"));
    for (auto const at : {whole.size() - 2, whole.size() - 40}) { // a whole line, and a wrong one
        auto flipped = whole;
        flipped[at] = '!';
        put(flipped);
        BOOST_TEST(!opens());
    }
    put(whole + "{\"id\":4,\"prev");
    BOOST_TEST(opens().value().cut() == 13u);
    std::filesystem::remove(f.path + "/a.size"); // of an older version
    put(whole.substr(0, whole.size() - 1));
    BOOST_TEST(opens().value().book().last_id() == 2u);
}

BOOST_AUTO_TEST_CASE(what_was_flushed_is_there_for_the_next_process_and_a_torn_end_is_gone)
{
    folder f;
    {
        auto j = journal::open(open_journal_file(f.path, "a").value()).value();
        j.write(made(k::started), run_start);
        j.write(made(k::planned, "m"), run_start);
        j.write(made(k::planned, "n"), run_start);
        BOOST_REQUIRE(j.flush().has_value());
    }
    {
        std::ofstream(f.path + "/a.jsonl", std::ios::app) << "{\"id\":4,\"prev"; // of a process that was killed
        auto j = journal::open(open_journal_file(f.path, "a").value()).value();
        BOOST_TEST(j.cut() == 13u);
        BOOST_TEST(j.book().last_id() == 3u);
        BOOST_TEST(j.write(made(k::sending, "m"), run_start) == 4u);
        BOOST_REQUIRE(j.flush().has_value());
    }
    auto const text = read_journal_file(f.path, "a").value();
    std::vector<std::uint64_t> previous;
    read_events(text, [&](event&& e) {
        previous.push_back(e.previous);
        return result<void>();
    }).value();
    std::vector<std::uint64_t> const expected{0, 1, 1, 2};
    BOOST_TEST(previous == expected, boost::test_tools::per_element());
    auto const names = journal_names(f.path).value();
    BOOST_TEST(names.size() == 1u);
}

// Whoever had the place took it away when he went: one that came during his drain was lost.
BOOST_AUTO_TEST_CASE(a_wish_to_cancel_stays_until_the_run_is_over)
{
    folder f;
    {
        auto j = journal::open(open_journal_file(f.path, "a").value()).value();
        j.write(made(k::started), run_start);
        j.flush().value();
        BOOST_TEST(!j.is_cancelled());
        ask_to_cancel(f.path, "a").value();
        BOOST_TEST(j.is_cancelled());
    }
    {
        auto j = journal::open(open_journal_file(f.path, "a").value()).value();
        BOOST_TEST(j.is_cancelled());
        j.write(made(k::resumed), run_start);
        j.flush().value();
        BOOST_TEST(j.is_cancelled());
        j.write(made(k::cancelled), run_start);
        j.flush().value();
        BOOST_TEST(!j.is_cancelled());
        ask_to_cancel(f.path, "a").value(); // too late
    }
    auto j = journal::open(open_journal_file(f.path, "a").value()).value();
    BOOST_TEST(!j.is_cancelled());
}

BOOST_AUTO_TEST_CASE(a_wish_to_cancel_an_earlier_run_of_the_name_is_not_about_this_one)
{
    folder f;
    ask_to_cancel(f.path, "a").value();
    auto j = journal::open(open_journal_file(f.path, "a").value()).value();
    BOOST_TEST(!j.is_cancelled());
    j.write(made(k::started), run_start);
    j.flush().value();
    BOOST_TEST(!j.is_cancelled());
}

BOOST_AUTO_TEST_CASE(attempts_without_a_place_are_found_in_all_journals_of_the_folder)
{
    folder f;
    BOOST_TEST(counted_attempts(f.path + "/none").value().empty());
    int attempt = 0;
    for (auto const* name : {"a", "b"}) {
        auto sent = made(k::sent, "m");
        sent.new_id = std::string("new-") + name;
        sent.attempt = ++attempt;
        auto marked = made(k::sent, "n");
        marked.new_id = "marked";
        auto file = open_journal_file(f.path, name).value();
        file->append(lines_of({made(k::started), sent}) + "damaged\n" + lines_of({marked})).value();
    }
    auto const got = counted_attempts(f.path).value();
    BOOST_TEST(got.size() == 2u);
    BOOST_TEST(got.at("new-a") == 1);
    BOOST_TEST(got.at("new-b") == 2);
}

BOOST_AUTO_TEST_CASE(how_a_run_began_is_read_without_the_rest)
{
    folder f;
    BOOST_TEST(!read_journal_start(f.path, "a"));
    BOOST_TEST(!find_journal_file(f.path, "a"));
    auto file = open_journal_file(f.path, "a").value();
    BOOST_TEST(find_journal_file(f.path, "a").has_value());
    BOOST_TEST(!read_journal_start(f.path, "a").value().has_value());
    auto begun = made(k::started);
    begun.input = std::string(100'000, 'x'); // longer than a piece
    file->append(lines_of({begun}) + "not read\n" + lines_of({made(k::planned, "m")})).value();
    BOOST_TEST(read_journal_start(f.path, "a").value().value().input == begun.input);
    file->cut(0).value();
    file->append(lines_of({made(k::planned, "m")})).value();
    BOOST_TEST(!read_journal_start(f.path, "a"));
}

BOOST_AUTO_TEST_CASE(a_journal_is_read_in_pieces_of_any_size)
{
    auto const text = lines_of({made(k::started), made(k::planned, "m"), made(k::sending, "m")}) + "{\"id\":4";
    for (std::size_t size = 1; size < text.size(); size += 13) {
        std::size_t seen = 0, held = 0;
        event_reader reader([&](event&&) {
            ++seen;
            return result<void>();
        });
        for (std::size_t at = 0; at < text.size(); at += size) {
            reader.read(std::string_view(text).substr(at, size)).value();
            held = std::max(held, reader.held());
        }
        BOOST_TEST(seen == 3u);
        BOOST_TEST(held < 400u); // of one line, never of more
        BOOST_TEST(reader.end().value().torn == 7u);
    }
}

namespace {

/// The journal of a run that was killed after so many messages, of which one waits and one was not deleted.
struct long_file final : journal_file {
    std::size_t messages;

    explicit long_file(std::size_t count) : messages(count) {}

    result<void> read(piece_reader const& take) override
    {
        std::uint64_t id = 0;
        std::string piece;
        auto const write = [&](event e) {
            e.id = ++id;
            piece += to_line(e);
            if (piece.size() > 60'000) take(std::exchange(piece, {})).value();
        };
        write(made(k::started));
        for (auto const kind : to_sent)
            write(made(kind, "undeleted"));
        write(made(k::planned, "waits"));
        auto waits = made(k::waiting, "waits");
        waits.due = run_start + 24h;
        write(waits);
        for (std::size_t i = 0; i < messages; ++i)
            for (auto const kind : to_done)
                write(made(kind, "m" + std::to_string(i)));
        return take(piece);
    }
    result<void> append(std::string_view) override { return {}; }
    result<void> cut(std::size_t) override { return {}; }
    bool is_cancelled() override { return false; }
    void forget_cancel() override {}
};

} // namespace

// All of them were kept, and all were gone through whenever the run asked whether it waits for one.
BOOST_AUTO_TEST_CASE(a_run_that_goes_on_knows_what_is_open_and_of_what_is_done_the_latest)
{
    constexpr std::size_t count = 100'000;
    auto j = journal::open(std::make_unique<long_file>(count)).value();
    auto const& book = j.book();
    BOOST_TEST(book.messages().size() == journal::most_done + 2);
    auto const counts = book.counts();
    BOOST_TEST(counts.deleted == count);
    BOOST_TEST(counts.redriven == count + 1);
    BOOST_TEST(counts.undeleted == 1u);
    BOOST_TEST(counts.waiting == 1u);
    BOOST_TEST(book.awaits(run_start + 23h));
    BOOST_TEST(!book.awaits(run_start + 24h));
    BOOST_TEST(book.messages().contains("m99999"));
    BOOST_TEST(!book.messages().contains("m0"));
    j.write(made(k::deleted, "m0"), run_start); // by a journal that has kept more
    BOOST_TEST(!j.is_broken());
    BOOST_TEST(book.counts().deleted == count);
    BOOST_TEST(book.messages().size() == journal::most_done + 2);
}

BOOST_AUTO_TEST_SUITE_END()
