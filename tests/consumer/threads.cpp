#include <quern/consumer/consumer.hpp>

#include "support/four_threads.hpp"
#include "support/live_broker.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <csignal>
#include <map>
#include <memory>
#include <string>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

enum class where { on_a_pool, on_the_context };

asio::awaitable<void> rest(std::chrono::milliseconds d)
{
    auto const ex = co_await asio::this_coro::executor;
    asio::steady_timer timer(ex, d);
    co_await timer.async_wait(asio::use_awaitable);
}

/// Watches the order of events, without a lock: they all come on one strand.
struct onlooker : observer {
    enum class place { here, begun, ended };
    std::map<std::string, place> lives;
    std::uint64_t deleted = 0, requests = 0;
    int disorders = 0;

    void move(observed_message const& m, bool from_begun, place to)
    {
        auto const at = lives.find(std::string(m.id));
        if (at == lives.end() || (at->second == place::begun) != from_begun)
            ++disorders;
        else
            at->second = to;
    }
    void received(observed_message const& m) override
    {
        if (!lives.emplace(m.id, place::here).second) ++disorders;
    }
    void began(observed_message const& m) override { move(m, false, place::begun); }
    void ended(observed_message const& m, handler_end, outcome::kind) override { move(m, true, place::ended); }
    void settled(observed_message const& m, message_end how, std::chrono::seconds) override
    {
        move(m, false, place::ended);
        lives.erase(std::string(m.id));
        deleted += how == message_end::deleted;
    }
    void request_done(sqs::observed_request const&) override { ++requests; }
};

/// Consumers with clients of their own, real sockets, a context that four threads run, and handlers of every kind.
struct crowd {
    live_broker broker;
    std::string url;
    std::size_t sent = 0;
    std::shared_ptr<onlooker> const seen = std::make_shared<onlooker>();
    consumer_options options;
    int kinds = 10; // of handlers
    std::atomic<int> started{0}, hung{0}, cancelled{0}, acks{0};
    std::atomic<std::size_t> looked_at{0}, turns{0};
    std::atomic<int> refused{0};
    four_threads threads;
    std::optional<consumer> it;

    explicit crowd(std::string const& name = "orders") : url(broker.create(name))
    {
        options.observer = seen;
        options.log = nullptr; // thousands of failures, as told by the test
        options.wait_time = 1s;
        options.limits.max_in_flight = 200;
        options.handler_timeout = 100ms;
        options.backoff = policy::backoff::fixed({0ms});
        options.outage.breaker.emplace().share = 1;
    }

    void send(int count)
    {
        broker.send(url, count);
        sent += static_cast<std::size_t>(count);
    }

    void consume(where place)
    {
        options.handler_executor.reset();
        if (place == where::on_a_pool) options.handler_executor = threads.pool.get_executor();
        it.emplace(
            threads.io, url, [this](delivery& d) { return handle(d); }, options);
    }

    /// By the number of the message; what does not succeed at first does so when it comes again.
    asio::awaitable<outcome> handle(delivery& d)
    {
        ++started;
        auto const kind = std::stoi(std::string(d.body().substr(1))) % kinds;
        auto const first = d.receive_count() == 1;
        switch (first ? kind : 0) {
        case 1: co_await rest(1ms); break;
        case 2: throw std::runtime_error("as told by the test");
        case 3: co_await hang(); break;
        case 4: co_return release();
        case 5:
            for (int i = 0; i < 5; ++i) {
                co_await rest(1ms);
                looked_at += d.remaining() > 0s ? d.body().size() : 0;
            }
            break;
        case 6: co_return retry_after(0s);
        case 7:
            ++acks; // before it is told, for by then it may have been deleted
            if (auto const deleted = co_await d.ack(); deleted) co_return ack();
            --acks;
            co_return retry();
        case 8:
            if (auto const longer = co_await d.extend(40s); !longer) co_return retry();
            break;
        case 9: co_return unavailable();
        }
        ++acks;
        co_return ack();
    }

    asio::awaitable<void> hang()
    {
        ++hung;
        try {
            co_await rest(1h);
        } catch (boost::system::system_error const&) {
            ++cancelled;
            throw;
        }
    }

