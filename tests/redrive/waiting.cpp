// Waits of days: over leases of twelve hours, kills and the end of what a queue keeps.

#include "redrive/waiting_yard.hpp"

using namespace quern;
using namespace quern::test;

BOOST_AUTO_TEST_SUITE(redriver_waiting)

BOOST_FIXTURE_TEST_CASE(a_message_waits_ten_days_in_its_queue_and_then_goes, waiting_yard)
{
    keep(dead, 24h * 14);
    options.plan.delay_base = 24h * 10;
    kill(3);
    auto const began = time.now();
    start();
    time.run_for(io, 24h * 10 - 1min);
    BOOST_TEST(all(orders) == 0);
    BOOST_TEST(in_flight(dead) == 3);
    BOOST_TEST(book().counts().waiting == 3u);
    auto const got = finish(1h);
    BOOST_TEST(got.redriven == 3u);
    BOOST_TEST(got.deleted == 3u);
    BOOST_TEST(all(dead) == 0);
    BOOST_TEST(all(orders) == 3);
    BOOST_TEST(time.now() - began < 24h * 10 + 10min);
}

BOOST_FIXTURE_TEST_CASE(a_wait_goes_on_over_restarts_and_ends_when_it_was_to_end, waiting_yard)
{
    keep(dead, 24h * 14);
    options.plan.delay_base = 24h * 4;
    options.plan.jitter = policy::jitter::full;
    kill(5);
    auto const began = time.now();
    std::map<std::string, wall_time> due;
    for (std::size_t i = 1; i <= 40; ++i) {
        options.seed = i; // what was left to chance once is not drawn again
        auto& one = start();
        time.run_for(io, 5min);
        auto const told = book();
        for (auto const& [id, m] : told.messages()) {
            auto const& first = due.emplace(id, m.due).first->second;
            BOOST_TEST(m.due == first);
        }
        one.stop();
        BOOST_REQUIRE(until(2min, [&] { return reports.size() == i; }));
        time.run_for(io, 10min);
    }
    BOOST_TEST(due.size() == 5u);
    start();
    auto const got = finish(24h * 5, 41);
    BOOST_TEST(got.redriven == 5u);
    BOOST_TEST(all(orders) == 5);
    BOOST_TEST(time.now() - began < 24h * 4 + 1h);
}

