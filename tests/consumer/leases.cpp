#include "consumer/mill.hpp"

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(leases, mill)

BOOST_AUTO_TEST_CASE(a_long_handler_keeps_its_lease_and_runs_once)
{
    send(3);
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        for (int i = 0; i < 60; ++i) {
            co_await pause(10s);
            BOOST_TEST(d.remaining() > 0s);
        }
        co_return ack();
    });
    BOOST_TEST(until(11min, [this] { return empty(); }));
    for (auto const& [body, count] : runs)
        BOOST_TEST(count == 1, body);
    BOOST_TEST(it->counters().extended == 3u * 6); // for as long as it has run, each time
    BOOST_TEST(api.changes <= 8);                  // the three leases share their requests
}

// A handler that works on although another consumer has the message would work twice.
BOOST_AUTO_TEST_CASE(a_handler_that_lost_its_lease_is_cancelled_and_its_outcome_dropped)
{
    send(1);
    options.limits.max_in_flight =
        1; // no receive is open that could bring the message back here, where it would be adopted
    api.on_change = [] { return std::optional(failure(errc::timed_out, "no answer", true)); };
    std::optional<tick> ended;
    auto const t0 = time.now();
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        auto const again = d.receive_count() > 1;
        if (again) co_await pause(1min);
        if (again) co_return ack();
        struct on_exit {
            std::optional<tick>& at;
            quern::clock& time;
            ~on_exit() { at = time.now(); }
        } const noted{ended, time};
        co_await asio::this_coro::throw_if_cancelled(false);
        co_await pause(10min);
        co_return ack(); // ends, but insists
    });
    BOOST_REQUIRE(until(5min, [&] { return ended.has_value(); }));
    BOOST_TEST(*ended - t0 >= 30s);
    BOOST_TEST(*ended - t0 <= 31s);
    BOOST_TEST(it->counters().lost == 1u);
    BOOST_TEST(api.deletes == 0);
    api.on_change = [] { return std::optional<failure>(); };
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(runs.at("m0") == 2);
}

// A handler did not obey when its lease was lost. The message came back here and its second lease ended as well, but
// the late answer to an extension revived it: what another consumer might have had by then was made visible.
BOOST_AUTO_TEST_CASE(a_lease_that_is_lost_twice_is_not_revived_by_a_late_answer)
{
    options.visibility_timeout = 9s;
    options.limits.max_in_flight = 4;
    send(1);
    auto const t0 = time.now();
    api.on_change = [&] {
        return time.now() < t0 + 9s ? std::optional(failure(errc::timed_out, "no answer", true)) : std::nullopt;
    };
    api.before_answer = [this, t0]() -> asio::awaitable<void> {
        auto const takes = time.now() < t0 + 15s ? 0s : 4s;
        co_await pause(takes);
    };
    api.before_received = [this](sqs::receive_message_response& got) -> asio::awaitable<void> {
        auto const again = !got.messages.empty() && got.messages[0].receive_count() > 1;
        if (again) co_await pause(100ms); // its first lease is known to be over
    };
    bool ended = false;
    consume([&](delivery&) -> asio::awaitable<outcome> {
        co_await asio::this_coro::throw_if_cancelled(false);
        while (time.now() < t0 + 24s) // has two leases of 9 s; asks for a third at 15 s, is answered at 19 s
            co_await pause(100ms);
        ended = true;
        co_return ack();
    });
    BOOST_REQUIRE(until(25s, [&] { return ended; }));
    BOOST_TEST(it->counters().adopted == 1u);
    auto const changes = api.changes;
    time.run_for(io, 1s);
    BOOST_TEST(api.changes == changes);
    BOOST_TEST(hidden() == 1);
    BOOST_TEST(it->in_flight() == 0u);
    BOOST_TEST(until(30s, [this] { return empty(); }));
}

// SQS may deliver a message twice; and a handle older than the last receive deletes nothing though it is accepted.
BOOST_AUTO_TEST_CASE(a_redelivery_of_a_message_held_here_is_adopted_not_run)
{
    broker::fault_settings faults;
    faults.everywhere.duplicated = 0.3;
    engine.set_faults(faults);
    send(500);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(200ms);
        co_return ack();
    });
    std::size_t twice_at_once = 0;
    BOOST_TEST(until(10min, [&] {
        if (running > it->in_flight()) ++twice_at_once;
        return empty() && running == 0;
    }));
    BOOST_TEST(twice_at_once == 0u);
    BOOST_TEST(it->counters().adopted > 0u);
    BOOST_TEST(runs.size() == 500u);
}

// The postpone waits for company when the lease falls due: the extension would arrive later and undo it.
BOOST_AUTO_TEST_CASE(a_lease_is_not_extended_once_its_message_is_being_given_back)
{
    options.settle.linger = 50ms;
    send(2);
    std::vector<tick> runs_of_m0;
    consume([&](delivery& d) -> asio::awaitable<outcome> {
        auto const first = d.body() == "m0";
        if (first) runs_of_m0.push_back(time.now());
        auto const failing = first && d.receive_count() == 1;
        if (failing) co_await pause(19'990ms);
        if (!failing && !first) co_await pause(1min); // a handler runs: the postpone lingers
        co_return failing ? retry_after(90s) : ack();
    });
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_REQUIRE(runs_of_m0.size() == 2u);
    BOOST_TEST(runs_of_m0[1] - runs_of_m0[0] >= 109s);
}

// The newest handle counts even when the copy that brought it is damaged: the older deletes nothing.
BOOST_AUTO_TEST_CASE(a_damaged_copy_of_a_message_held_here_brings_its_newest_handle)
{
    broker::fault_settings faults;
    faults.everywhere.duplicated = 1;
    engine.set_faults(faults);
    send(1);
    api.on_received = [this](sqs::receive_message_response& got) {
        if (api.receives == 1) engine.set_faults({});
        if (api.receives == 1 || got.messages.empty()) return;
        failure const why(errc::checksum_mismatch, "digest");
        got.damaged.push_back({0, got.messages[0], why});
        got.messages.clear();
    };
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(5s);
        co_return ack();
    });
    BOOST_TEST(until(25s, [this] { return empty(); }));
    BOOST_TEST(runs.at("m0") == 1);
}

