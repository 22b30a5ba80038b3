#include <quern/net/detail/body_budget.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using quern::net::detail::body_budget;
using share = body_budget::share;

namespace {

constexpr std::size_t kibibyte = 1024;

} // namespace

BOOST_AUTO_TEST_SUITE(body_budget_)

BOOST_AUTO_TEST_CASE(nobody_waits_while_there_is_room)
{
    body_budget budget(1000 * kibibyte);
    share a, b;
    budget.hold(a, 500 * kibibyte);
    budget.hold(b, 500 * kibibyte);
    BOOST_TEST(!budget.crowded(a));
    BOOST_TEST(!budget.crowded(b));
    BOOST_TEST(budget.total() == 1000 * kibibyte);
}

BOOST_AUTO_TEST_CASE(beyond_it_all_wait_but_the_oldest_and_those_that_hold_next_to_nothing)
{
    body_budget budget(1000 * kibibyte);
    share tiny, old, large, young;
    budget.hold(tiny, 1 * kibibyte);
    budget.hold(old, 1 * kibibyte);
    budget.hold(large, 800 * kibibyte);
    budget.hold(young, 100 * kibibyte);
    budget.hold(old, 300 * kibibyte); // its body began before the others
    BOOST_TEST(budget.oldest() == &old);
    BOOST_TEST(!budget.crowded(old));
    BOOST_TEST(!budget.crowded(tiny));
    BOOST_TEST(budget.crowded(large));
    BOOST_TEST(budget.crowded(young));

    BOOST_TEST(budget.hold(old, 0));
    BOOST_TEST(budget.oldest() == &large);
    BOOST_TEST(!budget.crowded(young)); // there is room again
    BOOST_TEST(budget.total() == 901 * kibibyte);
}

// Each small request that went woke all that waited for room.
BOOST_AUTO_TEST_CASE(who_has_room_is_woken)
{
    body_budget budget(1000 * kibibyte);
    share small, stalled, huge;
    std::vector<share const*> woken;
    auto const look = [&] {
        woken.clear();
        budget.each_with_room([&](share const& one) { woken.push_back(&one); });
        return woken.size();
    };
    budget.hold(stalled, 20 * kibibyte);
    budget.hold(huge, 900 * kibibyte);
    budget.hold(small, 300 * kibibyte);
    BOOST_TEST(look() == 1u);
    BOOST_TEST(woken.front() == &stalled); // the oldest
    budget.hold(small, 240 * kibibyte);
    BOOST_TEST(look() == 1u);
    budget.hold(small, 200 * kibibyte); // what others hold is a quarter
    BOOST_TEST(look() == 2u);
    BOOST_TEST(woken.back() == &huge);
    budget.hold(small, 0);
    BOOST_TEST(look() == 2u);
}

BOOST_AUTO_TEST_CASE(the_next_body_of_a_connection_is_young_again)
{
    body_budget budget(1000 * kibibyte);
    share a, b;
    budget.hold(a, 20 * kibibyte);
    budget.hold(b, 20 * kibibyte);
    BOOST_TEST(budget.oldest() == &a);
    budget.hold(a, 0);
    budget.hold(a, 20 * kibibyte);
    BOOST_TEST(budget.oldest() == &b);
}

BOOST_AUTO_TEST_CASE(one_that_holds_most_of_it_by_itself_goes_on)
{
    body_budget budget(1000 * kibibyte);
    share small, large;
    budget.hold(small, 200 * kibibyte);
    budget.hold(large, 6000 * kibibyte);
    BOOST_TEST(!budget.crowded(large)); // others hold less than a quarter of the budget
    budget.hold(small, 300 * kibibyte);
    BOOST_TEST(budget.crowded(large));
}

BOOST_AUTO_TEST_SUITE_END()
