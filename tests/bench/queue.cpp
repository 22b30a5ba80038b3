#include <queue.hpp>

#include <boost/test/unit_test.hpp>

using yardstick::fate;
using yardstick::second;

namespace {

struct taking {
    explicit taking(yardstick::options const& what) : queue(what) { queue.wake(0); }

    std::vector<yardstick::handed> take(std::size_t max, yardstick::micros now)
    {
        std::vector<yardstick::handed> out;
        queue.take(max, 30 * second, now, out);
        return out;
    }
    std::vector<std::uint64_t> numbers(std::size_t max, yardstick::micros now)
    {
        std::vector<std::uint64_t> out;
        for (auto const& one : take(max, now))
            out.push_back(one.handle.number);
        return out;
    }
    fate remove(yardstick::handed const& one)
    {
        yardstick::micros due = 0;
        return queue.remove(one.handle, due);
    }

    yardstick::queue queue;
};

using numbers = std::vector<std::uint64_t>;

} // namespace

BOOST_AUTO_TEST_SUITE(queue)

BOOST_AUTO_TEST_CASE(a_backlog_has_no_end_but_its_limit)
{
    taking from({.limit = 13});
    BOOST_TEST(from.take(10, 1).size() == 10u);
    BOOST_TEST(from.numbers(10, 1) == (numbers{10, 11, 12}), boost::test_tools::per_element());
    BOOST_TEST(from.take(10, 1).empty());
    BOOST_TEST(from.queue.in_flight() == 13u);
}

BOOST_AUTO_TEST_CASE(a_schedule_does_not_wait_for_those_who_receive)
{
    taking from({.rate = 1000});
    BOOST_TEST(from.take(10, 999).empty());
    BOOST_TEST(from.queue.next(999).value() == 1000);
    BOOST_TEST(from.take(10, 1000).size() == 1u);
    BOOST_TEST(from.take(10, 8000).size() == 7u);
    BOOST_TEST(from.queue.behind(50'000) == 41'000);
}

BOOST_AUTO_TEST_CASE(random_arrivals_are_the_same_with_the_same_seed_and_keep_the_rate)
{
    yardstick::options const what{.rate = 1000, .poisson = true, .seed = 7};
    taking one(what), other(what);
    std::size_t many = 0;
    for (yardstick::micros now = 0; now < 20 * second; now += 10'000) {
        auto const got = one.numbers(1000, now);
        BOOST_TEST(got == other.numbers(1000, now), boost::test_tools::per_element());
        many += got.size();
    }
    BOOST_TEST(many > 19'000u);
    BOOST_TEST(many < 21'000u);
}

BOOST_AUTO_TEST_CASE(measuring_drops_what_had_piled_up_and_gives_due_times)
{
    taking from({.rate = 1000});
    BOOST_TEST(from.take(1, 2000)[0].due == 0);
    from.queue.measure(50'000);
    BOOST_TEST(from.take(10, 50'999).empty());
    auto const got = from.take(10, 52'000);
    BOOST_TEST(got.size() == 2u);
    BOOST_TEST(got[0].due == 51'000);
}

BOOST_AUTO_TEST_CASE(a_rehearsal_has_a_backlog_and_ends_with_the_first_reset)
{
    taking from({.rate = 1000, .rehearse = true});
    BOOST_TEST(from.take(10, 1).size() == 10u);
    BOOST_TEST(from.take(10, 1).size() == 10u);
    from.queue.measure(5000);
    BOOST_TEST(from.take(10, 5999).empty());
    BOOST_TEST(from.take(10, 6000).at(0).due == 0);
    from.queue.measure(7000);
    BOOST_TEST(from.take(10, 8000).at(0).due == 8000);
}

BOOST_AUTO_TEST_CASE(only_the_newest_handle_deletes)
{
    taking from({.limit = 1});
    auto const first = from.take(1, 0).at(0);
    BOOST_TEST(from.queue.expire(30 * second - 1) == 0u);
    BOOST_TEST(from.queue.expire(30 * second) == 1u);
    auto const again = from.take(1, 31 * second).at(0);
    BOOST_TEST(again.handle.receives == 2);
    BOOST_CHECK(from.remove(first) == fate::stale);
    BOOST_TEST(from.queue.in_flight() == 1u);
    BOOST_CHECK(from.remove(again) == fate::done);
    BOOST_CHECK(from.remove(again) == fate::repeated);
    BOOST_TEST(from.queue.in_flight() == 0u);
}

BOOST_AUTO_TEST_CASE(a_handle_that_nobody_was_given_deletes_nothing)
{
    taking from({});
    auto one = from.take(1, 0).at(0);
    one.handle.number = 1;
    BOOST_CHECK(from.remove(one) == fate::unknown);
    one.handle = {.number = 0, .slot = one.handle.slot, .receives = 2};
    BOOST_CHECK(from.remove(one) == fate::unknown);
    one.handle = {.number = ~0ull, .slot = 0, .receives = 0};
    BOOST_CHECK(from.remove(one) == fate::unknown);
    BOOST_TEST(from.queue.in_flight() == 1u);
}

BOOST_AUTO_TEST_CASE(visibility_is_per_message_and_zero_shows_at_once)
{
    taking from({.limit = 3});
    auto const got = from.take(3, 0);
    BOOST_CHECK(from.queue.change(got[0].handle, 60 * second, 0) == fate::done);
    BOOST_CHECK(from.queue.change(got[2].handle, 0, 0) == fate::done);
    BOOST_TEST(from.numbers(10, 1) == (numbers{2}), boost::test_tools::per_element());
    BOOST_TEST(from.queue.next(2).value() == 30 * second);
    BOOST_TEST(from.queue.expire(59 * second) == 2u); // the second, and the third again
    BOOST_TEST(from.queue.expire(60 * second) == 1u);
}

BOOST_AUTO_TEST_CASE(a_message_that_came_back_can_be_deleted_with_the_handle_it_had)
{
    taking from({.limit = 1});
    auto const one = from.take(1, 0).at(0);
    from.queue.expire(30 * second);
    BOOST_CHECK(from.remove(one) == fate::done);
    BOOST_TEST(from.take(1, 31 * second).empty());
}

BOOST_AUTO_TEST_CASE(a_group_is_locked_while_any_of_its_messages_is_hidden)
{
    taking from({.groups = 2});
    auto const zero = from.take(2, 0);
    BOOST_TEST(zero[0].group == 0u);
    BOOST_TEST(zero[1].group == 0u);
    BOOST_TEST(zero[1].handle.number == 2u);
    auto const one = from.take(2, 0);
    BOOST_TEST(one[0].group == 1u);
    BOOST_TEST(from.take(10, 0).empty());
    BOOST_CHECK(from.remove(zero[0]) == fate::done);
    BOOST_TEST(from.take(10, 0).empty());
    BOOST_CHECK(from.remove(zero[1]) == fate::done);
    BOOST_TEST(from.numbers(3, 0) == (numbers{4, 6, 8}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_fails_comes_again_before_what_is_behind_it)
{
    taking from({.groups = 1});
    auto const got = from.take(3, 0);
    BOOST_CHECK(from.remove(got[0]) == fate::done);
    BOOST_CHECK(from.queue.change(got[2].handle, 0, 0) == fate::done);
    BOOST_CHECK(from.queue.change(got[1].handle, 0, 0) == fate::done);
    BOOST_TEST(from.numbers(4, 0) == (numbers{1, 2, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
