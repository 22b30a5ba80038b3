#include <quern/policy/streak.hpp>

#include <boost/test/unit_test.hpp>

using quern::policy::streak;

namespace {

/// Ordinary times in which the part that is bad news is so many of ten.
streak used_to(int of_ten)
{
    streak out;
    for (int i = 0; i < 640; ++i) {
        if (i * of_ten % 10 < of_ten)
            out.bad(static_cast<std::uint64_t>(i));
        else
            out.good();
    }
    out.good();
    return out;
}

/// How many in a row, each of another message, are more than chance.
int enough(streak s, std::size_t floor = 3)
{
    int out = 0;
    while (!s.implausible(floor) && out < 10'000)
        s.bad(static_cast<std::uint64_t>(++out));
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(streak_policy)

BOOST_AUTO_TEST_CASE(without_bad_news_in_ordinary_times_the_floor_is_enough)
{
    BOOST_TEST(enough(streak()) == 3);
    BOOST_TEST(enough(used_to(0)) == 3);
    BOOST_TEST(enough(used_to(0), 7) == 7);
}

BOOST_AUTO_TEST_CASE(the_more_usual_bad_news_is_the_more_of_it_is_needed)
{
    struct {
        int of_ten, least, most;
    } const table[] = {{1, 5, 8}, {3, 10, 14}, {5, 18, 22}, {7, 35, 44}, {9, 110, 160}};
    for (auto const& row : table) {
        BOOST_TEST(enough(used_to(row.of_ten)) >= row.least, row.of_ten);
        BOOST_TEST(enough(used_to(row.of_ten)) <= row.most, row.of_ten);
    }
}

BOOST_AUTO_TEST_CASE(one_message_counts_once_among_the_different_ones)
{
    streak s;
    for (int i = 0; i < 1'000; ++i) {
        s.bad(1);
        s.bad(2);
    }
    BOOST_TEST(s.length() == 2'000u);
    BOOST_TEST(s.different() == 2u);
    BOOST_TEST(!s.implausible(3));
    s.bad(3);
    BOOST_TEST(s.implausible(3));
}

BOOST_AUTO_TEST_CASE(good_news_ends_the_run)
{
    streak s;
    s.bad(1);
    s.bad(2);
    s.good();
    BOOST_TEST(s.length() == 0u);
    BOOST_TEST(s.different() == 0u);
    s.bad(1);
    s.bad(2);
    BOOST_TEST(!s.implausible(3));
}

// A run that lasts is judged by the times before it; one that was an outage says nothing about ordinary times.
BOOST_AUTO_TEST_CASE(only_a_run_that_ended_by_itself_is_learned_from)
{
    auto s = used_to(5);
    auto const before = s.usual();
    for (std::uint64_t i = 0; i < 100; ++i)
        s.bad(i);
    BOOST_TEST(s.usual() == before);
    s.forget();
    BOOST_TEST(s.usual() == before);
    s.bad(1);
    s.good();
    BOOST_TEST(s.usual() != before);
}

// One that began before an outage, and came to a good end in it.
BOOST_AUTO_TEST_CASE(the_first_bad_news_are_not_the_usual_thing)
{
    streak s;
    s.bad(1);
    s.bad(1);
    s.good();
    BOOST_TEST(s.usual() < 0.1);
    BOOST_TEST(enough(s) <= 6);
}

BOOST_AUTO_TEST_CASE(old_times_are_forgotten_after_a_few_times_sixty_four_news)
{
    auto s = used_to(9);
    for (int i = 0; i < 300; ++i)
        s.good();
    BOOST_TEST(s.usual() < 0.01);
    for (std::uint64_t i = 0; i < 100'000; ++i)
        s.bad(i);
    s.good();
    BOOST_TEST(s.usual() > 0.98);
    BOOST_TEST(s.needed(0.05) > 64u);
    BOOST_TEST(s.needed(0.05) < 1'000u);
}

BOOST_AUTO_TEST_CASE(memory_is_bounded)
{
    streak s;
    for (std::uint64_t i = 0; i < 100'000; ++i)
        s.bad(i);
    BOOST_TEST(s.length() == 100'000u);
    BOOST_TEST(s.different() == streak::most_different);
}

// Half of all messages began to fail at once: three in a row opened the breaker, and nothing was learnt from them.
BOOST_AUTO_TEST_CASE(a_run_that_was_chance_after_all_makes_the_next_one_need_more)
{
    streak run;
    for (std::uint64_t i = 0; i < 3; ++i)
        run.bad(i);
    BOOST_TEST(run.implausible(3));
    run.forget();
    run.recall(3);
    BOOST_TEST(run.usual() > 0.04);
    BOOST_TEST(run.usual() < 0.05);
    for (std::uint64_t i = 0; i < 4; ++i)
        run.bad(i);
    BOOST_TEST(!run.implausible(3));
    run.bad(4);
    BOOST_TEST(run.implausible(3));
}

BOOST_AUTO_TEST_SUITE_END()