    void look()
    {
        auto const said = asio::co_spawn(threads.pool, it->explain(), asio::use_future).get();
        auto const counted = it->counters();
        looked_at += to_string(said).size() + counted.received + counted.lost + it->in_flight();
    }

    /// Waits on a strand for the end of a drain, and is cancelled there.
    void wait_in_vain()
    {
        struct wait {
            asio::cancellation_signal cancel;
            std::promise<void> over;
        };
        auto const one = std::make_shared<wait>();
        auto const strand = asio::make_strand(threads.pool);
        asio::co_spawn(strand, it->drained(),
            asio::bind_cancellation_slot(
                one->cancel.slot(), [one](std::exception_ptr, drain_report const&) { one->over.set_value(); }));
        asio::post(strand, [one] { one->cancel.emit(asio::cancellation_type::terminal); });
        one->over.get_future().get();
    }

    /// Leaves always room for those that hang beside others.
    void turn_limits()
    {
        static constexpr consumer_limits some[] = {{.max_in_flight = 40, .max_polls = 2},
            {.max_in_flight = 400, .max_polls = 8}, {.max_in_flight = 400, .handler_concurrency = 30},
            {.max_in_flight = 200}};
        auto const said =
            asio::co_spawn(threads.pool, it->set_limits(some[turns++ % std::size(some)]), asio::use_future).get();
        if (said.has_error() && said.error().code != errc::stopped) ++refused;
    }

    void switch_and_look(int name)
    {
        switch (name) {
        case 0:
            it->pause();
            it->resume();
            break;
        case 1:
            it->report_outage(true);
            it->report_outage(false);
            break;
        case 2: wait_in_vain(); break;
        case 3: turn_limits(); break;
        }
        look();
    }

    drain_report drained_by_several()
    {
        auto waiting = asio::co_spawn(threads.io, it->drained(), asio::use_future);
        auto first = asio::co_spawn(threads.pool, it->drain(20s), asio::use_future);
        auto second = asio::co_spawn(asio::make_strand(threads.io), it->drain(20s), asio::use_future);
        first.get();
        second.get();
        return waiting.get();
    }

