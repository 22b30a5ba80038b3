// What a consumer stands on may go before it, in any order: its context, the pool of its handlers, a client that it
// was given. A client or a pool that went first was used after its end.

#include <quern/consumer/client_options.hpp>
#include <quern/consumer/consumer.hpp>
#include <quern/producer/producer.hpp>
#include <quern/sim/local_api.hpp>
#include <quern/sqs/client.hpp>
#include <quern/sqs/forwarding_api.hpp>

#include "support/four_threads.hpp"
#include "support/live_broker.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

/// An io_context and its thread.
class engine_room {
public:
    engine_room() : stays_(make_work_guard(io)), thread_([this] { io.run(); }) {}
    ~engine_room()
    {
        io.stop();
        thread_.join();
    }

    asio::io_context io{1};

private:
    asio::executor_work_guard<asio::io_context::executor_type> stays_;
    std::thread thread_;
};

/// All that a consumer stands on, each of which may go.
struct stage_set {
    live_broker broker;
    std::string url;
    std::size_t sent = 0;
    consumer_options options;
    std::atomic<int> started{0}, done{0};
    engine_room elsewhere; // what handlers wait for outside of the pool; it goes last
    std::unique_ptr<engine_room> context;
    std::unique_ptr<asio::thread_pool> pool;
    std::unique_ptr<sqs::client> client;
    std::optional<consumer> it;

    stage_set() : url(broker.create("orders"))
    {
        options.log = nullptr;
        options.wait_time = 1s;
        options.limits.max_in_flight = 60;
        options.limits.max_polls = 4;
        options.drain_deadline = 2s;
    }

    void send(int count)
    {
        broker.send(url, count);
        sent += static_cast<std::size_t>(count);
    }

    template <class Handler>
    void consume(Handler handle, bool on_a_pool = true)
    {
        context = std::make_unique<engine_room>();
        pool = std::make_unique<asio::thread_pool>(2);
        if (on_a_pool)
            options.handler_executor = pool->get_executor();
        else
            options.handler_executor.reset();
        client = std::make_unique<sqs::client>(context->io.get_executor(), client_options_for(options));
        it.emplace(context->io.get_executor(), *client, url, std::move(handle), options);
        it->start();
    }

    void end(int which)
    {
        switch (which) {
        case 0: return context.reset();
        case 1: return pool.reset();
        case 2: return client.reset();
        default: return it.reset();
        }
    }

    /// One message in four waits for ever on the pool, and one for something of another context.
    asio::awaitable<void> handle(delivery& d)
    {
        auto const kind = ++started % 4;
        if (kind == 0) {
            asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
            co_await timer.async_wait(asio::use_awaitable);
        } else if (kind == 1) {
            asio::steady_timer timer(elsewhere.io, 1ms);
            co_await timer.async_wait(asio::use_awaitable);
        } else if (kind == 2) {
            auto const longer = co_await d.extend(40s);
            if (!longer) co_return;
        }
        ++done;
    }

