#include <quern/consumer/detail/conclude/fifo_groups.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/test/unit_test.hpp>

#include <deque>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;
using head = fifo_groups::head;

namespace {

struct groups {
    sim::virtual_clock time;
    std::deque<std::string> texts;
    fifo_groups rule;

    held_ptr message(char const* group, int sequence)
    {
        sqs::message m;
        m.id = m.receipt_handle = texts.emplace_back(group + std::to_string(sequence));
        m.system_attributes.push_back({"MessageGroupId", group});
        m.system_attributes.push_back({"SequenceNumber", texts.emplace_back(std::to_string(sequence))});
        return make_held(m, nullptr, time, time.now());
    }
    held_ptr add(char const* group, int sequence)
    {
        auto out = message(group, sequence);
        rule.add(out);
        return out;
    }

    static std::string names(std::vector<held_ptr> const& list)
    {
        std::string out;
        for (auto const& h : list)
            out.append(out.empty() ? "" : " ").append(h->message.id());
        return out;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fifo_groups_rule, groups)

BOOST_AUTO_TEST_CASE(one_message_of_a_group_runs_and_groups_run_side_by_side)
{
    auto const a1 = add("a", 1);
    add("a", 2);
    add("b", 3);
    BOOST_TEST(names(rule.runnable()) == "a1 b3");
    BOOST_TEST(names(rule.runnable()) == "");
    add("a", 4);
    BOOST_TEST(names(rule.runnable()) == "");
    rule.leave(*a1);
    BOOST_TEST(names(rule.runnable()) == "a2");
}

BOOST_AUTO_TEST_CASE(only_the_first_of_a_group_is_no_tail)
{
    BOOST_TEST(rule.tails() == 0u);
    auto const a1 = add("a", 1);
    add("a", 2);
    add("a", 3);
    auto const b4 = add("b", 4);
    BOOST_TEST(rule.tails() == 2u);
    rule.runnable();
    rule.leave(*b4);
    BOOST_TEST(rule.tails() == 2u);
    rule.leave(*a1);
    BOOST_TEST(rule.tails() == 1u); // the second is the first now
    rule.take_waiting();
    BOOST_TEST(rule.tails() == 0u);
}

BOOST_AUTO_TEST_CASE(the_order_is_that_of_sending_not_of_arrival)
{
    add("a", 9);
    auto const before = add("a", 8); // nobody runs yet
    BOOST_TEST(names(rule.runnable()) == "a8");
    add("a", 10);
    add("a", 7); // too late for the one that runs
    rule.leave(*before);
    BOOST_TEST(names(rule.runnable()) == "a7");
}

BOOST_AUTO_TEST_CASE(behind_a_failed_head_the_group_is_given_back)
{
    auto const a1 = add("a", 1);
    add("a", 2);
    add("a", 3);
    add("b", 4);
    rule.runnable();
    BOOST_TEST(names(rule.take_tail(*a1)) == "a2 a3");
    rule.leave(*a1);
    BOOST_TEST(names(rule.runnable()) == "");
    add("a", 1); // comes again
    add("a", 2);
    BOOST_TEST(names(rule.runnable()) == "a1");
}

BOOST_AUTO_TEST_CASE(those_behind_a_failed_head_wait_for_it)
{
    auto const a1 = add("a", 1);
    add("a", 2);
    rule.runnable();
    rule.await(*a1, time.now() + 5s, head::returns);
    BOOST_TEST(rule.wake_at() == time.now() + 5s);
    BOOST_TEST(names(rule.runnable()) == "");
    add("a", 3); // of another receive
    BOOST_TEST(names(rule.runnable()) == "");
    auto const again = add("a", 1);
    BOOST_TEST(names(rule.runnable()) == "a1");
    BOOST_TEST(names(rule.take_forsaken(time.now() + 5s)) == "");
    rule.leave(*again);
    BOOST_TEST(names(rule.runnable()) == "a2");
}

BOOST_AUTO_TEST_CASE(a_head_that_does_not_come_back_is_not_waited_for)
{
    auto const a1 = add("a", 1);
    add("a", 2);
    add("a", 3);
    rule.runnable();
    rule.await(*a1, time.now() + 5s, head::returns);
    BOOST_TEST(names(rule.take_forsaken(time.now() + 4s)) == "");
    BOOST_TEST(names(rule.take_forsaken(time.now() + 5s)) == "a2 a3");
    BOOST_TEST(!rule.wake_at());
    add("a", 2); // once more, from the queue
    BOOST_TEST(names(rule.runnable()) == "a2");
}

// They were given back, and each try of a head cost them a receive: it took those behind it along.
BOOST_AUTO_TEST_CASE(behind_a_head_that_dies_its_group_goes_on)
{
    auto const a1 = add("a", 1);
    add("a", 2);
    add("a", 3);
    rule.runnable();
    rule.await(*a1, time.now() + 5s, head::dies);
    BOOST_TEST(names(rule.take_forsaken(time.now() + 4s)) == "");
    BOOST_TEST(names(rule.runnable()) == "");
    BOOST_TEST(names(rule.take_forsaken(time.now() + 5s)) == "");
    BOOST_TEST(!rule.wake_at());
    BOOST_TEST(names(rule.runnable()) == "a2");
}

BOOST_AUTO_TEST_CASE(a_head_with_nobody_behind_it_is_not_waited_for)
{
    auto const a1 = add("a", 1);
    rule.runnable();
    rule.await(*a1, time.now() + 5s, head::returns);
    add("a", 2); // after another consumer was done with the first
    BOOST_TEST(names(rule.runnable()) == "a2");
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_head_may_lose_its_lease_or_be_drained)
{
    auto const a1 = add("a", 1), a2 = add("a", 2);
    add("a", 3);
    rule.runnable();
    rule.await(*a1, time.now() + 5s, head::returns);
    BOOST_TEST(names(rule.take_tail(*a2)) == "a3");
    add("a", 4);
    rule.leave(*a2);
    BOOST_TEST(names(rule.runnable()) == "");
    BOOST_TEST(names(rule.take_waiting()) == "a4");
    BOOST_TEST(names(rule.take_forsaken(time.now() + 5s)) == "");
}

BOOST_AUTO_TEST_CASE(only_a_head_is_waited_for)
{
    auto const stranger = message("a", 1);
    add("a", 2);
    rule.await(*stranger, time.now() + 5s, head::returns);
    BOOST_TEST(names(rule.runnable()) == "a2");
    BOOST_TEST(names(rule.take_forsaken(time.now() + 5s)) == "");
}

BOOST_AUTO_TEST_CASE(a_lease_lost_in_line_takes_away_only_what_stands_behind)
{
    auto const a1 = add("a", 1), a2 = add("a", 2);
    add("a", 3);
    rule.runnable();
    BOOST_TEST(names(rule.take_tail(*a2)) == "a3");
    rule.leave(*a2);
    BOOST_TEST(names(rule.runnable()) == "");
    rule.leave(*a1);
    BOOST_TEST(names(rule.runnable()) == "");
}

BOOST_AUTO_TEST_CASE(leaving_twice_starts_nobody_twice)
{
    auto const a1 = add("a", 1), a2 = add("a", 2);
    rule.runnable();
    rule.leave(*a1);
    BOOST_TEST(names(rule.runnable()) == "a2");
    rule.leave(*a1);
    BOOST_TEST(names(rule.runnable()) == "");
    BOOST_TEST(names(rule.take_tail(*a1)) == "");
    rule.leave(*a2);
    rule.leave(*a2);
}

BOOST_AUTO_TEST_CASE(what_does_not_run_is_taken_away_at_once_by_a_drain)
{
    auto const a1 = add("a", 1);
    add("a", 2);
    rule.runnable();
    add("b", 3);
    auto const waiting = rule.take_waiting();
    BOOST_TEST(waiting.size() == 2u);
    BOOST_TEST(names(rule.runnable()) == "");
    rule.leave(*a1);
    BOOST_TEST(names(rule.runnable()) == "");
}

BOOST_AUTO_TEST_SUITE_END()
