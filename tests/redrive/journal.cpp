// Records -> state: what may follow what, what a torn end is, and what is refused by name.

#include "redrive/journal_text.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <ostream>

using namespace quern;
using namespace quern::test;

BOOST_AUTO_TEST_SUITE(redrive_journal)

BOOST_AUTO_TEST_CASE(every_member_of_every_kind_comes_back_from_its_line)
{
    for (int kind = 0; kind <= static_cast<int>(k::cancelled); ++kind) {
        auto e = made(static_cast<k>(kind), "id");
        e.id = 7;
        e.previous = 3;
        e.queue = "http://x/1/q";
        e.input = R"({"dlq":"d"})";
        e.decision = "isolate";
        e.attempt = 4;
        e.reason = "quote \" and ü";
        e.key = "key";
        e.maybe_twice = true;
        e.in_doubt = true;
        e.due = run_start + 30min + 4ms;
        e.hidden_until = run_start + 12h;
        e.new_id = "new";
        e.sequence = "123456789012345678901234567890";
        auto const line = to_line(e);
        BOOST_REQUIRE(line.ends_with("\"}\n"));
        auto const got = parse_event(std::string_view(line).substr(0, line.size() - 1)).value();
        BOOST_TEST(to_line(got) == line);
        BOOST_TEST(got.kind == e.kind);
        BOOST_TEST(got.at == e.at);
        BOOST_TEST(got.reason == e.reason);
    }
}

BOOST_AUTO_TEST_CASE(a_number_that_is_none_of_ours_is_refused)
{
    for (auto const member : {&event::id, &event::previous}) {
        auto e = made(k::sent, "m");
        e.*member = std::uint64_t(1) << 63; // a negative number in the line
        auto const line = to_line(e);
        auto const got = parse_event(std::string_view(line).substr(0, line.size() - 1));
        BOOST_TEST(!got);
        if (!got) BOOST_TEST(got.error().code == errc::invalid_option);
    }
}

BOOST_AUTO_TEST_CASE(a_line_reads_like_one_of_step_functions)
{
    auto e = made(k::sent, "m");
    e.id = 3;
    e.previous = 2;
    e.new_id = "n";
    auto const line = to_line(e);
    BOOST_TEST(
        line.starts_with(R"({"id":3,"previousEventId":2,"timestamp":"2025-12-18T00:00:00.123Z",)"
                         R"("type":"TaskSucceeded","message":"m","taskSucceededEventDetails":{"messageId":"n"})"));
}

