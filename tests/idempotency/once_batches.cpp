#include "idempotency/batch_mill.hpp"

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(a_batch_handler_that_must_not_repeat, batch_mill)

BOOST_AUTO_TEST_CASE(does_not_see_what_was_done_before)
{
    std::optional<std::string> seen;
    how.on_duplicate = [&](delivery const&, std::optional<std::string> const& result) { seen = result; };
    put_all({"a", "b"});
    work_on_batches([](deliveries all, std::span<receipt> left) -> asio::awaitable<outcomes> {
        for (std::size_t i = 0; i < all.size(); ++i)
            left[i].result = "\"did " + std::string(all[i].body()) + "\"";
        co_return outcomes(all.size(), ack());
    });
    BOOST_TEST(until(5s, [this] { return all_done(); }));
    send_now("a");
    send_now("c");
    BOOST_TEST(until(40s, [&] { return all_done() && effects.contains("c"); }));
    test_calls({{"a", "b"}, {"c"}});
    BOOST_TEST(seen.value() == "\"did a\"");
    BOOST_TEST(guard->counters().duplicates == 1u);
    BOOST_TEST(it->counters().acked == 4u);
}

BOOST_AUTO_TEST_CASE(gets_one_of_two_with_the_same_key)
{
    put_all({"a", "b", "a", "a"});
    work_on_batches();
    BOOST_TEST(until(5s, [this] { return all_done(); }));
    test_calls({{"a", "b"}});
    BOOST_TEST(guard->counters().duplicates == 2u);
    BOOST_TEST(guard->counters().waited == 0u);
}

BOOST_AUTO_TEST_CASE(gets_the_other_of_two_with_the_same_key_when_the_first_has_failed)
{
    put_all({"a", "b", "a"});
    work_on_batches([this](deliveries all, std::span<receipt>) -> asio::awaitable<outcomes> {
        outcomes said(all.size(), ack());
        for (std::size_t i = 0; i < all.size(); ++i)
            if (calls.size() == 1 && all[i].body() == "a") said[i] = retry_after(5s);
        co_return said;
    });
    BOOST_TEST(until(1min, [this] { return all_done(); }));
    test_calls({{"a", "b"}, {"a"}});
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(guard->counters().abandoned == 1u);
    BOOST_TEST(guard->counters().duplicates == 1u); // the first, when it came again
}

BOOST_AUTO_TEST_CASE(completes_each_message_by_its_own_outcome)
{
    put_all({"a", "b", "c"});
    work_on_batches([this](deliveries all, std::span<receipt>) -> asio::awaitable<outcomes> {
        outcomes said(all.size(), ack());
        for (std::size_t i = 0; i < all.size(); ++i)
            if (calls.size() == 1 && all[i].body() == "b") said[i] = retry_after(5s);
        co_return said;
    });
    time.run_for(io, 1s);
    BOOST_TEST(rows->find(key_of("a")).value().is == record::state::completed);
    BOOST_TEST(!rows->find(key_of("b")));
    BOOST_TEST(until(1min, [this] { return all_done(); }));
    test_calls({{"a", "b", "c"}, {"b"}});
    BOOST_TEST(guard->counters().completed == 3u);
}

// What is done must not wait for what another process works on.
BOOST_AUTO_TEST_CASE(gives_back_what_somebody_else_works_on_once_the_others_are_done)
{
    claim_for_another("b", 20s);
    put_all({"a", "b"});
    work_on_batches();
    time.run_for(io, 1s);
    test_calls({{"a"}});
    BOOST_TEST(it->counters().acked == 1u);
    BOOST_TEST(guard->counters().released == 1u);
    BOOST_TEST(it->in_flight() == 0u);
    BOOST_TEST(until(2min, [this] { return all_done(); }));
    test_calls({{"a"}, {"b"}});
    BOOST_TEST(effects.at("b") == 1);
}

BOOST_AUTO_TEST_CASE(gets_what_somebody_else_worked_on_in_a_further_call)
{
    claim_for_another("b", 2s);
    put_all({"a", "b"});
    work_on_batches([this](deliveries all, std::span<receipt>) -> asio::awaitable<outcomes> {
        co_await pause(10s);
        co_return outcomes(all.size(), ack());
    });
    BOOST_TEST(until(25s, [this] { return all_done(); }));
    test_calls({{"a"}, {"b"}});
    BOOST_TEST(guard->counters().released == 0u);
}

BOOST_AUTO_TEST_CASE(waits_for_somebody_else_where_that_keeps_nobody)
{
    claim_for_another("a", 10s);
    claim_for_another("b", 10s);
    put_all({"a", "b"});
    work_on_batches();
    BOOST_TEST(until(15s, [this] { return all_done(); }));
    BOOST_TEST(guard->counters().released == 0u);
    BOOST_TEST(effects.size() == 2u);
}

// Given back, it would go to the dead-letter queue.
BOOST_AUTO_TEST_CASE(keeps_what_is_on_its_last_receive_whatever_the_others_do)
{
    auto const dead = allow_receives("1");
    claim_for_another("b", 5min);
    claim_for_another("c", 5min);
    put_all({"a", "b", "c"});
    work_on_batches();
    time.run_for(io, 4min);
    test_calls({{"a"}});
    BOOST_TEST(guard->counters().waited < 200u); // nor do they look without a rest
    complete_for_another("b");
    BOOST_TEST(until(3min, [this] { return all_done(); }));
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(effects.at("c") == 1);
}

