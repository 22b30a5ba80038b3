#include "producer/sending.hpp"

#include <memory>
#include <set>

using namespace quern;
using namespace quern::test;
using namespace quern::detail;

BOOST_FIXTURE_TEST_SUITE(send_queue_rule, sending)

BOOST_AUTO_TEST_CASE(a_lone_message_goes_at_once)
{
    add("a", t0);
    BOOST_TEST(bodies(queue().take(t0)) == texts{"a"}, boost::test_tools::per_element());
    BOOST_TEST(queue().take(t0).empty());
    BOOST_TEST(!queue().empty());
}

BOOST_AUTO_TEST_CASE(while_a_request_is_under_way_others_gather_until_it_returns)
{
    add("a", t0);
    auto const first = queue().take(t0);
    add("b", t0 + 1ms);
    add("c", t0 + 2ms);
    BOOST_TEST(queue().take(t0 + 5ms).empty());
    confirm(first, t0 + 5ms);
    BOOST_TEST(bodies(queue().take(t0 + 5ms)) == (texts{"b", "c"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(or_until_the_oldest_has_lingered)
{
    add("a", t0);
    queue().take(t0);
    add("b", t0 + 1ms);
    add("c", t0 + 9ms);
    BOOST_TEST(queue().take(t0 + 10ms).empty());
    BOOST_TEST(queue().wake_at() == t0 + 11ms);
    BOOST_TEST(queue().take(t0 + 11ms).size() == 2u);
}

BOOST_AUTO_TEST_CASE(or_until_they_fill_a_request)
{
    add("a", t0);
    queue().take(t0);
    add_many(25, t0);
    BOOST_TEST(queue().take(t0).size() == 10u);
    BOOST_TEST(queue().take(t0).size() == 10u);
    BOOST_TEST(queue().take(t0).empty());
}

BOOST_AUTO_TEST_CASE(or_until_somebody_is_in_a_hurry)
{
    add("a", t0);
    queue().take(t0);
    add("b", t0);
    queue().hurry();
    BOOST_TEST(queue().take(t0).size() == 1u);
    add("c", t0);
    BOOST_TEST(queue().take(t0).empty());
}

BOOST_AUTO_TEST_CASE(a_request_has_at_most_one_mebibyte_of_bodies_and_attributes)
{
    add("a", t0);
    queue().take(t0);
    auto const half = std::string(sqs::max_message_bytes / 2, 'x');
    add(half, t0);
    auto const second = std::make_shared<outgoing>(sqs::send_message_entry(half));
    second->entry.attributes["n"] = {"String", "v"};
    queue().add(second, t0);
    add("small", t0);
    BOOST_TEST(queue().take(t0).size() == 1u); // full: the second does not fit
    BOOST_TEST(queue().take(t0).empty());
    BOOST_TEST(queue().take(t0 + 10ms).size() == 2u);
}

BOOST_AUTO_TEST_CASE(no_more_requests_are_under_way_than_allowed)
{
    options.max_calls = 2;
    add_many(30, t0);
    auto const first = queue().take(t0);
    BOOST_TEST(queue().take(t0).size() == 10u);
    BOOST_TEST(queue().take(t0 + 1s).empty());
    BOOST_TEST(queue().wake_at() == t0 + options.give_up_after); // nothing to do before
    confirm(first, t0 + 1s);
    BOOST_TEST(queue().take(t0 + 1s).size() == 10u);
}

BOOST_AUTO_TEST_CASE(what_failed_comes_back_alone_after_a_growing_pause)
{
    add("a", t0);
    add("b", t0);
    auto const both = queue().take(t0);
    BOOST_TEST(queue().answered(both[0], false, t0));
    BOOST_TEST(!queue().answered(both[1], true, t0));
    returned(both, t0);
    BOOST_TEST(queue().take(t0 + 99ms).empty());
    BOOST_TEST(queue().wake_at() == t0 + 100ms);
    auto const again = queue().take(t0 + 100ms);
    BOOST_TEST(bodies(again) == texts{"b"}, boost::test_tools::per_element());
    fail(again, t0 + 100ms);
    BOOST_TEST(queue().take(t0 + 299ms).empty());
    BOOST_TEST(queue().take(t0 + 300ms).size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_failed_together_comes_back_together_after_a_pause_drawn_anew_for_each_request)
{
    options.backoff = options.backoff.with(policy::jitter::half);
    std::set<tick::duration> pauses;
    auto now = t0;
    for (int i = 0; i < 20; ++i) {
        add_many(10, now);
        fail(queue().take(now), now);
        auto const at = queue().wake_at().value();
        pauses.insert(at - now);
        BOOST_TEST(at >= now + 50ms);
        BOOST_TEST(at <= now + 100ms);
        auto const again = queue().take(at);
        BOOST_TEST(again.size() == 10u);
        confirm(again, at);
        now = at + 1s;
    }
    BOOST_TEST(pauses.size() > 10u);
}

BOOST_AUTO_TEST_CASE(a_failure_is_final_after_the_last_attempt)
{
    options.max_attempts = 2;
    add("a", t0);
    fail(queue().take(t0), t0);
    confirm(queue().take(t0 + 1s), t0 + 1s); // done, though trying again might help
    BOOST_TEST(queue().empty());

    options.max_attempts = 1;
    made.reset();
    add("b", t0);
    BOOST_TEST(queue().answered(queue().take(t0)[0], true, t0));
    BOOST_TEST(queue().empty());
}

BOOST_AUTO_TEST_CASE(a_failure_is_final_when_no_time_is_left_for_another_attempt)
{
    options.give_up_after = 1s;
    auto const message = add("a", t0);
    queue().take(t0);
    BOOST_TEST(queue().answered(message, true, t0 + 900ms)); // 100 ms later it would be over
    BOOST_TEST(queue().empty());
}

BOOST_AUTO_TEST_CASE(what_waits_too_long_expires_but_not_what_is_under_way)
{
    options.max_calls = 1;
    options.max_buffered = 2;
    auto const under_way = add("a", t0);
    queue().take(t0);
    add("b", t0);
    add("c", t0); // no room
    BOOST_TEST(queue().expired(t0 + 59'999ms).empty());
    BOOST_TEST(bodies(queue().under_way()) == texts{"a"}, boost::test_tools::per_element());
    BOOST_TEST(queue().expired(t0 + 60s).size() == 2u);
    BOOST_TEST(queue().answered(under_way, false, t0 + 61s));
    BOOST_TEST(queue().empty());
}

BOOST_AUTO_TEST_CASE(the_buffer_holds_no_more_messages_than_allowed)
{
    options.max_buffered = 3;
    add_many(5, t0);
    auto const first = queue().take(t0);
    BOOST_TEST(first.size() == 3u);
    BOOST_TEST(queue().take(t0 + 1s).empty());
    BOOST_TEST(queue().answered(first[0], false, t0 + 1s)); // room for one
    auto const next = queue().take(t0 + 2s);
    BOOST_TEST(bodies(next) == texts{"m3"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_buffer_holds_no_more_bytes_than_allowed_unless_a_message_is_alone)
{
    options.max_buffered_bytes = 10;
    add("12345678", t0);
    add("123", t0);
    add("1", t0); // would fit, but has to wait its turn
    auto first = queue().take(t0);
    BOOST_TEST(first.size() == 1u);
    confirm(first, t0);
    auto second = queue().take(t0);
    BOOST_TEST(second.size() == 2u);
    confirm(second, t0);
    add("longer than it may be", t0);
    add("x", t0);
    BOOST_TEST(queue().take(t0).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_message_is_withdrawn_wherever_it_waits)
{
    options.max_calls = 1;
    options.max_buffered = 3;
    auto const under_way = add("a", t0);
    auto const sent = queue().take(t0);
    auto const ready = add("b", t0), other = add("c", t0), outside = add("d", t0);
    queue().withdraw(ready, t0);
    queue().withdraw(outside, t0);
    queue().withdraw(under_way, t0);
    BOOST_TEST(queue().answered(under_way, true, t0)); // nobody wants it any more: not tried again
    returned(sent, t0);
    auto const rest = queue().take(t0);
    BOOST_TEST(bodies(rest) == texts{"c"}, boost::test_tools::per_element());
    fail(rest, t0);
    queue().withdraw(other, t0); // waits for another try
    BOOST_TEST(queue().empty());
    BOOST_TEST(!queue().wake_at().has_value());
}

BOOST_AUTO_TEST_CASE(a_mark_is_passed_when_all_before_it_are_done)
{
    add("a", t0);
    auto const first = queue().take(t0);
    auto const mark = queue().mark();
    auto const later = add("b", t0);
    BOOST_TEST(!queue().passed(mark));
    confirm(first, t0);
    BOOST_TEST(queue().passed(mark));
    BOOST_TEST(!queue().passed(queue().mark()));
}

BOOST_AUTO_TEST_CASE(once_stopped_nothing_is_tried_again)
{
    auto const a = add("a", t0);
    queue().take(t0);
    add("b", t0);
    BOOST_TEST(bodies(queue().stop(t0)).size() == 1u);
    BOOST_TEST(queue().answered(a, true, t0));
    BOOST_TEST(queue().empty());
}

BOOST_AUTO_TEST_SUITE_END()
