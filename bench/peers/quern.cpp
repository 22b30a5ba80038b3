// Quern as a contender: one consumer, with a plain function as its handler, or a coroutine where handlers wait.
//
// Its usual settings but three: BENCH_IN_FLIGHT is its max_in_flight, and it may have a receive and a delete under
// way for each ten of them, as the loops of the SDKs have. With BENCH_THREADS=2 there are two consumers, each on an
// io_context and a thread of its own, which is how one uses a second core.
#include "everything.hpp"
#include "service_pool.hpp"

#include <quern/quern.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;

namespace {

using bench::number;
using bench::variable;

struct settings {
    std::uint64_t in_flight = number(variable("BENCH_IN_FLIGHT", "1000"));
    std::chrono::milliseconds wait{number(variable("BENCH_HANDLER_MS", "0"))};
    std::chrono::milliseconds latency{number(variable("BENCH_RECEIVE_LATENCY_MS", "5"))};
    std::uint64_t fail_one_in = number(variable("BENCH_FAIL_ONE_IN", "0"));
    std::uint64_t threads = number(variable("BENCH_THREADS", "1"));
    std::string queue = variable("BENCH_QUEUE_URL", "");
    std::string ask = variable("BENCH_ASK", ""); // where handlers ask a service: host:port
    bool full = number(variable("BENCH_FULL", "0")) == 1;
};

/// One consumer on one thread, with what it counted.
struct worker {
    explicit worker(settings const& all) : its(all)
    {
        if (!its.ask.empty()) service.emplace(its.ask);
        if (its.full) {
            beside.emplace(io, all.queue, its.ask);
            beside->make(
                io, consumer, [this](quern::delivery& d) { return ask_and_ack(d); }, options(all));
        } else if (service)
            consumer.emplace(
                io, all.queue, [this](quern::delivery& d) { return ask_and_handle(d); }, options(all));
        else if (its.wait.count() > 0)
            consumer.emplace(
                io, all.queue, [this](quern::delivery& d) { return wait_and_handle(d); }, options(all));
        else
            consumer.emplace(
                io, all.queue, [this](quern::delivery& d) { seen.meet(d.body()), end(d); }, options(all));
    }

    void start()
    {
        consumer->drain_on({SIGTERM, SIGINT});
        if (beside)
            beside->run(io, *consumer);
        else
            consumer->start();
    }

    static quern::consumer_options options(settings const& all)
    {
        quern::consumer_options out;
        out.limits.max_in_flight = std::max<std::size_t>(1, all.in_flight / all.threads);
        out.limits.max_polls = std::clamp<std::size_t>(out.limits.max_in_flight / 10, out.limits.max_polls, 1000);
        out.receive_latency = all.latency;
        out.settle.max_calls = std::max(out.settle.max_calls, out.limits.max_polls);
        return out;
    }

    asio::awaitable<void> wait_and_handle(quern::delivery& d)
    {
        seen.meet(d.body());
        auto const ex = co_await asio::this_coro::executor;
        asio::steady_timer timer(ex, its.wait);
        co_await timer.async_wait(asio::use_awaitable);
        end(d);
    }

    asio::awaitable<void> ask_and_handle(quern::delivery& d)
    {
        seen.meet(d.body());
        co_await service->ask();
        end(d);
    }

    asio::awaitable<quern::outcome> ask_and_ack(quern::delivery& d)
    {
        co_await ask_and_handle(d);
        co_return quern::ack();
    }

    void end(quern::delivery& d)
    {
        auto const which = number(d.body().substr(17));
        if (its.fail_one_in > 0 && which % its.fail_one_in == 0 && d.receive_count() == 1) {
            ++seen.failed;
            throw std::runtime_error("told to fail");
        }
        ++seen.handled;
    }

    settings const& its;
    bench::tally seen;
    asio::io_context io{1};
    std::optional<bench::service_pool> service;
    std::optional<bench::everything> beside;
    std::optional<quern::consumer> consumer;
};

} // namespace

int main()
try {
    settings const all;
    std::vector<std::unique_ptr<worker>> workers;
    for (std::uint64_t i = 0; i < all.threads; ++i) {
        workers.push_back(std::make_unique<worker>(all));
        workers.back()->start();
    }
    std::puts("ready");
    std::fflush(stdout);
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < workers.size(); ++i)
        threads.emplace_back([&io = workers[i]->io] { io.run(); });
    workers[0]->io.run();
    for (auto& one : threads)
        one.join();
    bench::tally all_seen;
    for (auto const& one : workers)
        all_seen.add(one->seen);
    all_seen.report("quern " QUERN_VERSION);
} catch (std::exception const& e) {
    std::fprintf(stderr, "quern: %s\n", e.what());
    return 1;
}