    void everything_at_once(where place)
    {
        send(3'000);
        consume(place);
        it->start();
        callers all([this](int name) { switch_and_look(name); });
        wait_until([&] {
            // What comes while they have it paused is put off for half a minute and more; on a busy machine that is
            // all.
            if (it->counters().received >= sent) send(100);
            return acks >= 500 && cancelled >= 5 && all.calls() >= 200;
        });
        auto const report = drained_by_several();
        all.stop();
        BOOST_TEST(report.clean(), to_json(report));
        BOOST_TEST(it->counters().acked + broker.depth(url) == sent);
        BOOST_TEST(it->in_flight() == 0u);
        BOOST_TEST(refused == 0);
        BOOST_TEST(seen->disorders == 0);
        BOOST_TEST(seen->lives.size() == 0u);
        BOOST_TEST(seen->deleted >= it->counters().acked);
        BOOST_TEST(seen->requests >= it->counters().polls);
    }

    void lost_leases(where place)
    {
        options.visibility_timeout = 3s;
        options.handler_timeout.reset();
        broker.ask([](broker::engine& queues, broker::instant) {
            broker::fault_settings faults;
            faults.by_operation["ChangeMessageVisibilityBatch"].receipt_expired = 1;
            queues.set_faults(faults);
        });
        kinds = 4;
        send(100);
        consume(place);
        it->start();
        callers all([this](int) { look(); });
        // Of 25, less those whose lease was lost before they began.
        wait_until([this] { return it->counters().received >= sent && hung >= 10 && cancelled == hung; });
        all.stop();
        broker.ask([](broker::engine& queues, broker::instant) { queues.set_faults({}); });
        wait_until([this] { return it->counters().acked == sent; });
        drained_by_several();
        BOOST_TEST(broker.depth(url) == 0u);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(consuming_on_many_threads)

BOOST_AUTO_TEST_CASE(everything_at_once_with_handlers_on_a_pool)
{
    crowd c;
    c.everything_at_once(where::on_a_pool);
}

BOOST_AUTO_TEST_CASE(everything_at_once_with_handlers_on_the_context)
{
    crowd c;
    c.everything_at_once(where::on_the_context);
}

BOOST_AUTO_TEST_CASE(lost_leases_cancel_handlers_on_a_pool)
{
    crowd c;
    c.lost_leases(where::on_a_pool);
}

BOOST_AUTO_TEST_CASE(lost_leases_cancel_handlers_on_the_context)
{
    crowd c;
    c.lost_leases(where::on_the_context);
}

BOOST_AUTO_TEST_CASE(batches_are_handled_on_a_pool)
{
    crowd c;
    c.send(1'000);
    c.options.outage.breaker.reset(); // every call fails once
    c.options.handler_executor = c.threads.pool.get_executor();
    auto handle = [](deliveries all) -> asio::awaitable<void> {
        co_await rest(1ms);
        if (all[0].receive_count() == 1) throw std::runtime_error("as told by the test");
    };
    c.it.emplace(c.threads.io, c.url, handle, c.options);
    c.it->start();
    callers all([&](int) { c.look(); });
    wait_until([&] { return c.it->counters().acked == c.sent; });
    all.stop();
    BOOST_TEST(c.drained_by_several().clean());
    BOOST_TEST(c.broker.depth(c.url) == 0u);
}

BOOST_AUTO_TEST_CASE(fifo_groups_run_side_by_side_on_a_pool)
{
    crowd c("orders.fifo");
    c.kinds = 9;
    c.send(1'000);
    c.consume(where::on_a_pool);
    c.it->start();
    callers all([&](int) { c.look(); });
    wait_until([&] { return c.it->counters().acked == c.sent; });
    all.stop();
    BOOST_TEST(c.drained_by_several().clean());
    BOOST_TEST(c.broker.depth(c.url) == 0u);
}

BOOST_AUTO_TEST_CASE(destroyed_on_another_thread_at_any_moment_it_drains_and_loses_nothing)
{
    crowd c;
    c.kinds = 9;
    c.options.wait_time = 0s;
    for (int round = 0; round < 24; ++round) {
        c.send(60);
        c.consume(round % 2 == 0 ? where::on_a_pool : where::on_the_context);
        auto const enough = c.started + 20 * (round % 4);
        if (round % 5 != 0 || round % 4 != 0) c.it->start();
        wait_until([&] { return c.started >= enough; });
        auto drained = asio::co_spawn(c.threads.pool, c.it->drained(), asio::use_future);
        std::future<drain_report> draining;
        if (round % 3 == 0) draining = asio::co_spawn(c.threads.io, c.it->drain(10s), asio::use_future);
        std::thread([&] { c.it.reset(); }).join();
        auto const report = drained.get();
        BOOST_TEST(report.clean(), to_json(report));
        if (draining.valid()) draining.get();
    }
    c.consume(where::on_a_pool);
    c.it->start();
    wait_until([&] { return c.broker.depth(c.url) == 0; });
    BOOST_TEST(c.drained_by_several().clean());
    BOOST_TEST(static_cast<std::size_t>(c.acks) == c.sent);
}

BOOST_AUTO_TEST_CASE(signals_drain_it_whatever_thread_they_find)
{
    crowd c;
    c.send(500);
    c.consume(where::on_a_pool);
    c.it->drain_on({SIGUSR1}, 10s);
    c.it->start();
    wait_until([&] { return c.started >= 50; });
    auto drained = asio::co_spawn(c.threads.pool, c.it->drained(), asio::use_future);
    std::thread([] { ::raise(SIGUSR1); }).join();
    auto const report = drained.get();
    BOOST_TEST(report.clean(), to_json(report));
    BOOST_TEST(c.it->counters().acked + c.broker.depth(c.url) == c.sent);
}

BOOST_AUTO_TEST_CASE(a_context_that_is_stopped_in_the_middle_takes_everything_with_it_and_deletes_nothing_unhandled)
{
    crowd c;
    c.send(1'000);
    c.consume(where::on_the_context);
    c.it->start();
    wait_until([&] { return c.started >= 100; });
    c.threads.stop();
    c.it.reset();
    BOOST_TEST(c.broker.depth(c.url) + static_cast<std::size_t>(c.acks) >= c.sent);
}

BOOST_AUTO_TEST_SUITE_END()
