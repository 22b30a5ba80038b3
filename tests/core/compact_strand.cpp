#include <quern/core/detail/compact_strand.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using quern::detail::compact_strand;

BOOST_AUTO_TEST_SUITE(compact_strands)

BOOST_AUTO_TEST_CASE(what_is_posted_runs_in_order_and_what_is_dispatched_within_at_once)
{
    asio::io_context io;
    asio::any_io_executor const on = compact_strand::on(io.get_executor());
    std::string order;
    asio::post(on, [&] {
        asio::post(on, [&] { order += 'c'; });
        asio::dispatch(on, [&] { order += 'a'; });
        order += 'b';
    });
    asio::dispatch(on, [&] { order += 'B'; }); // from outside: behind what is there
    BOOST_TEST(order.empty());
    io.run();
    BOOST_TEST(order == "abBc");
}

BOOST_AUTO_TEST_CASE(copies_are_the_same_strand)
{
    asio::io_context io;
    auto const one = compact_strand::on(io.get_executor()), other = compact_strand::on(io.get_executor());
    asio::any_io_executor const a = one, b = one, c = other;
    BOOST_TEST((a == b));
    BOOST_TEST((a != c));
    BOOST_TEST(&asio::query(a, asio::execution::context) == &io);
}

BOOST_AUTO_TEST_CASE(work_counts_where_the_executor_within_counts_it)
{
    asio::io_context io;
    {
        auto const idle = compact_strand::on(io.get_executor());
        BOOST_TEST(io.run() == 0u); // returns
        io.restart();
        auto const busy = compact_strand::on(
            asio::prefer(asio::any_io_executor(io.get_executor()), asio::execution::outstanding_work.tracked));
        BOOST_TEST(io.poll() == 0u);
        BOOST_TEST(!io.stopped());
    }
    io.poll();
    BOOST_TEST(io.stopped());
}

BOOST_AUTO_TEST_CASE(after_an_exception_the_rest_runs_in_its_order)
{
    asio::io_context io;
    auto const on = compact_strand::on(io.get_executor());
    std::string order;
    for (auto const c : {'a', 'b', 'c'}) {
        asio::post(on, [&order, c] {
            order += c;
            if (c == 'b') throw std::runtime_error("as told by the test");
        });
    }
    asio::post(on, [&] { order += 'd'; });
    BOOST_CHECK_THROW(io.run(), std::runtime_error);
    BOOST_TEST(order == "ab");
    asio::post(on, [&] { order += 'e'; });
    io.run();
    BOOST_TEST(order == "abcde");
}

// What waits may hold the strand that it waits for.
BOOST_AUTO_TEST_CASE(what_never_runs_is_destroyed_with_its_context)
{
    auto const held = std::make_shared<int>();
    {
        asio::io_context io;
        asio::any_io_executor const on = compact_strand::on(io.get_executor());
        for (int i = 0; i < 3; ++i)
            asio::post(on, [held, on] {});
        BOOST_TEST(held.use_count() == 4);
    }
    BOOST_TEST(held.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(two_threads_never_run_it_at_once)
{
    asio::thread_pool threads(4);
    auto const on = compact_strand::on(threads.get_executor());
    int count = 0; // for the thread sanitizer
    std::atomic<bool> inside{false}, together{false};
    for (int i = 0; i < 1000; ++i) {
        asio::post(threads, [&, on] {
            asio::dispatch(on, [&] {
                if (inside.exchange(true)) together = true;
                ++count;
                inside = false;
            });
        });
    }
    threads.join();
    BOOST_TEST(count == 1000);
    BOOST_TEST(!together);
}

BOOST_AUTO_TEST_CASE(a_function_larger_than_its_place_goes_where_it_is_moved)
{
    std::array<int, 100> much{};
    much[99] = 7;
    int seen = 0, alive = 0;
    struct counted {
        int& n;
        explicit counted(int& to) : n(to) { ++n; }
        counted(counted const& other) : n(other.n) { ++n; }
        ~counted() { --n; }
    };
    {
        std::vector<quern::detail::task> all;
        for (int i = 0; i < 3; ++i)
            all.emplace_back([much, &seen, life = counted(alive)] { seen += much[99]; });
        all[1]();
        BOOST_TEST(seen == 7);
        BOOST_TEST(alive == 2);
    }
    BOOST_TEST(alive == 0);
}

BOOST_AUTO_TEST_SUITE_END()
