#include <quern/consumer/detail/run/call_limit.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace quern::detail;

BOOST_AUTO_TEST_SUITE(call_limit_rule)

BOOST_AUTO_TEST_CASE(no_limit_admits_everybody)
{
    call_limit const rule(0, 10);
    BOOST_TEST(rule.admits(1'000'000));
    BOOST_TEST(rule.room(1'000'000, 1'000'000) == std::numeric_limits<std::size_t>::max());
}

BOOST_AUTO_TEST_CASE(who_may_begin_and_how_many_more_are_worth_receiving)
{
    constexpr std::size_t each = 5;
    struct {
        std::size_t most, messages; // of a call
        std::size_t calls, waiting; // under way
        bool admits;
        std::size_t room;
        double rounds = 0;
    } const cases[] = {
        {1, 1, 0, 0, true, 11},      // one to run, ten to wait
        {1, 1, 1, 0, false, 10},     // while it runs the next ten are fetched,
        {1, 1, 1, 1, false, 0},      // not one after the other
        {20, 1, 0, 0, true, 40},     // as many wait as run
        {20, 1, 20, 10, false, 10},  //
        {20, 1, 20, 11, false, 0},   //
        {20, 1, 10, 20, true, 10},   //
        {4, each, 0, 0, true, 40},   // batches count with all that they take
        {4, each, 4, 10, false, 10}, //
        {4, each, 4, 11, false, 0},  //
        {4, 1, 9, 0, false, 10},     // lowered below what runs
        {4, 1, 9, 1'000, false, 0},  // and below what waits
        // What ends while a receive is under way must wait here, lest the calls stand still until it has come.
        {1, 1, 1, 0, false, 10, 0.9}, // not one of them
        {4, 1, 4, 0, false, 18, 2}, {4, 1, 4, 8, false, 10, 2}, {4, 1, 4, 9, false, 0, 2},
        {20, 1, 20, 0, false, 20, 0.4}, // as many as run wait in any case
        {20, 1, 20, 0, false, 60, 2.5}, {4, each, 4, 0, false, 50, 2},
        {1, 1, 1, 0, false, 110, 1e18}, // of a call that takes no time
    };
    for (auto const& c : cases) {
        call_limit const rule(c.most, c.messages);
        BOOST_TEST_CONTEXT(
            c.most << " calls of " << c.messages << ", " << c.calls << " run, " << c.waiting << " wait")
        {
            BOOST_TEST(rule.admits(c.calls) == c.admits);
            BOOST_TEST(rule.room(c.calls, c.waiting, c.rounds) == c.room);
        }
    }
}

// However a batch gathers, it must not wait for messages that nobody asks for.
BOOST_AUTO_TEST_CASE(there_is_room_as_long_as_no_batch_is_full)
{
    for (std::size_t const most : {1, 2, 7, 100}) {
        for (std::size_t const messages : {1, 2, 9, 10, 11, 50}) {
            call_limit const rule(most, messages);
            BOOST_TEST(rule.room(0, messages - 1) != 0u, most << " calls of " << messages);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
