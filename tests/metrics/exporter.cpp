#include <quern/metrics/exporter.hpp>
#include <quern/sim/virtual_clock.hpp>

#include "support/loopback.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include <vector>

using namespace quern;
using namespace quern::metrics;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

/// Takes so long for each export, and then fails or not.
struct slow final : destination {
    slow(quern::clock& t, std::vector<std::chrono::milliseconds> how_long) : time(t), takes(std::move(how_long)) {}

    asio::awaitable<result<void>> send(telemetry::snapshot s) override
    {
        at.push_back(time.now());
        got.push_back(std::move(s));
        auto const wait = at.size() <= takes.size() ? takes[at.size() - 1] : 0ms;
        auto const timer = time.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(time.now() + wait);
        if (fails) co_return failure(errc::connect_failed, "nobody there");
        co_return result<void>();
    }

    quern::clock& time;
    std::vector<std::chrono::milliseconds> takes;
    bool fails = false;
    std::vector<tick> at;
    std::vector<telemetry::snapshot> got;
};

struct stand {
    sim::virtual_clock time;
    asio::io_context io;
    collection all{"", time};
    std::vector<std::string> log;
    std::optional<exporter> it;
    bool ended = false;

    void begin(destination& to)
    {
        exporter_options options;
        options.every = 10s;
        options.time = &time;
        options.log = [this](log_level, std::string_view text) { log.emplace_back(text); };
        it.emplace(io.get_executor(), all, to, options);
        asio::co_spawn(io, it->run(), [this](std::exception_ptr e) {
            BOOST_TEST(!e);
            ended = true;
        });
    }
    std::uint64_t dropped() const { return all.snapshot().sources.at(0).count(telemetry::id::telemetry_dropped, 0); }
};

std::vector<int> seconds_of(slow const& to, tick since)
{
    std::vector<int> out;
    for (auto const at : to.at)
        out.push_back(static_cast<int>((at - since) / 1s));
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(exports_keep_to_their_times_and_those_that_are_overtaken_are_counted)
{
    tick const t0 = tick() + 1h;
    struct {
        tick::duration took; // of the one at 10 s
        std::size_t missed;
        int next;
    } const table[] = {
        {0s, 0, 20}, {9'999ms, 0, 20}, {10s, 1, 30}, {19'999ms, 1, 30}, {20s, 2, 40}, {1h, 360, 3'620}};
    for (auto const& row : table) {
        export_rule rule(10s, t0);
        BOOST_TEST(rule.next() == t0 + 10s);
        BOOST_TEST(rule.ended(t0 + 10s + row.took) == row.missed);
        BOOST_TEST((rule.next() - t0) / 1s == row.next);
    }
}

BOOST_FIXTURE_TEST_SUITE(exporting, stand)

BOOST_AUTO_TEST_CASE(it_exports_again_and_again_and_once_more_at_the_end)
{
    slow to(time, {});
    auto const t0 = time.now();
    begin(to);
    time.run_for(io, 34s);
    it->end();
    time.run_for(io, 0s);
    BOOST_TEST(ended);
    BOOST_TEST(seconds_of(to, t0) == (std::vector<int>{10, 20, 30, 34}), boost::test_tools::per_element());
    BOOST_TEST(dropped() == 0u);
}

BOOST_AUTO_TEST_CASE(one_that_takes_too_long_costs_those_that_it_overtakes_and_nothing_piles_up)
{
    slow to(time, {25s});
    auto const t0 = time.now();
    begin(to);
    time.run_for(io, 55s);
    it->end();
    time.run_for(io, 0s);
    BOOST_TEST(seconds_of(to, t0) == (std::vector<int>{10, 40, 50, 55}), boost::test_tools::per_element());
    BOOST_TEST(dropped() == 2u);
}

BOOST_AUTO_TEST_CASE(one_that_fails_is_counted_and_told_and_the_next_one_tries_again)
{
    slow to(time, {});
    to.fails = true;
    begin(to);
    time.run_for(io, 15s);
    to.fails = false;
    time.run_for(io, 10s);
    BOOST_TEST(dropped() == 1u);
    BOOST_TEST(log.size() == 1u);
    BOOST_TEST(log.at(0).starts_with("metrics: not exported: "), log.at(0));
    it->end();
    time.run_for(io, 0s);
    BOOST_TEST(to.got.back().sources.at(0).count(telemetry::id::telemetry_dropped, 0) == 1u);
}

BOOST_AUTO_TEST_CASE(spans_that_nobody_took_are_counted_apart)
{
    all.drop();
    all.drop_spans(3);
    all.drop_spans(4);
    auto const lost = all.snapshot().sources.at(0);
    BOOST_TEST(lost.count(telemetry::id::telemetry_dropped, 0) == 1u);
    BOOST_TEST(lost.count(telemetry::id::telemetry_dropped, 1) == 7u);
}

BOOST_AUTO_TEST_CASE(an_end_before_the_first_export_exports_once)
{
    slow to(time, {});
    begin(to);
    it->end();
    time.run_for(io, 0s);
    BOOST_TEST(ended);
    BOOST_TEST(to.at.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
