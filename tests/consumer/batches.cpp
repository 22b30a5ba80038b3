#include <quern/consumer/detail/run/batches.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

struct gathering {
    sim::virtual_clock time;
    tick const t0 = time.now();
    batches rule{3, 0, 100ms};

    held_ptr add(tick at, std::string_view body = {})
    {
        sqs::message m;
        m.body = body;
        auto out = make_held(m, nullptr, time, at);
        out->life.on(message_life::event::gather);
        rule.add(out, at);
        return out;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(batches_rule, gathering)

BOOST_AUTO_TEST_CASE(a_full_batch_goes_at_once_and_the_rest_waits_for_company)
{
    for (int i = 0; i < 7; ++i)
        add(t0);
    BOOST_TEST(rule.take(t0).size() == 3u);
    BOOST_TEST(rule.take(t0).size() == 3u);
    BOOST_TEST(rule.take(t0).empty());
    BOOST_TEST(rule.wake_at() == t0 + 100ms);
    add(t0 + 50ms);
    BOOST_TEST(rule.take(t0 + 99ms).empty());
    BOOST_TEST(rule.take(t0 + 100ms).size() == 2u);
    BOOST_TEST(!rule.wake_at());
}

BOOST_AUTO_TEST_CASE(bodies_fill_a_batch_as_messages_do)
{
    rule = batches(3, 10, 100ms);
    add(t0, "12345");
    add(t0, "1234");
    BOOST_TEST(rule.take(t0).empty()); // a byte more would fit
    add(t0, "12");
    BOOST_TEST(rule.take(t0).size() == 2u);
    BOOST_TEST(rule.take(t0).empty());
    add(t0, "far too long by itself");
    BOOST_TEST(rule.take(t0).size() == 1u); // what stands before it
    BOOST_TEST(rule.take(t0).size() == 1u);
    BOOST_TEST(rule.take(t0 + 1h).empty());
}

BOOST_AUTO_TEST_CASE(who_is_taken_away_leaves_room_for_bytes)
{
    rule = batches(3, 10, 100ms);
    add(t0, "12345678");
    BOOST_TEST(rule.take_waiting().size() == 1u);
    add(t0, "12345678");
    BOOST_TEST(rule.take(t0).empty());
    auto const lost = add(t0, "12");
    lost->life.on(message_life::event::lease_lost);
    BOOST_TEST(rule.take_lost().size() == 1u);
    BOOST_TEST(rule.take(t0).empty());
    BOOST_TEST(rule.take(t0 + 100ms).size() == 1u);
}

BOOST_AUTO_TEST_CASE(without_a_window_nothing_waits)
{
    batches eager(3, 0, 0ms);
    auto const only = make_held(sqs::message(), nullptr, time, t0);
    only->life.on(message_life::event::gather);
    eager.add(only, t0);
    BOOST_TEST(eager.take(t0).size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_has_lost_its_lease_is_not_in_the_batch)
{
    auto const lost = add(t0);
    auto const second = add(t0 + 10ms);
    add(t0 + 10ms);
    lost->life.on(message_life::event::lease_lost);
    BOOST_TEST(rule.take_lost() == std::vector{lost});
    BOOST_TEST(rule.take(t0 + 100ms).empty()); // those that are left came later
    auto const got = rule.take(t0 + 110ms);
    BOOST_TEST(got.size() == 2u);
    BOOST_TEST(got.at(0) == second);
}

BOOST_AUTO_TEST_CASE(a_drain_takes_away_what_waits)
{
    add(t0);
    add(t0)->life.on(message_life::event::lease_lost);
    BOOST_TEST(rule.take_lost().size() == 1u);
    BOOST_TEST(rule.take_waiting().size() == 1u);
    BOOST_TEST(!rule.wake_at());
    BOOST_TEST(rule.take(t0 + 1h).empty());
}

BOOST_AUTO_TEST_CASE(who_is_in_a_hurry_takes_along_what_is_there)
{
    auto const first = add(t0);
    auto const hurries = make_held(sqs::message(), nullptr, time, t0);
    rule.add(hurries, t0 + 10ms, true);
    BOOST_TEST(rule.wake_at() == t0 + 10ms);
    auto const batch = rule.take(t0 + 10ms);
    BOOST_REQUIRE(batch.size() == 2u);
    BOOST_TEST(batch[0] == first);
}

BOOST_AUTO_TEST_CASE(some_may_be_taken_away_while_the_others_wait_on)
{
    auto const first = add(t0), second = add(t0);
    auto const taken = rule.take_if([&](held const& h) { return &h == first.get(); });
    BOOST_REQUIRE(taken.size() == 1u);
    BOOST_TEST(taken[0] == first);
    BOOST_TEST(rule.take(t0 + 100ms).size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
