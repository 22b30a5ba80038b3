#include "quern/redrive/copy_check.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern::app;

BOOST_AUTO_TEST_SUITE(copy_checks)

BOOST_AUTO_TEST_CASE(a_copy_is_complete_when_it_has_all_that_the_queue_counted_before_and_after)
{
    copy_of_queue c;
    c.queue = "dead";
    BOOST_TEST(what_is_missing(c) == ""); // an empty queue
    c.copied = 300;
    c.before = c.after = c.in_flight_after = 300;
    BOOST_TEST(what_is_missing(c) == "");
    c.before = c.after = c.in_flight_after = 290; // an old count
    BOOST_TEST(what_is_missing(c) == "");
    c.interrupted = true;
    BOOST_TEST(what_is_missing(c) == "a signal ended it early: begin again");
    c.interrupted = false;
    c.damaged = 2;
    BOOST_TEST(what_is_missing(c) == "2 arrived damaged: begin again");
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_told_with_where_it_is_and_what_to_do)
{
    copy_of_queue c;
    c.queue = "dead";
    c.copied = 290;
    c.before = 300;
    c.after = 303;
    c.in_flight_after = 300;
    c.delayed_after = 2;
    BOOST_TEST(what_is_missing(c) ==
        "missing: 13 (10 in flight elsewhere, 2 delayed, 1 not given out, or gone: the counts may be a minute old): "
        "begin again when they can be received; `quern queue attributes dead` shows the counts");
    c.after = c.in_flight_after = 0; // nobody knows who has them
    c.delayed_after = 0;
    BOOST_TEST(what_is_missing(c).starts_with("missing: 10 (10 not given out"));
    c.queue = "dead.fifo";
    BOOST_TEST(what_is_missing(c) ==
        "missing: 10 (10 behind others of their group): a FIFO queue gives out only the first messages of each "
        "group; "
        "`quern queue attributes dead.fifo` shows the counts");
}

BOOST_AUTO_TEST_SUITE_END()
