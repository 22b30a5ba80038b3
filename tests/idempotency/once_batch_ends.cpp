#include "idempotency/batch_mill.hpp"

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(a_batch_handler_that_must_not_repeat_when_it_ends_early, batch_mill)

// It was tried again for good, after a backoff: the end of a drain counted against it.
BOOST_AUTO_TEST_CASE(is_given_back_when_a_drain_cancels_it_although_a_duplicate_is_acknowledged)
{
    put("a");
    work_on_batches([this](deliveries all, std::span<receipt>) -> asio::awaitable<outcomes> {
        if (calls.size() == 2) {
            co_await pause(1h); // ends at the cancellation
            throw std::runtime_error("what it needs was closed meanwhile");
        }
        co_return outcomes(all.size(), ack());
    });
    BOOST_TEST(until(5s, [this] { return all_done(); }));
    put_all({"a", "b"});
    BOOST_TEST(until(1min, [this] { return calls.size() == 2; }));
    auto const end = drained(10s);
    BOOST_TEST(end.clean());
    test_calls({{"a"}, {"b"}});
    BOOST_TEST(it->counters().acked == 2u);
    BOOST_TEST(it->counters().retried == 0u);
    BOOST_TEST(visible() == 1);
    BOOST_TEST(rows->size() == 1u);
}

// Its outcome was dropped: it came again at once.
BOOST_AUTO_TEST_CASE(keeps_an_outcome_when_a_drain_cancels_the_other_message_with_that_key)
{
    put_all({"a", "a"});
    work_on_batches([this](deliveries all, std::span<receipt>) -> asio::awaitable<outcomes> {
        if (calls.size() == 2) co_await rest(1h);
        co_return outcomes(all.size(), retry_after(1h));
    });
    time.run_for(io, 1s);
    auto const end = drained(10s);
    BOOST_TEST(end.clean());
    test_calls({{"a"}, {"a"}});
    BOOST_TEST(hidden() == 1);
    BOOST_TEST(visible() == 1);
}

// It was handled while another process worked on it.
BOOST_AUTO_TEST_CASE(does_not_see_a_message_that_has_lost_its_lease_while_it_waited_for_its_turn)
{
    claim_for_another("b", 2s);
    put_all({"a", "b"});
    work_on_batches([this](deliveries all, std::span<receipt>) -> asio::awaitable<outcomes> {
        if (calls.size() == 1) co_await pause(2min);
        co_return outcomes(all.size(), ack());
    });
    time.run_for(io, 10s); // b is ours by now
    rows->forget(key_of("b"));
    claim_for_another("b", 4min);
    time.run_for(io, 150s);
    test_calls({{"a"}});
    BOOST_TEST(it->counters().acked == 1u);
    BOOST_TEST(it->counters().lost >= 1u);
    BOOST_TEST(until(10min, [this] { return all_done(); }));
    test_calls({{"a"}, {"b"}});
}

// It was claimed and handled although somebody had deleted it.
BOOST_AUTO_TEST_CASE(does_not_claim_for_a_message_that_has_lost_its_lease_behind_another_with_its_key)
{
    put_all({"a", "a"});
    std::string handle;
    api.on_received = [&](sqs::receive_message_response& got) {
        if (got.messages.size() == 2) handle = got.messages.back().receipt_handle;
    };
    work_on_batches([this](deliveries all, std::span<receipt>) -> asio::awaitable<outcomes> {
        co_await pause(1min);
        co_return outcomes(all.size(), retry_after(5min));
    });
    time.run_for(io, 1s);
    BOOST_TEST_REQUIRE(!handle.empty());
    sqs::delete_message_request const by_hand(url, handle);
    BOOST_TEST(engine.delete_message(by_hand, time.wall()).has_value());
    time.run_for(io, 90s);
    test_calls({{"a"}});
    BOOST_TEST(count("claim") == 1);
    BOOST_TEST(it->counters().lost == 1u);
    BOOST_TEST(rows->size() == 0u);
}

BOOST_AUTO_TEST_CASE(is_called_without_a_consumer_as_in_a_test_of_it)
{
    guard = std::make_shared<once>(store, how);
    batch_handler const plain = [](deliveries all) -> asio::awaitable<outcomes> {
        co_return outcomes(all.size(), ack());
    };
    auto const guarded = guard->wrap(plain);
    time.run_for(io, 1min);
    sqs::message m;
    m.id = "1";
    m.body = "a";
    delivery d(std::move(m), nullptr, time);
    std::vector<std::reference_wrapper<delivery>> const all{d};
    outcomes said;
    asio::co_spawn(io, guarded(deliveries(all)), [&](std::exception_ptr, outcomes its) { said = std::move(its); });
    time.run_for(io, 1s);
    BOOST_TEST_REQUIRE(said.size() == 1u);
    BOOST_TEST(said[0].what() == outcome::kind::ack);
}

BOOST_AUTO_TEST_SUITE_END()
