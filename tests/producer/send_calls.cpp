#include <quern/producer/detail/send_calls.hpp>

#include "producer/sending.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

using namespace quern;
using namespace quern::test;
using namespace quern::detail;

namespace {

/// A service that takes `best` requests at once in 50 ms each, and makes more of them wait; beyond `refuses` it
/// throttles.
struct service {
    std::size_t best = 1'000, refuses = 1'000;
};

/// Requests a second in the last five of `length`, all of them full, and more waiting; the limit and the reason at
/// the end are in `calls`.
double saturate(send_calls& calls, service of, std::chrono::seconds length)
{
    struct call {
        tick ends, began;
        bool refused;
        bool operator>(call const& other) const { return ends > other.ends; }
    };
    std::priority_queue<call, std::vector<call>, std::greater<>> open;
    auto now = tick() + 1h;
    auto const last = now + length;
    std::priority_queue<tick, std::vector<tick>, std::greater<>> servers(
        std::greater<>(), std::vector<tick>(of.best, now)); // free from then on
    std::size_t done = 0;
    while (now < last) {
        while (calls.is_free()) {
            calls.began(now);
            if (calls.under_way() > of.refuses) {
                open.push({now + 5ms, now, true});
                continue;
            }
            auto const ends = std::max(servers.top(), now) + 50ms;
            servers.pop();
            servers.push(ends);
            open.push({ends, now, false});
        }
        auto const next = open.top();
        open.pop();
        now = next.ends;
        auto const how = next.refused ? policy::call_end::throttled : policy::call_end::ok;
        if (!next.refused && now > last - 5s) ++done;
        calls.ended(how, now - next.began, 10, true, now);
    }
    return static_cast<double>(done) / 5;
}

} // namespace

BOOST_AUTO_TEST_SUITE(calls_of_a_producer)

BOOST_AUTO_TEST_CASE(no_more_than_sixteen_where_no_more_are_allowed)
{
    for (std::size_t const most : {1u, 8u, 16u}) {
        send_calls calls(most);
        BOOST_TEST(calls.limit() == most);
        saturate(calls, {}, 10s);
        BOOST_TEST(calls.limit() == most);
        BOOST_TEST(!calls.is_service_bound());
    }
}

BOOST_AUTO_TEST_CASE(as_many_as_bring_more_and_at_least_sixteen)
{
    struct {
        std::size_t most;
        service of;
        double least; // requests a second: nine tenths of what could be had
        bool service_bound;
    } const rows[] = {
        {64, {}, 0.9 * 64 * 20, false},
        {256, {}, 0.9 * 256 * 20, false},
        {256, {.best = 100}, 0.9 * 100 * 20, true},
        {256, {.best = 40}, 0.9 * 40 * 20, true},
        {64, {.best = 8}, 0.9 * 8 * 20, true},
    };
    for (auto const& row : rows) {
        send_calls calls(row.most);
        auto const rate = saturate(calls, row.of, 30s);
        BOOST_TEST_CONTEXT("most " << row.most << ", best " << row.of.best << ", limit " << calls.limit())
        {
            BOOST_TEST(rate >= row.least);
            BOOST_TEST(calls.limit() >= 16u);
            BOOST_TEST(calls.limit() <= std::max<std::size_t>(20, std::min(row.most, 2 * row.of.best)));
            BOOST_TEST(calls.is_service_bound() == row.service_bound);
        }
    }
}

BOOST_AUTO_TEST_CASE(throttled_requests_do_not_make_it_grow_without_end)
{
    send_calls calls(256);
    auto const rate = saturate(calls, {.refuses = 40}, 60s);
    BOOST_TEST(rate >= 0.6 * 40 * 20);
    BOOST_TEST(calls.limit() < 128u);
}

BOOST_AUTO_TEST_CASE(its_figures_are_those_of_the_latest_requests)
{
    send_calls calls(16);
    BOOST_TEST(calls.took().count() == 0);
    for (int i = 0; i < 100; ++i) {
        calls.began(tick() + 1h);
        calls.ended(policy::call_end::ok, 10ms, 7, false, tick() + 1h);
    }
    BOOST_TEST((calls.took() == 10ms));
    BOOST_TEST(calls.messages_each() == 7.0);
    BOOST_TEST(calls.under_way() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(bound_of_a_producer, sending)

BOOST_AUTO_TEST_CASE(explain_names_what_bounds_it)
{
    using bound = producer_explanation::bound;
    struct {
        char const* name;
        bound by;
        std::size_t calls, messages, bytes;
        bool fifo, fails;
        int sends;
    } const rows[] = {
        {"nothing is sent", bound::nothing, 16, 10'000, 1'000'000, false, false, 0},
        {"little is sent", bound::nothing, 16, 10'000, 1'000'000, false, false, 15},
        {"all calls are taken", bound::calls, 1, 10'000, 1'000'000, false, false, 40},
        {"and the buffer is full behind them", bound::calls, 1, 30, 1'000'000, false, false, 40},
        {"the buffer is too small for the calls", bound::messages, 16, 20, 1'000'000, false, false, 40},
        {"in bytes", bound::bytes, 16, 10'000, 40, false, false, 40},
        {"requests fail", bound::service, 1, 10'000, 1'000'000, false, true, 10},
        {"one group", bound::groups, 16, 10'000, 1'000'000, true, false, 40},
    };
    for (auto const& row : rows) {
        BOOST_TEST_CONTEXT(row.name)
        {
            made.reset();
            fifo = row.fifo;
            options.max_calls = row.calls;
            options.max_buffered = row.messages;
            options.max_buffered_bytes = row.bytes;
            for (int i = 0; i < row.sends; ++i)
                add("ab", t0, "group");
            for (auto batch = queue().take(t0); !batch.empty(); batch = queue().take(t0))
                if (row.fails) fail(batch, t0);
            BOOST_TEST(to_string(queue().explain().by) == to_string(row.by));
            BOOST_TEST(!to_string(queue().explain()).empty());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