BOOST_FIXTURE_TEST_CASE(a_group_waits_behind_its_head_and_keeps_its_order, waiting_fifo_yard)
{
    keep(dead, 24h * 14);
    options.plan.delay_base = 24h * 2;
    kill(9);
    auto const got = run(24h * 10);
    BOOST_TEST(got.redriven == 9u);
    std::map<std::string, std::vector<std::string>> order;
    for (auto const& m : take(orders))
        order[m.system.at("MessageGroupId")].push_back(m.body);
    std::vector<std::string> const expected{"m0", "m3", "m6"};
    BOOST_TEST(order["g0"] == expected, boost::test_tools::per_element());
    BOOST_TEST(order.size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(what_would_be_due_after_its_queue_forgets_it_goes_earlier_and_says_so, waiting_yard)
{
    keep(dead, 24h * 4);
    options.plan.delay_base = 24h * 20;
    kill(2);
    auto const began = time.now();
    auto const got = run(24h * 30);
    BOOST_TEST(got.redriven == 2u);
    BOOST_TEST(all(orders) == 2);
    BOOST_TEST(time.now() - began < 24h * 4);
    auto const told = book();
    for (auto const& [id, m] : told.messages())
        BOOST_TEST(m.reason.starts_with("sent early"));
}

BOOST_FIXTURE_TEST_CASE(a_full_disk_stops_the_run_before_anything_is_sent, waiting_yard)
{
    options.plan.delay_base = 0s;
    kill(5);
    disk.room = 600; // the run has begun, and that is all
    start();
    BOOST_REQUIRE(until(1h, [&] { return reports.size() == 1; }));
    BOOST_TEST(book().now() == redrive::run_book::phase::running);
    BOOST_TEST(reports[0].journal_failed);
    BOOST_TEST(reports[0].redriven == 0u);
    BOOST_TEST(all(orders) == 0);
    BOOST_TEST(count(dead) == 5);
    BOOST_TEST(reports[0].stopped.value_or("").starts_with("the journal cannot be written"));
}

// It was told at the next send, a day later.
BOOST_FIXTURE_TEST_CASE(a_full_disk_is_told_while_everything_waits, waiting_yard)
{
    options.plan.delay_base = 24h;
    kill(5);
    disk.room = 600;
    start();
    BOOST_REQUIRE(until(1min, [&] { return reports.size() == 1; }));
    BOOST_TEST(reports[0].journal_failed);
    BOOST_TEST(reports[0].stopped.value_or("").starts_with("the journal cannot be written"));
    BOOST_TEST(count(dead) == 5);
}

BOOST_FIXTURE_TEST_CASE(a_wish_to_cancel_ends_the_wait_for_good_and_gives_the_messages_back, waiting_yard)
{
    options.plan.delay_base = 24h;
    kill(5);
    start();
    time.run_for(io, 1h);
    BOOST_TEST(in_flight(dead) == 5);
    disk.is_cancelled = true;
    BOOST_REQUIRE(until(5min, [&] { return reports.size() == 1; }));
    BOOST_TEST(reports[0].cancelled);
    BOOST_TEST(reports[0].waiting == 5u);
    BOOST_TEST(count(dead) == 5);
    BOOST_TEST(book().now() == redrive::run_book::phase::cancelled);
    BOOST_TEST(!disk.is_cancelled);
    start();
    BOOST_REQUIRE(until(5min, [&] { return refused.size() == 1; }));
    BOOST_TEST(refused[0].find("the run is over (cancelled)") != std::string::npos);
}

// What was due went in the time until the wish was seen.
BOOST_FIXTURE_TEST_CASE(
    a_wish_to_cancel_that_came_between_two_processes_is_seen_before_anything_is_sent, waiting_yard)
{
    options.plan.delay_base = 0s;
    options.speed.rate = 0.1;
    kill(5);
    start().stop();
    BOOST_REQUIRE(until(2min, [&] { return reports.size() == 1; }));
    disk.is_cancelled = true;
    start();
    BOOST_REQUIRE(until(2min, [&] { return reports.size() == 2; }));
    BOOST_TEST(reports[1].cancelled);
    BOOST_TEST(reports[1].redriven == 0u);
    BOOST_TEST(count(dead) == 5);
    BOOST_TEST(book().now() == redrive::run_book::phase::cancelled);
}

BOOST_FIXTURE_TEST_CASE(a_limit_holds_over_a_restart, waiting_yard)
{
    options.plan.delay_base = 0s;
    options.speed.limit = 4;
    options.speed.rate = 0.1;
    kill(9);
    auto& first = start();
    time.run_for(io, 25s);
    first.stop();
    BOOST_REQUIRE(until(2min, [&] { return reports.size() == 1; }));
    BOOST_TEST(reports[0].redriven > 0u);
    BOOST_TEST(reports[0].redriven < 4u);
    start();
    auto const got = finish(1h, 2);
    BOOST_TEST(got.redriven == 4u);
    BOOST_TEST(all(orders) == 4);
    BOOST_TEST(all(dead) == 5);
}

// Its place was free for the process that went on, and another message took it.
BOOST_FIXTURE_TEST_CASE(a_message_that_may_be_there_keeps_its_place_in_the_limit_over_a_restart, waiting_yard)
{
    options.plan.delay_base = 0s;
    options.speed.limit = 1;
    options.speed.stop_on_failure = redrive::failure_limit{3, 1min};
    send(dead, letter(dead, "first"));
    api.after = fails("SendMessageBatch", errc::connection_lost, [&] { return reports.empty(); });
    run(1h);
    sqs::receive_message_request hold(dead);
    hold.visibility_timeout = 60s;
    hold.wait_time = 0s;
    BOOST_REQUIRE(engine.receive_message(hold, time.wall()).value().answer.messages.size() == 1u);
    send(dead, letter(dead, "second"));
    start();
    auto const got = finish(1h, 2);
    BOOST_TEST(got.redriven == 1u);
    auto const there = bodies(orders);
    BOOST_TEST(there.size() == 1u);
    BOOST_TEST(there.contains("first"));
    BOOST_TEST(count(dead) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_send_in_doubt_is_marked_by_the_process_that_sends_it_minutes_later, waiting_fifo_yard)
{
    kill(3);
    options.speed.stop_on_failure = redrive::failure_limit{3, 1min};
    api.after = fails("SendMessageBatch", errc::timed_out, [&] { return reports.empty(); });
    auto const first = run(1h);
    BOOST_TEST(first.unknown == 3u);
    time.run_for(io, 10min);
    start();
    auto const second = finish(1h, 2);
    BOOST_TEST(second.redriven == 3u);
    BOOST_TEST(second.maybe_twice == 3u);
    BOOST_TEST(book().counts().maybe_twice == 3u);
    BOOST_TEST(all(orders) == 6);
}

BOOST_FIXTURE_TEST_CASE(a_send_in_doubt_is_told_though_somebody_has_deleted_the_message, waiting_fifo_yard)
{
    kill(1);
    api.after = fails("SendMessageBatch", errc::timed_out);
    start();
    time.run_for(io, 1s);
    engine.purge_queue(sqs::purge_queue_request(dead), time.wall()).value();
    BOOST_REQUIRE(until(1h, [&] { return reports.size() == 1; }));
    BOOST_TEST(reports[0].unknown == 1u);
    BOOST_TEST(reports[0].left == 0u);
    BOOST_TEST(book().counts().unknown == 1u);
}

// Because another message of its group stays, the run was over and did not say that it is deleted.
BOOST_FIXTURE_TEST_CASE(
    a_head_whose_delete_was_not_confirmed_is_known_to_be_gone_when_the_next_one_comes, waiting_fifo_yard)
{
    send_a_head_and_one_that_stays();
    api.after = fails("DeleteMessageBatch", errc::connection_lost);
    auto& one = start();
    time.run_for(io, 5s);
    one.stop();
    BOOST_REQUIRE(until(5min, [&] { return reports.size() == 1; }));
    BOOST_TEST(book().counts().undeleted == 1u);
    start();
    auto const got = finish(1h, 2);
    BOOST_TEST(got.deleted == 1u);
    BOOST_TEST(got.maybe_twice == 0u);
    BOOST_TEST(book().counts().undeleted == 0u);
    BOOST_TEST(book().now() == redrive::run_book::phase::succeeded);
    BOOST_TEST(count(dead) == 1);
}

// Ten that had come back before it was resumed ended it after its first send, again and again.
BOOST_FIXTURE_TEST_CASE(returns_of_an_earlier_process_do_not_end_the_run_that_goes_on, waiting_yard)
{
    options.plan.delay_base = 0s;
    options.speed.rate = 1;
    options.speed.stop_on_return = 0.1;
    kill(20);
    auto& first = start();
    time.run_for(io, 10s);
    first.stop();
    BOOST_REQUIRE(until(2min, [&] { return reports.size() == 1; }));
    auto const went = reports[0].redriven;
    BOOST_TEST(went > 5u);
    BOOST_TEST(went < 20u);
    fail_all(orders);
    start();
    auto const got = finish(1h, 2);
    BOOST_TEST(!got.stopped);
    BOOST_TEST(got.came_back == went);
    BOOST_TEST(got.redriven == 20u);
}

BOOST_FIXTURE_TEST_CASE(what_was_sent_when_the_disk_was_full_is_counted_as_maybe_twice, waiting_yard)
{
    options.plan.delay_base = 0s;
    kill(3);
    api.after = [this](std::string_view called, std::string_view) {
        if (called == "SendMessageBatch") disk.room = disk.text.size();
        return std::optional<failure>();
    };
    auto const got = run(1h);
    BOOST_TEST(got.journal_failed);
    BOOST_TEST(all(orders) == 3);
    BOOST_TEST(got.redriven + got.maybe_twice == 3u);
    BOOST_TEST(got.maybe_twice > 0u);
}

// A message with ten attributes was isolated, or left, whatever the journal.
BOOST_FIXTURE_TEST_CASE(a_message_without_room_for_a_count_is_counted_by_the_journal, waiting_yard)
{
    options.plan.waits = false;
    options.plan.delay_max = 15min;
    options.plan.max_attempts = 2;
    options.poison_url = poison;
    options.cutoff = false;
    auto full = letter(orders, "full");
    for (int i = 0; i < 10; ++i)
        full.attributes["a" + std::to_string(i)] = {"String", "x"};
    send(orders, full);
    fail_all(orders);
    for (std::size_t run = 1; run <= 2; ++run) {
        disk.text.clear(); // another journal
        start();
        auto const got = finish(1h, run);
        BOOST_TEST(got.redriven == 1u);
        BOOST_TEST(all(orders) == 1);
        for (auto const& e : events())
            if (e.attempt != 0 && e.kind == redrive::event_kind::sent) options.counted_before[e.new_id] = e.attempt;
        fail_all(orders);
    }
    disk.text.clear();
    start();
    BOOST_TEST(finish(1h, 3).isolated == 1u);
    auto const seen = take(poison);
    BOOST_REQUIRE(seen.size() == 1u);
    BOOST_TEST(seen.front().attributes.size() == 10u);
}

BOOST_FIXTURE_TEST_CASE(a_deleted_message_that_comes_again_is_counted_once, waiting_yard)
{
    options.plan.delay_base = 0s;
    kill(1);
    api.forgets_deletes = [this] { return api.calls["DeleteMessageBatch"] == 1; };
    auto const got = run(1h);
    BOOST_TEST(api.calls["DeleteMessageBatch"] == 2);
    BOOST_TEST(all(dead) == 0);
    BOOST_TEST(all(orders) == 1);
    BOOST_TEST(got.redriven == 1u);
    BOOST_TEST(got.deleted == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
