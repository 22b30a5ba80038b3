#include "consumer/mill.hpp"
#include "support/wait_until.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/data/test_case.hpp>

#include <atomic>
#include <future>
#include <optional>
#include <ostream>

namespace asio = boost::asio;
namespace data = boost::unit_test::data;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

enum class kind { function, coroutine, batch };
kind const kinds[] = {kind::function, kind::coroutine, kind::batch};

std::ostream& operator<<(std::ostream& out, kind k)
{
    return out << (k == kind::function ? "function" : k == kind::coroutine ? "coroutine" : "batch");
}

/// Handlers that block the threads of a pool, each until it is told to end. More are posted than there are threads.
struct blocking : mill {
    std::atomic<int> begun{0};

    void begin(kind how, int messages, std::size_t threads)
    {
        workers.emplace(threads);
        options.handler_executor = workers->get_executor();
        options.drain_deadline = 10s; // for which the receive under way is short enough
        options.batch.size = 1;
        send(messages);
        auto const block = [this] {
            ++begun;
            until_told.wait();
        };
        auto const ex = io.get_executor();
        switch (how) {
        case kind::function:
            it.emplace(
                ex, api, url, [block](delivery&) { block(); }, options);
            break;
        case kind::coroutine:
            it.emplace(
                ex, api, url,
                [block](delivery&) -> asio::awaitable<void> {
                    block();
                    auto const here = co_await asio::this_coro::executor;
                    co_await asio::post(here, asio::use_awaitable);
                    co_await asio::post(here, asio::use_awaitable); // throws when it has been cancelled
                },
                options);
            break;
        case kind::batch:
            it.emplace(
                ex, api, url,
                [block](deliveries all) -> asio::awaitable<std::vector<outcome>> {
                    block();
                    co_return std::vector<outcome>(all.size(), ack());
                },
                options);
            break;
        }
        it->start();
        BOOST_TEST(until(1s, [&] { return it->in_flight() == static_cast<std::size_t>(messages); }));
        wait_until([&] { return begun == static_cast<int>(threads); });
    }

    /// With no more to be received, for then the time that passes meanwhile brings nothing new.
    void receive_no_more()
    {
        api.on_receive = [] { return failure(errc::throttled, "no more today", true); };
    }

