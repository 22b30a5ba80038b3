// Thirty days: a message that fails and waits again, restarts all the way, clocks that are set.

#include "redrive/waiting_yard.hpp"

using namespace quern;
using namespace quern::test;

namespace {

struct month : waiting_yard {
    month() { keep(dead, 24h * 14); } // as long as SQS keeps anything

    /// A run of its own journal, ended and begun again so many times on its way.
    redrive::report run_with_restarts(int restarts, std::chrono::milliseconds each)
    {
        disk.text.clear();
        for (int i = 0; i < restarts; ++i) {
            auto const before = reports.size();
            auto& one = start();
            time.run_for(io, each);
            one.stop();
            BOOST_REQUIRE(until(2min, [&] { return reports.size() > before; }));
            BOOST_TEST(reports.back().redriven == 0u);
            time.run_for(io, 30min); // and nobody is there
        }
        start();
        return finish(24h * 11, reports.size() + 1);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(redriver_month, month)

BOOST_AUTO_TEST_CASE(three_attempts_of_ten_days_each_take_thirty_over_forty_restarts_and_sixty_leases)
{
    options.plan.delay_base = options.plan.delay_max = 24h * 10;
    sqs::send_message_request m(orders, "b\xC3\xA4 \t<&>");
    m.attributes = {{"n", {"Number", "-1.50"}}, {"b", {"Binary.png", std::string("\0\xFF", 2)}}};
    send(orders, m);
    fail_all(orders);
    auto const began = time.now();
    std::string first_received;
    for (int attempt = 1; attempt <= 3; ++attempt) {
        auto const got = run_with_restarts(attempt == 3 ? 14 : 13, 15h);
        BOOST_TEST(got.redriven == 1u);
        BOOST_TEST(got.maybe_twice == 0u);
        BOOST_TEST(time.now() - began >= 24h * 10 * attempt);
        BOOST_TEST(time.now() - began < 24h * 10 * attempt + attempt * 10min);
        BOOST_TEST(all(orders) == 1);
        if (attempt == 3) break;
        fail_all(orders); // not mended yet
        BOOST_TEST(all(dead) == 1);
    }
    auto const there = take(orders);
    BOOST_REQUIRE(there.size() == 1u);
    auto attributes = there[0].attributes;
    BOOST_TEST(attributes.at("x-redrive-attempt").value == "3");
    auto const first = redrive::parse_moment(attributes.at("x-original-first-receive-timestamp").value, time.wall());
    BOOST_TEST((time.wall() - first.value() >= 24h * 30)); // it goes back to the very first
    attributes.erase("x-redrive-attempt");
    attributes.erase("x-original-first-receive-timestamp");
    BOOST_TEST(attributes.erase("QuernOriginalId") == 1u);
    BOOST_TEST(attributes == m.attributes);
    BOOST_TEST(there[0].body == m.body);
}

// SQS keeps nothing for longer than 14 days.
BOOST_AUTO_TEST_CASE(a_wait_of_thirty_days_ends_an_hour_before_the_queue_forgets_the_message)
{
    options.plan.delay_base = 24h * 30;
    kill(3);
    auto const began = time.now();
    auto const got = run(24h * 31);
    BOOST_TEST(got.redriven == 3u);
    BOOST_TEST(all(orders) == 3);
    BOOST_TEST(time.now() - began > 24h * 14 - 2h);
    BOOST_TEST(time.now() - began < 24h * 14);
}

// Due times are those of a calendar: a machine that slept, or whose clock was set, is not late by that.
BOOST_AUTO_TEST_CASE(a_wait_ends_by_the_calendar_when_the_clock_is_set_meanwhile)
{
    options.plan.delay_base = 24h * 4;
    kill(3);
    auto const began = time.now();
    start();
    time.run_for(io, 24h);
    time.jump_wall(24h);
    time.run_for(io, 24h * 2 - 13h); // what was hidden for 12 hours by the steady clock comes to light
    BOOST_TEST(all(orders) == 0);
    auto const got = finish(24h * 2);
    BOOST_TEST(got.redriven == 3u);
    BOOST_TEST(time.now() - began <= 24h * 3 + 12h + 10min);
    BOOST_TEST(time.now() - began >= 24h * 3 - 10min);
}

BOOST_AUTO_TEST_SUITE_END()
