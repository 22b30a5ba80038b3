// What the witness says of drains.

#include "book.hpp"

using namespace quern;
using namespace quern::test;

BOOST_AUTO_TEST_SUITE(the_witness)

BOOST_AUTO_TEST_CASE(wants_a_drain_to_end_in_time)
{
    book good, late, never;
    for (auto* b : {&good, &late, &never}) {
        b->books.stops(0, 5s);
        b->pass(b == &late ? 5001ms : 5000ms);
        if (b != &never) b->books.drained(0, {}, true);
    }
    good.expect_nothing();
    late.expect("drains for longer than it may");
    never.books.finished(true, {1, 2});
    never.expect("does not end its drain");
}

// everything, seed 1129 of its day: told to stop as it started, it stood still before it had its first turn.
BOOST_AUTO_TEST_CASE(counts_the_limit_of_a_drain_from_when_the_process_could_hear_of_it)
{
    book unheard, heard, late;
    for (auto* b : {&unheard, &heard, &late}) {
        b->books.stops(0, 5s);
        if (b == &heard) b->books.hears(0);
        b->books.sleeps(0);
        b->pass(1min);
        b->books.woke(0);
        b->books.hears(0);
        b->pass(b == &unheard ? 5000ms : b == &late ? 5001ms : 1ms);
        b->books.drained(0, {}, false);
    }
    unheard.expect_nothing();
    heard.expect("drains for longer than it may");
    late.expect("drains for longer than it may");
}

BOOST_AUTO_TEST_CASE(wants_a_drain_to_own_up_to_what_it_leaves)
{
    book good, bad;
    for (auto* b : {&good, &bad}) {
        b->receive(0, 1, 1);
        b->pass(1s);
        drain_report said;
        said.lost = 1; // another, and no excuse
        if (b == &good) said.stranded = 1;
        b->books.drained(0, said, false);
    }
    good.expect_nothing();
    bad.expect("leaves 1 messages hidden");
}

BOOST_AUTO_TEST_CASE(excuses_in_a_drain_what_came_at_its_last_moment_to_a_receive_that_it_owns_up_to)
{
    book good, bad;
    for (auto* b : {&good, &bad}) {
        b->receive(0, 1, 1);
        drain_report said;
        said.polls = b == &good ? 1 : 0;
        b->books.drained(0, said, false);
    }
    good.expect_nothing();
    bad.expect("leaves 1 messages hidden");
}

BOOST_AUTO_TEST_SUITE_END()