// Two receives that bring the same message may be answered in either order.
BOOST_AUTO_TEST_CASE(an_older_handle_that_arrives_later_does_not_replace_the_newer)
{
    send(100); // so that several receives are open when the queue is empty
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const late = d.body() == "late";
        if (late) co_await pause(5s);
        co_return ack();
    });
    BOOST_REQUIRE(until(1s, [this] { return empty(); }));
    api.before_received = [this](sqs::receive_message_response& got) -> asio::awaitable<void> {
        auto const count = got.messages.empty() ? 0 : got.messages[0].receive_count();
        if (count == 2) engine.set_faults({});
        if (count == 1) co_await pause(1s);
    };
    broker::fault_settings faults;
    faults.everywhere.duplicated = 1;
    engine.set_faults(faults);
    sqs::send_message_request request(url, "late");
    asio::co_spawn(io, local->send_message(std::move(request)), [](std::exception_ptr, auto const&) {});
    BOOST_TEST(until(15s, [this] { return empty(); }));
    BOOST_TEST(runs.at("late") == 1);
    BOOST_TEST(it->counters().adopted >= 1u);
}

// The lease that a redelivery began was due while the extension of the one before was on the wire. Nobody asked for
// it once that was answered.
BOOST_AUTO_TEST_CASE(a_lease_that_falls_due_while_an_older_one_is_being_extended_is_extended_too)
{
    options.visibility_timeout = 9s;
    std::string handle;
    api.on_received = [&](sqs::receive_message_response& got) {
        if (handle.empty() && !got.messages.empty()) handle = got.messages[0].receipt_handle;
    };
    api.before_answer = [this]() -> asio::awaitable<void> {
        if (api.changes == 1) co_await pause(8s); // from 6 s, when the first lease is due, until 14 s
    };
    send(1);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(30s);
        co_return ack();
    });
    time.run_for(io, 6500ms); // a lease that begins now is due at 12.5 s, and over at 15.5 s
    asio::co_spawn(io, local->change_message_visibility({url, handle, 0s}), [](std::exception_ptr, auto const&) {});
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(it->counters().adopted == 1u);
    BOOST_TEST(it->counters().lost == 0u);
    BOOST_TEST(runs.at("m0") == 1);
}

// SQS carries out what names an old receipt handle as long as the message is hidden, even for somebody else: a retry
// of a postponement that came after the lease put off, or released, a message that another consumer was working on.
BOOST_AUTO_TEST_CASE(a_message_is_not_put_off_once_its_lease_is_over)
{
    options.visibility_timeout = 10s;
    auto const began = time.now();
    auto last = began;
    api.on_change = [&] {
        last = time.now();
        return std::optional(failure(errc::service_error, "refused", true));
    };
    api.on_receive = [&] { // once only: it must not come back here
        return api.receives == 1 ? std::nullopt : std::optional(failure(errc::service_error, "refused", true));
    };
    send(1);
    consume([](delivery&) -> asio::awaitable<outcome> { co_return retry_after(1min); });
    time.run_for(io, 30s);
    BOOST_TEST(runs.at("m0") == 1);
    BOOST_TEST(last > began + 1s);
    BOOST_TEST(last < began + 10s);
    BOOST_TEST(it->in_flight() == 0u);
    BOOST_TEST(it->counters().lost == 1u);
}

// A postponement had waited for an extension, which SQS refused because the receipt had expired; it went out all the
// same.
BOOST_AUTO_TEST_CASE(a_message_is_not_put_off_once_its_receipt_is_refused)
{
    options.visibility_timeout = 9s;
    broker::fault_settings faults;
    faults.everywhere.receipt_expired = 1;
    engine.set_faults(faults);
    api.before_answer = [this]() -> asio::awaitable<void> { co_await pause(1s); };
    api.on_receive = [this] {
        return api.receives == 1 ? std::nullopt : std::optional(failure(errc::service_error, "refused", true));
    };
    send(1);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(6500ms); // the extension is under way
        co_return retry_after(1min);
    });
    time.run_for(io, 30s);
    BOOST_TEST(api.changes == 1);
    BOOST_TEST(it->in_flight() == 0u);
    BOOST_TEST(it->counters().lost == 1u);
}

BOOST_AUTO_TEST_CASE(a_lease_that_a_blocking_handler_has_lost_is_said_to_be)
{
    options.visibility_timeout = 30s;
    send(1);
    asio::co_spawn(io, pause(1min), [](std::exception_ptr) {});
    bool blocks = true;
    consume([&](delivery&) -> asio::awaitable<outcome> {
        if (std::exchange(blocks, false)) {
            auto const end = time.now() + 61s;
            while (time.fire_next(end)) {
            } // and nothing else has its turn
        }
        co_await pause(1ms);
        co_return ack();
    });
    BOOST_REQUIRE(until(2min, [this] { return it->counters().lost == 1u; }));
    auto const told = [](std::string const& line) { return line.find("thread was blocked for ") != line.npos; };
    BOOST_TEST(std::ranges::any_of(log, told));
    BOOST_TEST(until(5min, [this] { return empty(); }));
}

BOOST_AUTO_TEST_SUITE_END()
