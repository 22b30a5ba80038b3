#include <quern/core/compact_strand.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/test/unit_test.hpp>

#include <string>

namespace asio = boost::asio;
using quern::compact_strand;

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

BOOST_AUTO_TEST_SUITE_END()
