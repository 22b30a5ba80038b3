#include "consumer/mill.hpp"

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct batched : mill {
    std::vector<std::size_t> sizes;    // of the calls
    std::map<std::string, int> counts; // by body

    template <class F>
    void consume_batches(F handle)
    {
        auto counted = [this, handle](deliveries messages) -> asio::awaitable<std::vector<outcome>> {
            sizes.push_back(messages.size());
            for (delivery& d : messages)
                ++counts[std::string(d.body())];
            auto said = co_await handle(messages);
            co_return said;
        };
        it.emplace(io.get_executor(), api, url, std::move(counted), options);
        it->start();
    }

    static std::vector<outcome> all(deliveries messages, outcome what = ack())
    {
        return std::vector<outcome>(messages.size(), what);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(batch_handlers, batched)

BOOST_AUTO_TEST_CASE(a_call_takes_what_a_receive_brought)
{
    send(30);
    consume_batches([](deliveries messages) -> asio::awaitable<std::vector<outcome>> { co_return all(messages); });
    BOOST_TEST(until(1s, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(sizes == (std::vector<std::size_t>{10, 10, 10}), boost::test_tools::per_element());
    BOOST_TEST(it->counters().acked == 30u);
}

BOOST_AUTO_TEST_CASE(a_window_gathers_what_comes_apart)
{
    options.batch.size = 25;
    options.batch.window = 10s;
    options.limits.max_in_flight = 100;
    consume_batches([](deliveries messages) -> asio::awaitable<std::vector<outcome>> { co_return all(messages); });
    for (int i = 0; i < 4; ++i) {
        send_now(10);
        time.run_for(io, 2s);
    }
    BOOST_TEST(until(15s, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(sizes == (std::vector<std::size_t>{25, 15}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_message_has_an_outcome_of_its_own)
{
    send(20);
    consume_batches([](deliveries messages) -> asio::awaitable<std::vector<outcome>> {
        std::vector<outcome> said;
        for (delivery& d : messages) {
            auto const odd = (d.body().back() - '0') % 2 == 1;
            said.push_back(odd && d.receive_count() == 1 ? retry_after(5s) : ack());
        }
        co_return said;
    });
    BOOST_TEST(until(1min, [this] { return empty() && it->in_flight() == 0; }));
    for (auto const& [body, count] : counts)
        BOOST_TEST(count == ((body.back() - '0') % 2 == 1 ? 2 : 1), body);
    BOOST_TEST(it->counters().acked == 20u);
    BOOST_TEST(it->counters().retried == 10u);
}

BOOST_AUTO_TEST_CASE(a_batch_that_throws_or_counts_wrongly_is_tried_again)
{
    send(1);
    consume_batches([this](deliveries messages) -> asio::awaitable<std::vector<outcome>> {
        if (sizes.size() == 1) throw std::runtime_error("no");
        auto said = all(messages);
        if (sizes.size() == 2) said.pop_back();
        co_return said;
    });
    BOOST_TEST(until(5min, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(counts.at("m0") == 3);
    BOOST_TEST(it->counters().retried == 2u);
    BOOST_TEST(it->counters().acked == 1u);
}

BOOST_AUTO_TEST_CASE(a_handler_may_return_nothing)
{
    send(10);
    std::size_t handled = 0;
    auto handle = [&](deliveries messages) -> asio::awaitable<void> {
        handled += messages.size();
        co_return;
    };
    it.emplace(io.get_executor(), api, url, handle, options);
    it->start();
    BOOST_TEST(until(1s, [this] { return empty(); }));
    BOOST_TEST(handled == 10u);
}

BOOST_AUTO_TEST_CASE(what_waits_for_company_keeps_its_lease_and_goes_back_in_a_drain)
{
    options.batch.size = 100;
    options.batch.window = 10min;
    options.wait_time = 1s;
    send(3);
    consume_batches([](deliveries messages) -> asio::awaitable<std::vector<outcome>> { co_return all(messages); });
    time.run_for(io, 5min);
    BOOST_TEST(hidden() == 3);
    BOOST_TEST(it->counters().lost == 0u);
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST(visible() == 3);
    BOOST_TEST(sizes.empty());
}

// Whoever pauses wants no handler to begin.
BOOST_AUTO_TEST_CASE(what_waits_for_company_goes_back_when_the_consumer_is_paused)
{
    options.batch.size = 100;
    options.batch.window = 10min;
    send(3);
    consume_batches([](deliveries messages) -> asio::awaitable<std::vector<outcome>> { co_return all(messages); });
    time.run_for(io, 1s);
    it->pause();
    BOOST_TEST(until(2min, [this] { return visible() == 3; }));
    time.run_for(io, 10min);
    BOOST_TEST(sizes.empty());
    it->resume();
    BOOST_TEST(until(15min, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(in_an_outage_a_message_does_not_wait_for_company)
{
    options.batch.size = 20;
    options.batch.window = 10min;
    consume_batches([](deliveries messages) -> asio::awaitable<std::vector<outcome>> {
        co_return std::vector<outcome>(messages.size(), unavailable());
    });
    for (int i = 0; i < 2; ++i) {
        send(20);
        time.run_for(io, 2s);
    }
    BOOST_TEST(sizes.size() == 2u);
    send(1);
    BOOST_TEST(until(20s, [this] { return sizes.size() == 3; }));
    BOOST_TEST(sizes.back() == 1u);
}

// The others of the batch are still worth the work; only all of them together end the handler.
BOOST_AUTO_TEST_CASE(one_lost_lease_fences_one_outcome_and_all_cancel_the_handler)
{
    send(2);
    options.limits.max_in_flight = 2;
    options.batch.size = 2;
    bool cancelled = false;
    consume_batches([&](deliveries messages) -> asio::awaitable<std::vector<outcome>> {
        auto const first = messages[0].receive_count() == 1;
        if (!first) co_return all(messages);
        api.on_change = [] { return std::optional(failure(errc::timed_out, "no answer", true)); };
        auto const said = co_await messages[0].extend(1h); // only one of them, and too late
        BOOST_TEST(said.has_error());
        auto const since = time.now();
        co_await pause(10min);
        cancelled = time.now() - since < 1min;
        api.on_change = [] { return std::optional<failure>(); };
        co_return all(messages);
    });
    BOOST_TEST(until(40s, [&] { return cancelled; }));
    BOOST_TEST(until(5min, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(it->counters().lost == 2u);
}

BOOST_AUTO_TEST_CASE(a_batch_that_runs_for_too_long_ends_also_where_a_lease_was_lost_before)
{
    send(2);
    options.batch.size = 2;
    options.handler_timeout = 2min;
    api.on_receive = [this] { // it must not come back to us, who hold it
        return api.receives == 1 ? std::nullopt : std::optional(failure(errc::timed_out, "no answer", true));
    };
    std::optional<tick> ended;
    auto const since = time.now();
    consume_batches([&](deliveries messages) -> asio::awaitable<std::vector<outcome>> {
        if (messages[0].receive_count() != 1) co_return all(messages);
        auto const said = co_await messages[0].extend(1h);
        BOOST_TEST(said.has_value());
        api.on_change = [] { return std::optional(failure(errc::timed_out, "no answer", true)); };
        co_await pause(20min);
        ended = time.now();
        co_return all(messages);
    });
    time.run_for(io, 1min);
    BOOST_TEST(!ended); // one is still worth the work
    BOOST_TEST(until(30min, [&] { return ended.has_value(); }));
    BOOST_TEST((*ended - since <= 3min));
    api.on_change = api.on_receive = [] { return std::optional<failure>(); };
    BOOST_TEST(until(2h, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(it->counters().lost == 1u);
}

BOOST_AUTO_TEST_CASE(an_early_ack_of_one_leaves_the_others_to_their_outcome)
{
    send(2);
    consume_batches([](deliveries messages) -> asio::awaitable<std::vector<outcome>> {
        auto const first = messages[0].receive_count() == 1;
        if (!first) co_return all(messages);
        auto const said = co_await messages[0].ack();
        BOOST_TEST(said.has_value());
        co_return all(messages, retry_after(3s));
    });
    BOOST_TEST(until(1min, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(counts.at("m0") == 1);
    BOOST_TEST(counts.at("m1") == 2);
}

BOOST_AUTO_TEST_CASE(of_a_group_one_message_is_in_a_batch)
{
    sqs::create_queue_request wanted("ledger.fifo");
    wanted.attributes = {{"FifoQueue", "true"}, {"ContentBasedDeduplication", "true"}};
    url = engine.create_queue(wanted, time.wall()).value().queue_url;
    for (auto const* body : {"a1", "a2", "b1", "b2", "c1"}) {
        sqs::send_message_request request(url, body);
        request.group_id = std::string(body, 1);
        engine.send_message(std::move(request), time.wall()).value();
    }
    std::vector<std::string> done;
    consume_batches([&](deliveries messages) -> asio::awaitable<std::vector<outcome>> {
        for (delivery& d : messages)
            done.emplace_back(d.body());
        co_await pause(1s);
        co_return all(messages);
    });
    BOOST_TEST(until(10s, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(done == (std::vector<std::string>{"a1", "b1", "c1", "a2", "b2"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(no_batch_waits_for_more_than_may_be_in_flight)
{
    options.limits.max_in_flight = 5;
    options.batch.window = 1h;
    send(10);
    consume_batches([](deliveries messages) -> asio::awaitable<std::vector<outcome>> { co_return all(messages); });
    BOOST_TEST(until(1s, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(sizes == (std::vector<std::size_t>{5, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
