// Journals on a disk, and what a process that opens one keeps of it.

#include "redrive/journal_text.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
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

BOOST_AUTO_TEST_CASE(one_writer_has_the_folder_and_the_next_is_told_who)
{
    folder f;
    auto first = open_journal_file(f.path, "a");
    BOOST_REQUIRE(first.has_value());
    auto const second = open_journal_file(f.path, "b");
    BOOST_REQUIRE(!second);
    BOOST_TEST(second.error().message == f.path + " is in use by process " + std::to_string(::getpid()) + ", for a");
    first->reset();
    BOOST_TEST(open_journal_file(f.path, "b").has_value());
    BOOST_TEST(!open_journal_file(f.path, "../b"));
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
        auto const file = open_journal_file(f.path, "b");
        BOOST_TEST(!file);
    }
    {
        auto file = open_journal_file(f.path, "a").value();
        file->append("{\"id\":4,\"prev").value();
        auto j = journal::open(std::move(file)).value();
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