    asio::awaitable<void> handle_all(deliveries all)
    {
        started += static_cast<int>(all.size());
        asio::steady_timer timer(elsewhere.io, 1ms);
        co_await timer.async_wait(asio::use_awaitable);
        done += static_cast<int>(all.size());
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(any_order)

BOOST_AUTO_TEST_CASE(context_pool_client_and_consumer_end_in_any_order_in_the_middle_of_work)
{
    stage_set s;
    std::vector order{0, 1, 2, 3};
    int round = 0;
    do {
        s.send(40);
        auto const enough = s.started + 10;
        switch (++round % 3) {
        case 0: s.consume([&s](delivery& d) { return s.handle(d); }); break;
        case 1: s.consume([&s](deliveries all) { return s.handle_all(all); }); break;
        default:
            s.consume([&s](delivery&) {
                ++s.started;
                ++s.done;
            });
        }
        wait_until([&] { return s.started >= enough; });
        for (auto const which : order)
            s.end(which);
    } while (std::ranges::next_permutation(order).found);
    BOOST_TEST(round == 24);
    BOOST_TEST(s.broker.depth(s.url) + static_cast<std::size_t>(s.done) >= s.sent);
}

BOOST_AUTO_TEST_CASE(a_pool_that_ends_makes_the_consumer_drain_and_what_it_took_along_comes_again)
{
    stage_set s;
    s.send(30);
    s.consume([&s](delivery&) -> asio::awaitable<void> {
        ++s.started;
        asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
        co_await timer.async_wait(asio::use_awaitable);
    });
    wait_until([&] { return s.started >= 10; });
    auto ended = asio::co_spawn(s.elsewhere.io, s.it->run(), asio::use_future);
    s.pool.reset();
    auto const end = ended.get();
    BOOST_REQUIRE(end.has_error());
    BOOST_TEST(end.error().code == errc::stopped);
    BOOST_TEST(end.error().message == "the context of handler_executor has ended");
    auto const report = asio::co_spawn(s.elsewhere.io, s.it->drained(), asio::use_future).get();
    BOOST_TEST(report.clean(), to_json(report));
    BOOST_TEST(s.broker.depth(s.url) == s.sent);
}

// It was judged as one that had failed: the heads of all groups went to the poison queue.
BOOST_AUTO_TEST_CASE(what_a_pool_took_along_has_not_failed)
{
    stage_set s;
    s.url = s.broker.create("ledger.fifo");
    s.options.fifo.on_failure = group_policy::skip_head;
    s.options.poison_queue = s.broker.create("poison.fifo");
    s.options.classify = [](std::exception_ptr const&) { return reject("nobody threw anything"); };
    s.send(30); // of seven groups
    s.consume([&s](delivery&) -> asio::awaitable<void> {
        ++s.started;
        asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
        co_await timer.async_wait(asio::use_awaitable);
    });
    wait_until([&] { return s.started == 7; });
    s.pool.reset();
    auto const report = asio::co_spawn(s.elsewhere.io, s.it->drained(), asio::use_future).get();
    BOOST_TEST(report.clean(), to_json(report));
    BOOST_TEST(s.it->counters().rejected == 0u);
    BOOST_TEST(s.broker.depth(s.url) == s.sent);
    BOOST_TEST(s.broker.depth(*s.options.poison_queue) == 0u);
}

BOOST_AUTO_TEST_CASE(handlers_may_run_on_a_strand_of_a_pool_that_ends_first)
{
    stage_set s;
    s.send(10);
    s.consume([&s](delivery&) { ++s.started; }, false);
    wait_until([&] { return s.started == 10; });
    s.it.reset();
    s.options.handler_executor = asio::make_strand(*s.pool);
    s.it.emplace(
        s.context->io.get_executor(), *s.client, s.url, [&s](delivery&) { ++s.started; }, s.options);
    s.options.handler_executor.reset();
    s.it->start();
    s.send(10);
    wait_until([&] { return s.started == 20; });
    s.pool.reset();
    auto const report = asio::co_spawn(s.elsewhere.io, s.it->drained(), asio::use_future).get();
    BOOST_TEST(report.clean(), to_json(report));
}

BOOST_AUTO_TEST_CASE(a_client_that_goes_makes_the_consumer_drain)
{
    stage_set s;
    s.send(5);
    s.consume(
        [&s](delivery&) -> asio::awaitable<void> {
            ++s.started;
            co_return;
        },
        false);
    wait_until([&] { return s.started >= 5; });
    auto ended = asio::co_spawn(s.elsewhere.io, s.it->run(), asio::use_future);
    s.client.reset();
    auto const end = ended.get();
    BOOST_REQUIRE(end.has_error());
    BOOST_TEST(end.error().code == errc::stopped);
}

BOOST_AUTO_TEST_CASE(a_producer_outlives_its_client_and_says_so)
{
    stage_set s;
    engine_room room;
    auto client = std::make_unique<sqs::client>(room.io.get_executor());
    producer out(room.io.get_executor(), *client, s.url);
    auto const send = [&](std::string body) {
        sqs::send_message_entry entry;
        entry.body = std::move(body);
        return asio::co_spawn(s.elsewhere.io, out.send(std::move(entry)), asio::use_future).get();
    };
    BOOST_TEST(send("before").has_value());
    client.reset();
    auto const after = send("after");
    BOOST_REQUIRE(after.has_error());
    BOOST_TEST(after.error().code == errc::stopped);
}

namespace {

struct canary {
    bool& gone;
    ~canary() { gone = true; }
};

/// A send of it never comes to an end.
class silent_api final : public sqs::forwarding_api<silent_api> {
public:
    explicit silent_api(sqs::api& real) : real_(real) {}
    int receives = 0, sends = 0;

    template <class Request>
    sqs::answer<typename Request::response> carry(Request request)
    {
        receives += std::same_as<Request, sqs::receive_message_request> ? 1 : 0;
        if constexpr (std::same_as<Request, sqs::send_message_batch_request>) {
            ++sends;
            asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
            co_await timer.async_wait(asio::use_awaitable);
        }
        co_return co_await sqs::perform(real_, std::move(request));
    }

private:
    sqs::api& real_;
};

asio::awaitable<void> drain_its_own(sqs::api& api, std::string url, consumer_options options, bool& gone)
{
    canary const told{gone};
    auto const ex = co_await asio::this_coro::executor;
    auto handle = [](delivery&) {};
    consumer its_own(ex, api, std::move(url), handle, std::move(options));
    its_own.start();
    co_await its_own.drain(20s);
}

asio::awaitable<void> send_by_its_own(sqs::api& api, std::string url, bool& gone)
{
    canary const told{gone};
    auto const ex = co_await asio::this_coro::executor;
    producer its_own(ex, api, std::move(url));
    sqs::send_message_entry entry("a letter");
    auto const sent = co_await its_own.send(std::move(entry));
    BOOST_ERROR("the send has ended: " << sent.has_value());
}

} // namespace

// Each owned the operation that it waited for, and this the frame: neither was ever destroyed.
BOOST_AUTO_TEST_CASE(a_coroutine_that_owns_what_it_waits_for_goes_with_its_context)
{
    broker::engine engine;
    sqs::create_queue_request const wanted("orders");
    auto const url = engine.create_queue(wanted, real_clock().wall()).value().queue_url;
    bool drain_is_gone = false, send_is_gone = false;
    {
        asio::io_context io;
        sim::local_api queues(engine, real_clock(), io.get_executor());
        silent_api api(queues);
        consumer_options options;
        options.log = nullptr;
        asio::co_spawn(io, drain_its_own(api, url, options, drain_is_gone), [](std::exception_ptr) {});
        asio::co_spawn(io, send_by_its_own(api, url, send_is_gone), [](std::exception_ptr) {});
        wait_until([&] {
            io.poll();
            return api.receives != 0 && api.sends != 0;
        });
        BOOST_TEST((!drain_is_gone && !send_is_gone));
    }
    BOOST_TEST(drain_is_gone);
    BOOST_TEST(send_is_gone);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(move_only)

namespace {

/// Each message of ten is handled by `handle`, which holds what cannot be copied.
template <class Handler>
void all_are_handled(Handler handle)
{
    static_assert(!std::is_copy_constructible_v<Handler>);
    stage_set s;
    s.send(10);
    s.consume(std::move(handle), false);
    wait_until([&] { return s.it->counters().acked == 10; });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_handler_of_each_shape_that_can_only_be_moved)
{
    auto const held = [] { return std::make_unique<std::atomic<int>>(0); };
    all_are_handled([n = held()](delivery&) { ++*n; });
    all_are_handled([n = held()](delivery&) {
        ++*n;
        return ack();
    });
    all_are_handled([n = held()](delivery&) -> asio::awaitable<void> {
        ++*n;
        co_return;
    });
    all_are_handled([n = held()](delivery&) -> asio::awaitable<outcome> {
        ++*n;
        co_return ack();
    });
    all_are_handled([n = held()](deliveries) -> asio::awaitable<void> {
        ++*n;
        co_return;
    });
    all_are_handled([n = held()](deliveries all) -> asio::awaitable<std::vector<outcome>> {
        ++*n;
        std::vector<outcome> said(all.size(), ack());
        co_return said;
    });
}

BOOST_AUTO_TEST_SUITE_END()