BOOST_AUTO_TEST_CASE(gives_its_keys_free_when_it_throws)
{
    put_all({"a", "b"});
    work_on_batches([this](deliveries all, std::span<receipt>) -> asio::awaitable<outcomes> {
        if (calls.size() == 1) throw std::runtime_error("no");
        co_return outcomes(all.size() + (calls.size() == 2 ? 1 : 0), ack()); // the second counts wrongly
    });
    time.run_for(io, 100ms);
    BOOST_TEST(rows->size() == 0u);
    BOOST_TEST(until(5min, [this] { return all_done() && rows->size() == 2; }));
    BOOST_TEST(guard->counters().abandoned == 4u);
    BOOST_TEST(it->counters().retried == 4u);
}

BOOST_AUTO_TEST_CASE(acknowledges_a_duplicate_although_the_rest_of_its_batch_throws)
{
    put("a");
    work_on_batches([this](deliveries all, std::span<receipt>) -> asio::awaitable<outcomes> {
        if (calls.size() == 2) throw std::runtime_error("no");
        co_return outcomes(all.size(), ack());
    });
    BOOST_TEST(until(5s, [this] { return all_done(); }));
    put_all({"a", "b"}); // a receive brings both
    BOOST_TEST(until(1min, [this] { return calls.size() == 2; }));
    time.run_for(io, 10ms);
    BOOST_TEST(it->counters().acked == 2u);
    BOOST_TEST(it->counters().retried == 1u);
    BOOST_TEST(log_lines("idempotency batch: ") == 1);
    BOOST_TEST(until(5min, [this] { return all_done(); }));
    test_calls({{"a"}, {"b"}, {"b"}});
}

BOOST_AUTO_TEST_CASE(is_not_kept_from_the_others_by_one_without_a_key)
{
    how.key = key_source::parse("body:/id").value();
    put_all({R"({"id":1})", "{}"});
    work_on_batches();
    time.run_for(io, 50ms);
    BOOST_TEST(effects.size() == 1u);
    BOOST_TEST(it->counters().retried == 1u);
}

BOOST_AUTO_TEST_CASE(gives_its_keys_free_when_a_drain_cancels_it)
{
    claim_for_another("c", 1h);
    put_all({"a", "b", "c", "a"});
    work_on_batches([this](deliveries, std::span<receipt>) -> asio::awaitable<outcomes> {
        co_await rest(1h);
        co_return outcomes();
    });
    time.run_for(io, 40s); // c was watched for half a minute
    BOOST_TEST(rows->size() == 3u);
    auto const end = drained(10s);
    BOOST_TEST(rows->size() == 1u);
    BOOST_TEST(end.clean());
    BOOST_TEST(visible() == 3);
    BOOST_TEST(hidden() == 1); // c, until that claim ends
}

BOOST_AUTO_TEST_CASE(records_what_was_done_although_it_was_cancelled_meanwhile)
{
    put_all({"a", "b"});
    options.handler_timeout = 2s;
    work_on_batches([this](deliveries all, std::span<receipt>) -> asio::awaitable<outcomes> {
        co_await pause(10s); // ends at the cancellation
        co_return outcomes(all.size(), ack());
    });
    BOOST_TEST(until(20s, [this] { return all_done(); }));
    BOOST_TEST(calls.size() == 1u);
    BOOST_TEST(guard->counters().completed == 2u);
}

BOOST_AUTO_TEST_CASE(does_not_begin_when_it_is_cancelled_before_its_keys_are_claimed)
{
    put_all({"a", "b"});
    options.handler_timeout = 2s;
    store->on = [this](std::string_view operation) {
        bool const is_slow = operation == "claim" && calls.empty() && time.now() < tick(1min);
        return is_slow ? way{fate::carried_out, 5s, 5s} : way();
    };
    work_on_batches();
    BOOST_TEST(until(5min, [this] { return all_done(); }));
    BOOST_TEST(effects.at("a") == 1);
    BOOST_TEST(it->counters().retried == 0u);
}

BOOST_AUTO_TEST_CASE(is_put_off_while_the_store_does_not_answer)
{
    put_all({"a", "b"});
    bool down = true;
    store->on = [&](std::string_view) { return way{down ? fate::not_sent : fate::carried_out}; };
    work_on_batches();
    time.run_for(io, 1min);
    BOOST_TEST(calls.empty());
    down = false;
    BOOST_TEST(until(10min, [this] { return all_done(); }));
    BOOST_TEST(effects.size() == 2u);
}

BOOST_AUTO_TEST_CASE(acknowledges_all_but_the_one_whose_key_was_taken_over)
{
    put_all({"a", "b"});
    work_on_batches([this](deliveries all, std::span<receipt>) -> asio::awaitable<outcomes> {
        if (calls.size() == 1) {
            rows->forget(key_of("a"));
            claim_for_another_soon(20s);
            co_await pause(10ms);
        }
        co_return outcomes(all.size(), ack());
    });
    time.run_for(io, 5s);
    BOOST_TEST(it->counters().acked == 1u);
    BOOST_TEST(guard->counters().fenced == 1u);
    complete_for_another("a");
    BOOST_TEST(until(2min, [this] { return all_done(); }));
    BOOST_TEST(guard->counters().duplicates == 1u);
}

BOOST_AUTO_TEST_CASE(is_any_batch_handler)
{
    guard = std::make_shared<once>(store, how);
    std::size_t handled = 0;
    batch_handler const plain = [&](deliveries all) -> asio::awaitable<outcomes> {
        handled += all.size();
        co_return outcomes(all.size(), ack());
    };
    put_all({"a", "a", "b"});
    it.emplace(io.get_executor(), api, url, guard->wrap(plain), options);
    it->start();
    BOOST_TEST(until(5s, [this] { return all_done(); }));
    BOOST_TEST(handled == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
