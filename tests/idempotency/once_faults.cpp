#include "idempotency/once_mill.hpp"

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(a_handler_that_must_not_repeat_over_a_bad_store, once_mill)

BOOST_AUTO_TEST_CASE(does_not_run_while_the_store_does_not_answer)
{
    put("a");
    bool down = true;
    store->on = [&](std::string_view) { return way{down ? fate::not_sent : fate::carried_out}; };
    work();
    time.run_for(io, 5min);
    BOOST_TEST(effects.empty());
    BOOST_TEST(guard->counters().unavailable >= 1u);
    down = false;
    BOOST_TEST(until(10min, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
}

BOOST_AUTO_TEST_CASE(runs_without_a_store_only_when_it_is_told_to)
{
    put("a");
    how.run_without_store = true;
    store->on = [&](std::string_view) { return way{fate::not_sent}; };
    work();
    BOOST_TEST(until(5s, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(log_lines("idempotency store: ") == 1);
}

// The claim was made, and its answer lost: the message comes back before that claim has ended, and waits for it.
BOOST_AUTO_TEST_CASE(is_not_stopped_for_good_by_a_claim_of_which_it_never_heard)
{
    put("a");
    int claims = 0;
    store->on = [&](std::string_view operation) {
        return way{operation == "claim" && ++claims == 1 ? fate::answer_lost : fate::carried_out};
    };
    work();
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
}

BOOST_AUTO_TEST_CASE(repeats_a_completion_whose_answer_was_lost)
{
    put("a");
    int tries = 0;
    store->on = [&](std::string_view operation) {
        return way{operation == "complete" && ++tries < 4 ? fate::answer_lost : fate::carried_out};
    };
    work();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(tries == 4);
    BOOST_TEST(guard->counters().completed == 1u);
    BOOST_TEST(guard->counters().fenced == 0u);
}

// It recorded nothing, and its message was given back and handled again.
BOOST_AUTO_TEST_CASE(records_what_was_done_although_it_was_cancelled_meanwhile)
{
    put("a");
    options.handler_timeout = 2s;
    work([this](delivery&, receipt&) -> asio::awaitable<outcome> {
        co_await pause(10s); // ends at the cancellation
        co_return ack();
    });
    BOOST_TEST(until(20s, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(guard->counters().completed == 1u);
    BOOST_TEST(guard->counters().abandoned == 0u);
}

// A store may be anybody's; nobody waits for this call of it, and its exception was dropped.
BOOST_AUTO_TEST_CASE(logs_what_a_store_throws_when_nobody_waits_for_it)
{
    put("a");
    options.handler_timeout = 2s;
    store->on = [](std::string_view operation) {
        if (operation == "complete") throw std::runtime_error("no such table");
        return way();
    };
    work([this](delivery&, receipt&) -> asio::awaitable<outcome> {
        co_await pause(10s); // ends at the cancellation
        co_return ack();
    });
    BOOST_TEST(until(20s, [this] { return empty(); }));
    BOOST_TEST(log_lines("idempotency store: ") == 1);
}

// It counted as a failed handler, for the breaker and for the redrive policy of a FIFO group.
BOOST_AUTO_TEST_CASE(is_no_failure_when_it_is_cancelled_while_it_waits_for_somebody_else)
{
    claim_for_another("a", 20s);
    put("a");
    options.handler_timeout = 3s;
    work();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(it->counters().retried == 0u);
}

BOOST_AUTO_TEST_CASE(acknowledges_what_is_done_although_the_store_will_not_hear_of_it)
{
    put("a");
    store->on = [&](std::string_view operation) {
        return way{operation == "complete" ? fate::not_sent : fate::carried_out};
    };
    work();
    BOOST_TEST(until(2min, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(guard->counters().unrecorded == 1u);
    BOOST_TEST(log_lines("idempotency completion: ") == 1);
}

BOOST_AUTO_TEST_CASE(puts_its_row_back_when_somebody_has_taken_it_away_meanwhile)
{
    put("a");
    work([this](delivery&, receipt&) -> asio::awaitable<outcome> {
        rows->forget(key_of("a"));
        co_return ack();
    });
    BOOST_TEST(until(5s, [this] { return empty(); }));
    BOOST_TEST(rows->find(key_of("a")).value().is == record::state::completed);
}

BOOST_AUTO_TEST_CASE(does_not_acknowledge_when_somebody_else_has_the_key_by_the_end)
{
    put("a");
    work([this](delivery& d, receipt&) -> asio::awaitable<outcome> {
        if (d.receive_count() == 1) {
            rows->forget(key_of("a"));
            claim_for_another_soon(20s);
            co_await pause(10ms);
        }
        co_return ack();
    });
    time.run_for(io, 5s);
    BOOST_TEST(!empty());
    BOOST_TEST(guard->counters().fenced == 1u);
    complete_for_another("a");
    BOOST_TEST(until(2min, [this] { return empty(); }));
    BOOST_TEST(guard->counters().duplicates == 1u);
}

// It was given back, and the dead-letter queue took it although its work was done.
BOOST_AUTO_TEST_CASE(stays_here_on_its_last_receive_until_whoever_has_its_key_is_done)
{
    auto const dead = allow_receives("1");
    how.waiting.longest = 1s;
    put("a");
    work([this](delivery&, receipt&) -> asio::awaitable<outcome> {
        rows->forget(key_of("a"));
        claim_for_another_soon();
        co_await pause(10ms);
        co_return ack();
    });
    time.run_for(io, 5min);
    BOOST_TEST(guard->counters().fenced == 1u);
    BOOST_TEST(in(dead) == 0);
    complete_for_another("a");
    BOOST_TEST(until(2min, [this] { return empty(); }));
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(effects.at("a") == 1);
}

BOOST_AUTO_TEST_CASE(records_its_completion_when_whoever_had_its_key_is_gone)
{
    put("a");
    work([this](delivery&, receipt&) -> asio::awaitable<outcome> {
        rows->forget(key_of("a"));
        claim_for_another_soon(5s);
        co_await pause(10ms);
        co_return ack();
    });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(rows->find(key_of("a")).value().is == record::state::completed);
}

// The row stayed a claim, and a duplicate ran when that had ended.
BOOST_AUTO_TEST_CASE(tries_once_more_to_record_what_was_done_when_it_is_cancelled_while_it_does)
{
    options.handler_timeout = 3s;
    put("a");
    auto const end = time.now() + 3s;
    store->on = [&](std::string_view operation) {
        return way{operation == "complete" && time.now() < end ? fate::not_sent : fate::carried_out};
    };
    work();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    time.run_for(io, 1s);
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(rows->find(key_of("a")).value().is == record::state::completed);
    BOOST_TEST(guard->counters().completed == 1u);
}

// Its row stayed in progress, and what was done was done again.
BOOST_AUTO_TEST_CASE(records_what_it_had_done_when_it_is_cancelled_after_it_got_its_key_back)
{
    options.handler_timeout = 5s;
    put("a");
    auto const end = time.now() + 5s;
    int tries = 0; // the first is told that the key is another's
    store->on = [&](std::string_view operation) {
        bool const fails = operation == "complete" && ++tries > 1 && time.now() < end;
        return way{fails ? fate::not_sent : fate::carried_out};
    };
    int began = 0;
    work([&](delivery&, receipt&) -> asio::awaitable<outcome> {
        if (++began == 1) {
            rows->forget(key_of("a"));
            claim_for_another_soon(1s);
            co_await pause(10ms);
        }
        co_return ack();
    });
    BOOST_TEST(until(2min, [this] { return empty(); }));
    BOOST_TEST(began == 1);
    BOOST_TEST(rows->find(key_of("a")).value().is == record::state::completed);
}

// A row by a wrong clock would let others in, or keep them out.
BOOST_AUTO_TEST_CASE(a_claim_follows_the_clock_that_its_answer_told)
{
    put("a");
    store->on = [this](std::string_view operation) {
        operations.emplace_back(operation);
        if (operation == "claim") store->offset = 10min;
        return way();
    };
    wall_time reached{};
    work([&](delivery&, receipt&) -> asio::awaitable<outcome> {
        reached = rows->find(key_of("a")).value().in_progress_until.value();
        co_return ack();
    });
    BOOST_TEST(until(5s, [this] { return empty(); }));
    BOOST_TEST(count("extend") == 1);
    BOOST_TEST(reached >= time.wall() + 10min);
}

// The claim took so long that the lease was extended meanwhile: the row must not end before it.
BOOST_AUTO_TEST_CASE(a_slow_claim_still_covers_the_lease)
{
    put("a");
    bool slow = true;
    store->on = [&](std::string_view operation) {
        bool const is_first = operation == "claim" && std::exchange(slow, false);
        return is_first ? way{fate::carried_out, 24s, 1s} : way();
    };
    bool ran = false;
    work([&](delivery& d, receipt&) -> asio::awaitable<outcome> {
        ran = true;
        auto const until = rows->find(key_of("a")).value().in_progress_until.value();
        BOOST_TEST(until - time.wall() >= d.remaining() + 1s);
        BOOST_TEST(d.remaining() > 20s);
        co_return ack();
    });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(ran);
}

BOOST_AUTO_TEST_CASE(is_cancelled_when_the_store_does_not_let_it_extend_its_claim)
{
    put("a");
    options.limits.max_in_flight = 1;
    bool down = false;
    store->on = [&](std::string_view) { return way{down ? fate::not_sent : fate::carried_out}; };
    std::optional<tick> ended;
    work([&](delivery& d, receipt&) -> asio::awaitable<outcome> {
        if (d.receive_count() > 1) co_return ack();
        struct on_exit {
            std::optional<tick>& at;
            quern::clock& time;
            ~on_exit() { at = time.now(); }
        } const noted{ended, time};
        down = true;
        co_await rest(10min);
        co_return ack();
    });
    auto const began = time.now();
    BOOST_TEST(until(2min, [&] { return ended.has_value(); }));
    BOOST_TEST(*ended - began <= 31s);
    down = false;
    BOOST_TEST(until(10min, [this] { return empty(); }));
    BOOST_TEST(effects.at("a") == 1);
}

BOOST_AUTO_TEST_SUITE_END()
