// What keeps a run from sending, and what it warns of.

#include "redrive/yard.hpp"

using namespace quern;
using namespace quern::test;

BOOST_FIXTURE_TEST_SUITE(redriver_halted, yard)

BOOST_AUTO_TEST_CASE(a_flag_that_is_set_lets_nothing_begin)
{
    kill(20);
    options.halted = [] { return std::optional<std::string>("the flag says open"); };
    auto const got = run();
    BOOST_TEST(got.redriven == 0u);
    BOOST_TEST(got.stopped.value_or("") == "CircuitBreakerOpen: the flag says open");
    BOOST_TEST(until(2s, [this] { return count(dead) == 20; })); // those given back twice wait for a second
}

BOOST_AUTO_TEST_CASE(a_flag_that_is_set_on_the_way_is_seen_before_the_next_send)
{
    kill(40);
    std::size_t asked = 0;
    options.halted = [&] { return ++asked > 15 ? std::optional<std::string>("set") : std::nullopt; };
    auto const got = run();
    BOOST_TEST(got.redriven == 15u);
    BOOST_TEST(got.deleted == 15u);
    BOOST_TEST(count(dead) == 25);
}

BOOST_AUTO_TEST_CASE(a_flag_that_is_set_during_a_wait_is_seen_after_it)
{
    kill(10);
    bool set = false;
    options.halted = [&] { return set ? std::optional<std::string>("set") : std::nullopt; };
    options.speed.rate = 1;
    start();
    time.run_for(io, 3s);
    set = true;
    BOOST_REQUIRE(until(1min, [&] { return reports.size() == 1; }));
    BOOST_TEST(reports[0].redriven < 6u);
    BOOST_TEST(count(dead) + static_cast<int>(reports[0].redriven) == 10);
}

BOOST_AUTO_TEST_CASE(a_run_that_waits_for_the_flag_goes_on_when_it_is_lowered_and_every_time)
{
    kill(30);
    bool set = true;
    options.halted = [&] { return set ? std::optional<std::string>("set") : std::nullopt; };
    options.waits_when_halted = true;
    options.speed.rate = 1;
    std::vector<std::string> said;
    options.log = [&](log_level level, std::string_view text) {
        if (level == log_level::warning) said.emplace_back(text);
    };
    auto& driver = start();
    time.run_for(io, 1h); // over many leases
    BOOST_TEST(driver.so_far().redriven == 0u);
    BOOST_TEST(all(dead) == 30);
    set = false;
    time.run_for(io, 10s);
    auto const sent_then = driver.so_far().redriven;
    BOOST_TEST(sent_then > 5u);
    set = true;
    time.run_for(io, 1h);
    BOOST_TEST(driver.so_far().redriven <= sent_then + 1);
    set = false;
    auto const got = finish();
    BOOST_TEST(got.redriven == 30u);
    BOOST_TEST(!got.stopped.has_value());
    BOOST_TEST(got.maybe_twice == 0u);
    std::vector<std::string> const expected{
        "redrive: halted: set", "redrive: goes on", "redrive: halted: set", "redrive: goes on"};
    BOOST_TEST(said == expected, boost::test_tools::per_element());
}

// Nobody was there to handle the canary, and after the halt all the others followed at once.
BOOST_AUTO_TEST_CASE(a_canary_is_watched_anew_after_a_halt)
{
    kill(10);
    bool set = false;
    options.halted = [&] { return set ? std::optional<std::string>("set") : std::nullopt; };
    options.waits_when_halted = true;
    options.speed.canary = redrive::canary{2, 5min};
    auto& driver = start();
    time.run_for(io, 1min);
    set = true;
    time.run_for(io, 1h);
    set = false;
    time.run_for(io, 4min);
    BOOST_TEST(driver.so_far().redriven == 2u);
    auto const got = finish();
    BOOST_TEST(got.redriven == 10u);
}

BOOST_AUTO_TEST_CASE(a_run_that_waits_for_the_flag_can_be_stopped)
{
    kill(20);
    options.halted = [] { return std::optional<std::string>("set"); };
    options.waits_when_halted = true;
    auto& driver = start();
    time.run_for(io, 10min);
    driver.stop();
    BOOST_REQUIRE(until(1min, [&] { return reports.size() == 1; }));
    BOOST_TEST(reports[0].redriven == 0u);
    BOOST_TEST(count(dead) == 20);
}

BOOST_AUTO_TEST_CASE(only_what_was_rejected_for_the_reason_is_taken)
{
    for (auto const* const reason : {"legacy", "odd", "legacy"}) {
        auto m = letter(dead, reason);
        m.attributes["QuernReason"] = {"String", reason};
        send(dead, m);
    }
    send(dead, letter(dead, "no reason"));
    options.to_url = orders;
    options.which.reason = "legacy";
    auto const got = run();
    BOOST_TEST(got.redriven == 2u);
    BOOST_TEST(got.skipped == 2u);
}

BOOST_AUTO_TEST_CASE(a_dead_letter_queue_with_a_policy_of_its_own_is_warned_of)
{
    std::vector<std::string> said;
    options.log = [&](log_level level, std::string_view text) {
        if (level == log_level::warning) said.emplace_back(text);
    };
    kill(1);
    run();
    BOOST_TEST(said.empty());
    options.dlq_url = orders; // it has one
    options.to_url = poison;
    start();
    finish(1h, 2);
    BOOST_REQUIRE(said.size() == 1u);
    BOOST_TEST(said[0].find("orders has a redrive policy of its own") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
