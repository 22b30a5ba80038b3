#include <quern/consumer/detail/conclude/age_book.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

wall_time const t0 = wall_time(1'700'000'000s);

std::chrono::milliseconds stood_back(age_book const& book, wall_time from, wall_time until)
{
    return age_book::stood_back(from, until, {&book});
}

} // namespace

BOOST_AUTO_TEST_SUITE(age_book_rule)

BOOST_AUTO_TEST_CASE(only_what_overlaps_counts)
{
    age_book book;
    book.begin(t0 + 10s);
    book.end(t0 + 20s);
    struct {
        std::chrono::seconds from, until, counts;
    } const table[] = {{0s, 5s, 0s}, {0s, 10s, 0s}, {0s, 15s, 5s}, {12s, 15s, 3s}, {0s, 60s, 10s}, {15s, 60s, 5s},
        {20s, 60s, 0s}, {60s, 0s, 0s}};
    for (auto const& row : table)
        BOOST_TEST(stood_back(book, t0 + row.from, t0 + row.until) == row.counts);
}

BOOST_AUTO_TEST_CASE(what_has_not_ended_lasts_until_now)
{
    age_book book;
    book.begin(t0);
    book.begin(t0 + 30s); // of the same
    BOOST_TEST(stood_back(book, t0 - 1min, t0 + 1min) == 1min);
    book.end(t0 + 2min);
    book.end(t0 + 3min);
    BOOST_TEST(stood_back(book, t0 - 1min, t0 + 1h) == 2min);
}

BOOST_AUTO_TEST_CASE(stretches_that_overlap_count_once_in_one_book_and_in_two)
{
    age_book one, other;
    one.add(t0, t0 + 10s);
    one.add(t0 + 20s, t0 + 30s);
    BOOST_TEST(one.size() == 2u);
    one.add(t0 + 5s, t0 + 20s);
    BOOST_TEST(one.size() == 1u);
    BOOST_TEST(stood_back(one, t0, t0 + 1min) == 30s);
    other.add(t0 + 25s, t0 + 40s);
    other.begin(t0 + 50s);
    BOOST_TEST(age_book::stood_back(t0, t0 + 1min, {&one, &other}) == 50s);
    BOOST_TEST(age_book::stood_back(t0, t0 + 1min, {&one, &one}) == 30s);
}

BOOST_AUTO_TEST_CASE(a_clock_that_was_set_back_leaves_no_stretch)
{
    age_book book;
    book.begin(t0);
    book.end(t0 - 1h);
    BOOST_TEST(book.size() == 0u);
    BOOST_TEST(stood_back(book, t0 - 2h, t0 + 1h) == 0s);
}

// Each stretch that was forgotten made messages older, until max_age rejected them.
BOOST_AUTO_TEST_CASE(what_was_before_the_oldest_stretch_that_is_remembered_counts_as_stood_back)
{
    age_book book;
    for (int i = 0; i < 1'000; ++i)
        book.add(t0 + i * 10s, t0 + i * 10s + 1s);
    BOOST_TEST(book.size() == age_book::most);
    constexpr int gone = 1'000 - age_book::most;
    BOOST_TEST(stood_back(book, t0, t0 + 24h) == (gone - 1) * 10s + 1s + std::chrono::seconds(age_book::most));
    book.add(t0 + 15 * 24h, t0 + 15 * 24h + 1s); // no message is as old as what came before
    BOOST_TEST(book.size() == 1u);
}

BOOST_AUTO_TEST_CASE(each_message_may_have_a_book)
{
    age_books books;
    books.of(1, t0).add(t0, t0 + 10s);
    BOOST_TEST(stood_back(books.known(1), t0, t0 + 1h) == 10s);
    BOOST_TEST(books.known(2).size() == 0u);
}

// The book after the last place had all others forgotten: of 14,400 messages that only waited 7,810 were deleted.
BOOST_AUTO_TEST_CASE(one_book_too_many_takes_the_place_of_the_one_that_was_used_longest_ago)
{
    age_books books;
    for (std::uint64_t who = 0; who < age_books::most; ++who)
        books.of(who, t0).add(t0, t0 + 10s);
    books.of(0, t0).add(t0 + 20s, t0 + 21s); // the oldest is 1 now
    books.of(age_books::most, t0 + 30s).add(t0 + 30s, t0 + 31s);
    BOOST_TEST(books.known(0).size() == 2u);
    BOOST_TEST(books.known(2).size() == 1u);
    BOOST_TEST(books.known(1).size() == 0u);

    // Nothing is known of its time until then, nor of that of any message that may have had a book.
    BOOST_TEST(stood_back(books.known(1), t0, t0 + 1min) == 10s);
    BOOST_TEST(stood_back(books.known(1), t0 - 1h, t0 + 1min) == 1h + 10s);
    BOOST_TEST(stood_back(books.known(age_books::most), t0, t0 + 1min) == 11s);
    BOOST_TEST(stood_back(books.known(2), t0 - 1h, t0 + 1min) == 10s); // its own book is whole
    BOOST_TEST(stood_back(books.known(1), t0 + 10s, t0 + 1min) == 0s);
}

BOOST_AUTO_TEST_CASE(a_book_may_take_in_another)
{
    age_book one, other;
    one.begin(t0);
    one.end(t0 + 10s);
    other.begin(t0 + 5s);
    other.end(t0 + 20s);
    other.begin(t0 + 30s);
    other.end(t0 + 31s);
    one.add(other);
    BOOST_TEST(one.size() == 2u);
    BOOST_TEST(stood_back(one, t0, t0 + 1min) == 21s);
}

BOOST_AUTO_TEST_SUITE_END()
