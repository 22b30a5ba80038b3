#include <quern/idempotency/detail/batch_order.hpp>

#include <boost/test/unit_test.hpp>

using quern::idempotency::detail::batch_order;
using numbers = std::vector<std::size_t>;

namespace {

void test_list(numbers const& found, numbers const& wanted)
{
    BOOST_TEST(found == wanted, boost::test_tools::per_element());
}

} // namespace

BOOST_AUTO_TEST_SUITE(the_order_within_a_batch)

BOOST_AUTO_TEST_CASE(runs_together_what_is_claimed_once_nobody_asks_any_more)
{
    batch_order o(3);
    for (std::size_t i = 0; i < 3; ++i)
        BOOST_TEST(o.lines_up(i, std::to_string(i)));
    o.is_ready(2);
    o.is_ready(0);
    test_list(o.begin_round(), {});
    o.end(1); // a duplicate
    test_list(o.begin_round(), {0, 2});
    test_list(o.begin_round(), {});
    o.end_round();
    o.end(0);
    BOOST_TEST(!o.is_over());
    o.end(2);
    BOOST_TEST(o.is_over());
}

BOOST_AUTO_TEST_CASE(lets_of_several_with_one_key_each_ask_when_the_one_before_has_ended)
{
    batch_order o(4);
    BOOST_TEST(o.lines_up(0, "a"));
    BOOST_TEST(!o.lines_up(1, "a"));
    BOOST_TEST(o.lines_up(2, "b"));
    BOOST_TEST(!o.lines_up(3, "a"));
    o.is_ready(0);
    o.is_ready(2);
    test_list(o.begin_round(), {0, 2});
    o.end_round();
    BOOST_TEST(!o.end(2).has_value());
    BOOST_TEST(o.end(0).value() == 1u);
    o.is_ready(1); // the first has failed, say
    test_list(o.begin_round(), {1});
    o.end_round();
    BOOST_TEST(o.end(1).value() == 3u);
    BOOST_TEST(!o.end(3).has_value());
    BOOST_TEST(o.is_over());
}

BOOST_AUTO_TEST_CASE(lets_one_ask_at_once_when_the_one_before_has_ended_already)
{
    batch_order o(2);
    BOOST_TEST(o.lines_up(0, "a"));
    o.end(0);
    BOOST_TEST(o.lines_up(1, "a"));
}

BOOST_AUTO_TEST_CASE(wakes_nobody_who_has_gone_away)
{
    batch_order o(2);
    o.lines_up(0, "a");
    o.lines_up(1, "a");
    o.end(1); // cancelled
    BOOST_TEST(!o.end(0).has_value());
    BOOST_TEST(o.is_over());
}

BOOST_AUTO_TEST_CASE(waits_for_nobody_who_waits_for_somebody_else)
{
    batch_order o(2);
    o.lines_up(0, "a");
    o.lines_up(1, "b");
    o.is_ready(0);
    o.waits(1);
    test_list(o.begin_round(), {0});
    o.is_ready(1); // its turn, while the first runs
    test_list(o.begin_round(), {});
    o.end_round();
    test_list(o.begin_round(), {1});
}

BOOST_AUTO_TEST_CASE(lets_them_wait_as_long_as_nobody_is_done_or_somebody_is_at_work)
{
    batch_order o(3);
    o.lines_up(0, "a");
    o.lines_up(1, "b");
    o.lines_up(2, "c");
    o.is_ready(0);
    BOOST_TEST(o.may_wait(1)); // 0 and 2 are at work
    o.waits(1);
    o.waits(2);
    o.begin_round();
    o.end_round();
    BOOST_TEST(o.may_wait(2));
    test_list(o.overstaying(), {});
    o.end(0);
    BOOST_TEST(!o.may_wait(1));
    BOOST_TEST(!o.may_wait(2));
    test_list(o.overstaying(), {1, 2});
    test_list(o.overstaying(), {}); // once each: one on its last receive waits all the same

    batch_order all_wait(2);
    all_wait.lines_up(0, "a");
    all_wait.lines_up(1, "b");
    all_wait.waits(0);
    BOOST_TEST(all_wait.may_wait(1));
    all_wait.waits(1);
    BOOST_TEST(all_wait.may_wait(0)); // they keep nobody
    all_wait.end(0);
    BOOST_TEST(!all_wait.may_wait(1));
    test_list(all_wait.overstaying(), {1});
}

BOOST_AUTO_TEST_CASE(does_not_count_whoever_asks_whether_it_may_wait)
{
    batch_order o(2);
    o.lines_up(0, "a");
    o.end(0);
    o.lines_up(1, "b");
    BOOST_TEST(!o.may_wait(1));
}

BOOST_AUTO_TEST_SUITE_END()
