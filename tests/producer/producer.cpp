#include "producer/fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/system/system_error.hpp>

#include <set>

using namespace quern;
using namespace quern::test;

BOOST_FIXTURE_TEST_SUITE(producing, workshop)

BOOST_AUTO_TEST_CASE(a_message_is_confirmed_with_the_id_that_the_queue_gave_it)
{
    produce();
    send("hello");
    BOOST_TEST(until_sent(1));
    BOOST_TEST(!results.at("hello").value().message_id.empty());
    BOOST_TEST(take_all() == std::vector<std::string>{"hello"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_lone_message_does_not_wait_for_company)
{
    produce();
    send("hello");
    pass(19ms);
    BOOST_TEST(results.empty());
    pass(1ms); // the time of the request
    BOOST_TEST(results.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_thousand_senders_share_a_tenth_as_many_requests)
{
    produce();
    send_many(1'000);
    BOOST_TEST(until_sent(1'000));
    BOOST_TEST(confirmed() == 1'000u);
    BOOST_TEST(api.calls <= 101u);
    BOOST_TEST(api.most_under_way == 16u); // more only where it lasts
    auto const bodies = take_all();
    BOOST_TEST(bodies.size() == 1'000u);
    BOOST_TEST(std::set<std::string>(bodies.begin(), bodies.end()).size() == 1'000u);
}

BOOST_AUTO_TEST_CASE(senders_that_send_one_after_the_other_share_requests_too)
{
    produce();
    auto const sender = [this](int name) -> asio::awaitable<void> {
        for (int i = 0; i < 20; ++i) {
            sqs::send_message_entry entry(std::to_string(name) + ' ' + std::to_string(i));
            co_await send_one(std::move(entry));
        }
    };
    for (int name = 0; name < 50; ++name)
        spawn(sender(name));
    BOOST_TEST(until_sent(1'000));
    BOOST_TEST(confirmed() == 1'000u);
    BOOST_TEST(api.calls <= 120u);
}

BOOST_AUTO_TEST_CASE(what_the_service_refuses_is_told_to_its_sender_alone)
{
    produce();
    send_many(9);
    send("");
    send("bad \x01 text");
    sqs::send_message_entry wrong("only FIFO queues take a deduplication id");
    wrong.deduplication_id = "x";
    spawn(send_one(wrong));
    BOOST_TEST(until_sent(12));
    BOOST_TEST(confirmed() == 9u);
    BOOST_TEST(error_of("") == errc::invalid_request);
    BOOST_TEST(error_of("bad \x01 text") == errc::invalid_request);
    BOOST_TEST(error_of(wrong.body) == errc::service_error);
    BOOST_TEST(results.at(wrong.body).error().sender_fault);
    BOOST_TEST(api.ids.at(wrong.body).size() == 1u); // not tried again
}

BOOST_AUTO_TEST_CASE(a_request_that_is_refused_as_a_whole_fails_all_of_its_messages)
{
    produce();
    engine.delete_queue(sqs::delete_queue_request(url), time.wall()).value();
    send_many(3);
    BOOST_TEST(until_sent(3));
    BOOST_TEST(confirmed() == 0u);
    BOOST_TEST(results.at("m0").error().service_code == "AWS.SimpleQueueService.NonExistentQueue");
    BOOST_TEST(api.calls == 1u);
}

BOOST_AUTO_TEST_CASE(throttling_and_lost_connections_are_got_over)
{
    produce();
    int failures = 0;
    api.before = [&]() -> std::optional<failure> {
        if (++failures > 30) return {};
        return transport(failures % 2 ? errc::throttled : errc::connect_failed);
    };
    send_many(200);
    BOOST_TEST(until_sent(200));
    BOOST_TEST(confirmed() == 200u);
    BOOST_TEST(take_all().size() == 200u);
}

BOOST_AUTO_TEST_CASE(what_is_tried_again_is_logged)
{
    std::vector<std::string> log;
    options.log = [&](log_level level, std::string_view text) {
        BOOST_TEST(level == log_level::warning);
        log.emplace_back(text);
    };
    produce();
    api.before = [once = true]() mutable -> std::optional<failure> {
        if (!std::exchange(once, false)) return {};
        return transport(errc::throttled);
    };
    send_many(3);
    BOOST_TEST(until_sent(3));
    BOOST_TEST(log == std::vector<std::string>{"send failed: throttled: as told by the test"},
        boost::test_tools::per_element()); // at most one a second
}

BOOST_AUTO_TEST_CASE(entries_that_fail_alone_are_tried_again_alone)
{
    broker::fault_settings faults;
    faults.by_operation["SendMessageBatch"].entry_failed = 0.3;
    engine.set_faults(faults);
    produce();
    send_many(1'000);
    BOOST_TEST(until_sent(1'000));
    BOOST_TEST(confirmed() == 1'000u);
    BOOST_TEST(take_all().size() == 1'000u); // none twice
}

BOOST_AUTO_TEST_CASE(a_lost_answer_puts_messages_into_a_standard_queue_twice)
{
    produce();
    api.after = [once = true]() mutable -> std::optional<failure> {
        if (!std::exchange(once, false)) return {};
        return transport(errc::connection_lost);
    };
    send_many(3);
    BOOST_TEST(until_sent(3));
    BOOST_TEST(confirmed() == 3u);
    BOOST_TEST(take_all().size() == 6u);
}

BOOST_AUTO_TEST_CASE(with_a_single_attempt_it_does_not)
{
    options.max_attempts = 1;
    produce();
    api.after = [] { return transport(errc::connection_lost); };
    send("hello");
    BOOST_TEST(until_sent(1));
    BOOST_TEST(error_of("hello") == errc::connection_lost);
    BOOST_TEST(take_all().size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_outage_ends_in_the_failure_of_the_last_try)
{
    options.give_up_after = 5s;
    produce();
    api.before = [] { return transport(errc::connect_failed); };
    auto const began = time.now();
    send_many(25);
    BOOST_TEST(until_sent(25));
    BOOST_TEST(confirmed() == 0u);
    BOOST_TEST(error_of("m7") == errc::connect_failed);
    BOOST_TEST(time.now() - began <= 5s);
}

BOOST_AUTO_TEST_CASE(a_message_that_never_gets_a_request_times_out)
{
    options.give_up_after = 5s;
    options.max_calls = 1;
    produce();
    api.latency = 1h;
    send_many(11);
    BOOST_TEST(until_sent(1, 5s)); // the rest is under way, and waited for
    BOOST_TEST(error_of("m10") == errc::timed_out);
    BOOST_TEST(until_sent(11, 1h));
    BOOST_TEST(confirmed() == 10u);
}

BOOST_AUTO_TEST_CASE(no_more_messages_are_held_than_the_buffer_allows)
{
    options.max_buffered = 40;
    produce();
    send_many(500);
    BOOST_TEST(until_sent(500));
    BOOST_TEST(confirmed() == 500u);
    BOOST_TEST(api.most_messages == 40u);
    BOOST_TEST(api.calls == 50u);
}

BOOST_AUTO_TEST_CASE(no_more_bytes_are_held_than_the_buffer_allows)
{
    options.max_buffered_bytes = 2'000'000;
    produce();
    for (int i = 0; i < 20; ++i)
        send(std::string(600'000, static_cast<char>('a' + i)));
    BOOST_TEST(until_sent(20));
    BOOST_TEST(confirmed() == 20u);
    BOOST_TEST(api.most_messages == 3u);
    BOOST_TEST(api.calls == 20u); // two do not fit into one
}

BOOST_AUTO_TEST_CASE(flush_sends_at_once_and_counts_what_was_not_confirmed)
{
    options.linger = 10s;
    options.max_attempts = 1;
    produce();
    send("first");
    pass(1ms);
    send_many(3);
    send("");
    pass(1ms);
    BOOST_TEST(api.calls == 1u);
    std::optional<std::size_t> failed;
    ask(it->flush(), [&](std::size_t n) { failed = n; });
    pass(1ms);
    BOOST_TEST(api.calls == 2u);
    BOOST_TEST(!failed.has_value());
    send_many(1, "later");
    pass(25ms);
    BOOST_REQUIRE(failed.has_value());
    BOOST_TEST(*failed == 1u);
    BOOST_TEST(until_sent(6));
}

BOOST_AUTO_TEST_CASE(flush_of_nothing_completes)
{
    produce();
    std::optional<std::size_t> failed;
    ask(it->flush(), [&](std::size_t n) { failed = n; });
    pass(0s);
    BOOST_TEST(failed == 0u);
}

BOOST_AUTO_TEST_CASE(close_sends_all_that_is_here_and_takes_nothing_more)
{
    options.max_buffered = 30;
    produce();
    send_many(100);
    pass(0s);
    std::optional<std::size_t> failed;
    ask(it->close(10s), [&](std::size_t n) { failed = n; });
    pass(0s);
    send("too late");
    pass(0s);
    BOOST_TEST(error_of("too late") == errc::stopped);
    BOOST_TEST(until(1s, [&] { return failed.has_value(); }));
    BOOST_TEST(*failed == 0u);
    BOOST_TEST(confirmed() == 100u);
}

BOOST_AUTO_TEST_CASE(close_fails_what_is_left_at_its_deadline)
{
    options.max_calls = 1;
    produce();
    api.latency = 3s;
    send_many(30);
    pass(0s);
    std::optional<std::size_t> failed;
    ask(it->close(std::chrono::milliseconds::max()), [](std::size_t n) { BOOST_TEST(n == 20u); });
    ask(it->close(5s), [&](std::size_t n) { failed = n; }); // the shorter limit counts
    pass(4'999ms);
    BOOST_TEST(confirmed() == 10u);
    BOOST_TEST(!failed.has_value());
    pass(1ms);
    BOOST_TEST(failed == 20u);
    BOOST_TEST(results.size() == 30u);
    BOOST_TEST(error_of("m15") == errc::stopped);
    BOOST_TEST(error_of("m29") == errc::stopped);
    pass(1min);
    BOOST_TEST(api.calls == 2u);
    BOOST_TEST(take_all().size() == 20u); // ten were under way: they "may be in the queue"
}

// It overflowed to a limit of centuries.
BOOST_AUTO_TEST_CASE(a_close_with_a_limit_below_zero_ends_at_once)
{
    produce();
    api.before = [] { return transport(errc::connect_failed); };
    send("never sent");
    pass(1s);
    std::optional<std::size_t> failed;
    ask(it->close(std::chrono::milliseconds::min()), [&](std::size_t n) { failed = n; });
    pass(0ms);
    BOOST_TEST(failed == 1u);
    BOOST_TEST(error_of("never sent") == errc::stopped);
}

BOOST_AUTO_TEST_CASE(destruction_fails_what_waits_and_lets_requests_end)
{
    options.max_calls = 1;
    produce();
    send_many(15);
    pass(1ms);
    it.reset();
    pass(0s);
    BOOST_TEST(results.size() == 5u);
    BOOST_TEST(error_of("m12") == errc::stopped);
    BOOST_TEST(until_sent(15));
    BOOST_TEST(confirmed() == 10u);
    BOOST_TEST(api.calls == 1u);
}

BOOST_AUTO_TEST_CASE(an_idle_producer_keeps_nobody_awake)
{
    produce();
    send_many(3);
    BOOST_TEST(until_sent(3));
    local.reset(); // its own loop
    pass(0s);
    io.restart();
    io.run(); // returns: no work is left
    BOOST_TEST(!time.next_timer().has_value());
}

BOOST_AUTO_TEST_CASE(a_cancelled_send_is_withdrawn_while_it_waits)
{
    options.max_calls = 1;
    options.max_buffered = 11;
    produce();
    send_many(10);
    pass(1ms);
    for (auto const* const body : {"in the buffer", "before the buffer"}) {
        asio::cancellation_signal cancel;
        sqs::send_message_entry entry(body);
        asio::co_spawn(
            io, send_one(std::move(entry)), asio::bind_cancellation_slot(cancel.slot(), [](std::exception_ptr) {}));
        pass(1ms);
        BOOST_TEST(!results.contains(body));
        cancel.emit(asio::cancellation_type::terminal);
        pass(0s);
        BOOST_TEST(error_of(body) == errc::stopped);
        send("keeps the room of " + std::string(body));
        pass(0s);
    }
    BOOST_TEST(until_sent(14));
    BOOST_TEST(take_all().size() == 12u);
}

BOOST_AUTO_TEST_CASE(a_cancelled_send_that_is_under_way_completes_at_once_and_is_not_tried_again)
{
    produce();
    api.before = [] { return transport(errc::throttled); };
    asio::cancellation_signal cancel;
    sqs::send_message_entry entry("hello");
    asio::co_spawn(
        io, send_one(std::move(entry)), asio::bind_cancellation_slot(cancel.slot(), [](std::exception_ptr) {}));
    pass(1ms);
    cancel.emit(asio::cancellation_type::terminal);
    pass(0s);
    BOOST_TEST(error_of("hello") == errc::stopped);
    pass(1min);
    BOOST_TEST(api.calls == 1u);
}

BOOST_AUTO_TEST_CASE(a_cancelled_flush_ends_and_the_messages_go_on)
{
    produce();
    send("hello");
    pass(1ms);
    asio::cancellation_signal cancel;
    std::optional<std::size_t> failed;
    asio::co_spawn(io, it->flush(),
        asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr, std::size_t n) { failed = n; }));
    pass(1ms);
    BOOST_TEST(!failed.has_value());
    cancel.emit(asio::cancellation_type::terminal);
    pass(0s);
    BOOST_TEST(failed.has_value());
    BOOST_TEST(until_sent(1));
    BOOST_TEST(confirmed() == 1u);
}

BOOST_AUTO_TEST_CASE(a_setting_that_cannot_work_is_refused_by_name)
{
    options.max_calls = 0;
    BOOST_CHECK_EXCEPTION(produce(), boost::system::system_error,
        [](auto const& e) { return std::string(e.what()).find("max_calls") != std::string::npos; });
}

BOOST_AUTO_TEST_SUITE_END()