    /// And comes back when they have come home and the threads have nothing left to do.
    void let_them_end()
    {
        may_end.set_value();
        auto const joined = std::async(std::launch::async, [this] { workers->join(); });
        wait_until([&] {
            io.restart();
            io.poll();
            return joined.wait_for(0s) == std::future_status::ready;
        });
    }

private:
    std::promise<void> may_end;
    std::shared_future<void> until_told = may_end.get_future().share();
    std::optional<asio::thread_pool> workers;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(handlers_that_wait_for_a_thread, blocking)

// Nothing can stop one that runs, and what it returns still counts.
BOOST_DATA_TEST_CASE_F(blocking, a_drain_waits_for_those_that_have_begun, data::make(kinds), how)
{
    begin(how, 2, 2);
    begin_drain(10s);
    io.poll();
    BOOST_TEST(!report);
    let_them_end();
    BOOST_REQUIRE(until(10s, [this] { return report.has_value(); }));
    BOOST_TEST(report->finished == 2u);
    BOOST_TEST(report->stranded == 0u);
    BOOST_TEST(it->counters().acked == 2u);
}

// They began when a thread came free, the drain long over perhaps, for messages that others held by then.
BOOST_DATA_TEST_CASE_F(blocking, a_drain_releases_the_others_at_once, data::make(kinds), how)
{
    begin(how, 3, 1);
    begin_drain(10s);
    BOOST_TEST(until(8s, [this] { return visible() == 2; })); // once the receive under way has ended
    BOOST_TEST(!report);
    let_them_end();
    BOOST_REQUIRE(until(10s, [this] { return report.has_value(); }));
    BOOST_TEST(begun == 1);
    BOOST_TEST(report->finished == 1u);
    BOOST_TEST(report->released == 2u);
    BOOST_TEST(visible() == 2);
}

BOOST_DATA_TEST_CASE_F(
    blocking, a_drain_that_ends_before_a_thread_comes_free_leaves_none_of_them, data::make(kinds), how)
{
    begin(how, 3, 1);
    begin_drain(10s);
    BOOST_REQUIRE(until(11s, [this] { return report.has_value(); }));
    BOOST_TEST(report->running == 1u);
    BOOST_TEST(report->released == 2u);
    it.reset();
    let_them_end();
    io.poll();
    BOOST_TEST(begun == 1);
}

BOOST_DATA_TEST_CASE_F(blocking, those_whose_lease_is_lost_meanwhile_do_not_begin, data::make(kinds), how)
{
    api.on_change = [] { return failure(errc::service_error, "no extension today"); };
    begin(how, 2, 1);
    receive_no_more();
    BOOST_TEST(until(1min, [this] { return it->counters().lost == 2; }));
    BOOST_TEST(until(1s, [this] { return it->in_flight() == 1; })); // whose handler runs
    let_them_end();
    BOOST_TEST(until(1s, [this] { return it->in_flight() == 0; }));
    BOOST_TEST(begun == 1);
    BOOST_TEST(it->counters().acked == 0u);
}

// They ran on, one after the other, against what was known to be down: as many as had been received by then.
BOOST_DATA_TEST_CASE_F(blocking, those_that_wait_when_it_is_paused_do_not_begin, data::make(kinds), how)
{
    begin(how, 4, 1);
    it->pause();
    BOOST_TEST(until(10s, [this] { return it->in_flight() == 1; })); // whose handler runs
    BOOST_TEST(hidden() == 4);
    let_them_end();
    BOOST_TEST(until(1s, [this] { return it->in_flight() == 0; }));
    BOOST_TEST(begun == 1);
    BOOST_TEST(it->counters().acked == 1u);
    BOOST_TEST(it->counters().lost == 0u);
}

// Their failure took them to the dead-letter queue.
BOOST_DATA_TEST_CASE_F(blocking, those_that_wait_for_their_last_run_stay_here_in_an_outage, data::make(kinds), how)
{
    auto const dead = allow_receives("1");
    begin(how, 4, 1);
    it->report_outage(true);
    time.run_for(io, 5min);
    let_them_end();
    time.run_for(io, 5min);
    BOOST_TEST(begun == 1);
    BOOST_TEST(it->counters().acked == 1u);
    BOOST_TEST(it->in_flight() == 3u);
    BOOST_TEST(in(dead) == 0);
}

// Turns that were called off are still posted while their messages wait for others.
BOOST_DATA_TEST_CASE_F(blocking, those_that_wait_once_more_begin_once, data::make(kinds), how)
{
    allow_receives("1");
    begin(how, 4, 1);
    for (int i = 0; i < 2; ++i) {
        it->report_outage(true);
        time.run_for(io, 1min);
        it->report_outage(false);
        time.run_for(io, 1min);
    }
    BOOST_TEST(begun == 1);
    BOOST_TEST(it->in_flight() == 4u);
    let_them_end();
    BOOST_TEST(until(1s, [this] { return it->in_flight() == 0; }));
    BOOST_TEST(begun == 4);
    BOOST_TEST(it->counters().acked == 4u);
}

// Else a handler that had waited for its thread was cancelled as soon as it began.
BOOST_AUTO_TEST_CASE(the_wait_does_not_count_as_running)
{
    options.handler_timeout = 20s;
    begin(kind::coroutine, 2, 1);
    receive_no_more();
    until(25s, [] { return false; });
    let_them_end(); // the first is told by now that it has run for too long
    BOOST_TEST(until(1s, [this] { return it->in_flight() == 0; }));
    BOOST_TEST(begun == 2);
    BOOST_TEST(it->counters().retried == 1u);
    BOOST_TEST(it->counters().acked == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