BOOST_AUTO_TEST_CASE(each_kind_follows_only_what_it_can_follow)
{
    struct row {
        k kind;
        std::vector<std::vector<k>> after;
    };
    row const rows[] = {
        {k::planned, {{}, to_planned, to_waiting, to_unknown, to_left}},
        {k::waiting, {to_planned, to_waiting}},
        {k::sending, {to_planned, to_waiting, to_unknown}},
        {k::sent, {to_sending}},
        {k::send_failed, {to_sending}},
        {k::deleted, {to_sent, to_done}},
        {k::left, {{}, to_planned, to_waiting, to_unknown, to_left}},
    };
    std::vector<k> const all[] = {{}, to_planned, to_waiting, to_sending, to_unknown, to_sent, to_done, to_left};
    for (auto const& [kind, after] : rows) {
        for (auto const& before : all) {
            course c(before);
            auto const expected = std::ranges::find(after, before) != after.end();
            auto const last = c.book.last_id();
            auto const said = c.go(made(kind, "m"));
            BOOST_TEST(said.has_value() == expected, name_of(kind) << " after " << before.size() << " events");
            BOOST_TEST(c.book.last_id() == last + (expected ? 1 : 0));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_run_that_stopped_is_resumed_and_one_that_ended_is_not)
{
    for (auto const end : {k::succeeded, k::cancelled}) {
        course c({end});
        BOOST_TEST(!c.go(made(k::resumed)));
        BOOST_TEST(!c.go(made(k::planned, "m")));
    }
    course c({k::stopped});
    BOOST_TEST(!c.go(made(k::planned, "m")));
    BOOST_TEST(c.go(made(k::resumed)).has_value());
    BOOST_TEST(c.go(made(k::planned, "m")).has_value());
}

BOOST_AUTO_TEST_CASE(a_missing_event_is_noticed)
{
    course c({});
    auto e = made(k::planned, "m");
    e.id = 3;
    BOOST_TEST(c.book.apply(e).error().message == "event 3 follows event 1: some are missing");
}

BOOST_AUTO_TEST_CASE(counts_come_from_the_events_alone)
{
    course c(to_done);
    auto isolated = made(k::planned, "p");
    isolated.decision = "isolate";
    c.go(isolated).value();
    c.go(made(k::sending, "p")).value();
    auto failed = made(k::send_failed, "p");
    failed.maybe_twice = true;
    c.go(failed).value();
    c.go(made(k::sending, "p")).value();
    c.go(made(k::sent, "p")).value();
    auto skipped = made(k::planned, "s");
    skipped.decision = "skip";
    c.go(skipped).value();
    c.go(made(k::left, "l")).value();
    c.go(made(k::planned, "u")).value();
    c.go(made(k::sending, "u")).value();
    c.go(made(k::resumed)).value();
    auto const got = c.book.counts();
    BOOST_TEST(got.redriven == 1u);
    BOOST_TEST(got.isolated == 1u);
    BOOST_TEST(got.deleted == 1u);
    BOOST_TEST(got.undeleted == 1u);
    BOOST_TEST(got.failures == 1u);
    BOOST_TEST(got.maybe_twice == 1u);
    BOOST_TEST(got.skipped == 1u);
    BOOST_TEST(got.left == 1u);
    BOOST_TEST(got.unknown == 1u);
}

BOOST_AUTO_TEST_CASE(a_write_that_was_cut_at_any_byte_is_no_more_than_that)
{
    auto const whole = lines_of({made(k::started), made(k::planned, "m")});
    auto const text =
        whole + lines_of({made(k::started), made(k::planned, "m"), made(k::sending, "m")}).substr(whole.size());
    for (auto size = whole.size(); size < text.size(); ++size) {
        std::size_t torn = 0;
        auto const book = read_journal(std::string_view(text).substr(0, size), &torn);
        BOOST_REQUIRE(book.has_value());
        BOOST_TEST(book->last_id() == 2u);
        BOOST_TEST(torn == size - whole.size());
    }
}

BOOST_AUTO_TEST_CASE(a_torn_end_may_hold_anything)
{
    auto const whole = lines_of({made(k::started)});
    for (std::string const& rest : {std::string(100, '\0'), std::string("garbage\n"), std::string("\n\n"),
             std::string("{\"id\":2}\n{\"id\":")}) {
        std::size_t torn = 0;
        auto const book = read_journal(whole + rest, &torn);
        BOOST_REQUIRE(book.has_value());
        BOOST_TEST(torn == rest.size());
    }
}

// It was cut to nothing, and the run began anew: what had been sent went twice.
BOOST_AUTO_TEST_CASE(a_file_without_a_whole_line_is_refused_unless_its_first_write_was_torn)
{
    auto const text = lines_of({made(k::started), made(k::planned, "m")});
    std::string windows;
    for (auto const c : text)
        windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
    for (auto const& other : {windows, std::string("[]\n"), std::string(100, '\n')})
        BOOST_TEST(read_journal(other).has_error());
    std::size_t torn = 0;
    auto const begun = read_journal(std::string_view(text).substr(0, 20), &torn);
    BOOST_TEST(begun.has_value());
    BOOST_TEST(torn == 20u);
}

BOOST_AUTO_TEST_CASE(the_five_minutes_of_a_deduplication_id_count_from_the_first_send_whose_end_is_unknown)
{
    course c(to_planned);
    auto first = made(k::sending, "m");
    first.key = "K";
    c.go(first).value();
    c.go(made(k::resumed)).value();
    auto second = first;
    second.at = run_start + 4min;
    c.go(second).value();
    bool const of_the_first = c.book.of("m").sending_at == run_start;
    BOOST_TEST(of_the_first);
    c.go(made(k::send_failed, "m")).value();
    auto third = first; // the first one is in doubt as before
    third.at = run_start + 8min;
    third.maybe_twice = true;
    c.go(third).value();
    bool const of_the_third = c.book.of("m").sending_at == run_start + 8min;
    BOOST_TEST(of_the_third);
}

BOOST_AUTO_TEST_CASE(a_send_in_doubt_stays_so_until_it_is_counted_or_confirmed)
{
    course c(to_sending);
    auto failed = made(k::send_failed, "m");
    failed.in_doubt = true;
    c.go(failed).value();
    BOOST_TEST(c.book.of("m").in_doubt);
    BOOST_TEST(c.book.counts().unknown == 1u);
    BOOST_TEST(c.book.counts().planned == 0u);
    c.go(made(k::planned, "m")).value();
    c.go(made(k::sending, "m")).value();
    c.go(made(k::send_failed, "m")).value(); // of this one it is known that it was not done
    BOOST_TEST(c.book.of("m").in_doubt);
    auto again = made(k::sending, "m");
    again.maybe_twice = true;
    c.go(again).value();
    BOOST_TEST(!c.book.of("m").in_doubt);
    c.go(failed).value();
    c.go(made(k::sending, "m")).value();
    c.go(made(k::sent, "m")).value();
    BOOST_TEST(!c.book.of("m").in_doubt);
    BOOST_TEST(c.book.counts().maybe_twice == 1u);
    BOOST_TEST(c.book.counts().unknown == 0u);

    course gone(to_sending);
    gone.go(failed).value();
    gone.go(made(k::left, "m")).value();
    BOOST_TEST(gone.book.counts().unknown == 1u);
    BOOST_TEST(gone.book.counts().left == 0u);
}

BOOST_AUTO_TEST_CASE(damage_before_whole_lines_is_refused_with_its_line_and_nothing_is_cut)
{
    auto text = lines_of({made(k::started), made(k::planned, "m"), made(k::sending, "m")});
    text[text.find("ChoiceState")] = 'X';
    auto const got = read_journal(text);
    BOOST_REQUIRE(!got);
    BOOST_TEST(got.error().message == "line 2 is damaged, and whole ones follow: nothing was cut");
}

BOOST_AUTO_TEST_CASE(an_unknown_record_and_another_version_are_refused_by_name)
{
    auto newer = made(k::started);
    newer.version = 2;
    auto const later = read_journal(lines_of({newer}));
    BOOST_REQUIRE(!later);
    BOOST_TEST(later.error().message == "line 1: the journal is of version 2; known here is version 1");
    // Written by a program of another time: the line below has the right checksum.
    std::string const line = R"({"id":2,"type":"Later","crc":"75208e7a"})";
    auto const got = read_journal(lines_of({made(k::started)}) + line + '\n');
    BOOST_REQUIRE(!got);
    BOOST_TEST(got.error().message == "line 2: \"Later\" is no event that is known here");
}

BOOST_AUTO_TEST_CASE(a_book_knows_until_when_it_waits_for_any_message)
{
    course c(to_waiting);
    auto first = made(k::waiting, "m");
    first.due = run_start + 1h;
    c.go(first).value();
    c.go(made(k::planned, "n")).value();
    auto second = made(k::waiting, "n");
    second.hidden_until = run_start + 2h;
    c.go(second).value();
    BOOST_TEST(c.book.awaits(run_start + 90min));
    c.go(made(k::sending, "n")).value();
    BOOST_TEST(!c.book.awaits(run_start + 90min));
    BOOST_TEST(c.book.awaits(run_start + 30min));
    c.go(made(k::resumed)).value();
    BOOST_TEST(c.book.awaits(run_start + 90min)); // nobody knows whether it is still hidden
    c.go(made(k::left, "n")).value();
    c.go(made(k::left, "m")).value();
    BOOST_TEST(!c.book.awaits(run_start));
}

BOOST_AUTO_TEST_CASE(a_message_that_was_let_go_is_awaited_until_something_becomes_of_it)
{
    course c(to_planned);
    c.book.expect("n", run_start + 2h); // not known
    BOOST_TEST(!c.book.awaits(run_start));
    c.book.expect("m", run_start + 1h);
    BOOST_TEST(c.book.awaits(run_start + 59min));
    BOOST_TEST(!c.book.awaits(run_start + 1h));
    c.go(made(k::sending, "m")).value();
    BOOST_TEST(!c.book.awaits(run_start));
    c.go(made(k::sent, "m")).value();
    BOOST_TEST(!c.book.awaits(run_start));
    c.book.expect("m", run_start + 1h); // its delete was not confirmed
    BOOST_TEST(c.book.awaits(run_start));
    BOOST_TEST(c.book.has_undeleted());
    c.go(made(k::deleted, "m")).value();
    BOOST_TEST(!c.book.awaits(run_start));
    BOOST_TEST(!c.book.has_undeleted());
}

BOOST_AUTO_TEST_CASE(a_send_that_may_have_been_done_has_its_place_until_one_is_confirmed)
{
    course c(to_sending);
    auto failed = made(k::send_failed, "m");
    failed.maybe_twice = true;
    c.go(failed).value();
    BOOST_TEST(c.book.counts().maybe_sent == 1u);
    BOOST_TEST(c.book.counts().unknown == 0u); // it was counted
    c.go(made(k::resumed)).value();
    BOOST_TEST(c.book.counts().maybe_sent == 1u);
    c.go(made(k::sending, "m")).value();
    c.go(made(k::send_failed, "m")).value();
    BOOST_TEST(c.book.counts().maybe_sent == 1u);
    c.go(made(k::sending, "m")).value();
    c.go(made(k::sent, "m")).value();
    BOOST_TEST(c.book.counts().maybe_sent == 0u);
}

BOOST_AUTO_TEST_CASE(without_a_file_only_what_is_open_or_in_doubt_is_known)
{
    journal j;
    j.write(made(k::started), run_start);
    for (int i = 0; i < 1'000; ++i) {
        for (auto const kind : to_done)
            j.write(made(kind, "done " + std::to_string(i)), run_start);
        j.write(made(k::left, "left " + std::to_string(i)), run_start);
    }
    for (auto const kind : to_sent)
        j.write(made(kind, "undeleted"), run_start);
    for (auto const kind : to_sending)
        j.write(made(kind, "doubt"), run_start);
    auto failed = made(k::send_failed, "doubt");
    failed.in_doubt = true;
    j.write(failed, run_start);
    j.write(made(k::left, "doubt"), run_start);
    BOOST_TEST(j.book().messages().size() == 2u);
    BOOST_TEST(j.book().counts().deleted == 1'000u);
    BOOST_TEST(j.book().counts().undeleted == 1u);
    BOOST_TEST(j.book().counts().unknown == 1u);
    BOOST_TEST(j.flush().has_value());
    BOOST_TEST(j.flushed() == j.book().last_id());
    BOOST_TEST(!j.is_cancelled());
    j.write(made(k::sent, "done 1"), run_start); // it cannot
    BOOST_TEST(j.is_broken());
}

BOOST_AUTO_TEST_SUITE_END()
