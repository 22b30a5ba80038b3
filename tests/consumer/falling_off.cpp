// Five of five messages were deleted by a handler with a path that falls off its end: g++ does not warn of it in
// coroutines, and what the consumer took for the outcome was whatever the frame held.

#include "consumer/mill.hpp"

#include <boost/asio/use_awaitable.hpp>

#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type" // clang does warn
#endif

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

asio::awaitable<outcome> only_second_time(delivery& d)
{
    if (d.receive_count() > 1) co_return ack();
} // coroutine-ok: the very case

asio::awaitable<std::vector<outcome>> all_only_second_time(deliveries all)
{
    std::vector<outcome> said;
    for (delivery& d : all) {
        if (d.receive_count() > 1) said.push_back(ack());
    }
    if (said.size() == all.size()) co_return said;
} // coroutine-ok: likewise

} // namespace

BOOST_FIXTURE_TEST_SUITE(falling_off, mill)

BOOST_AUTO_TEST_CASE(kind_zero_deletes_nothing)
{
    BOOST_TEST(outcome::kind() == outcome::kind::retry);
}

BOOST_AUTO_TEST_CASE(a_message_whose_handler_ends_without_an_outcome_comes_again)
{
    send(5);
    it.emplace(io.get_executor(), api, url, only_second_time, options);
    it->start();
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(it->counters().acked == 5u);
    BOOST_TEST(it->counters().retried == 5u);
    auto const told = [](std::string const& line) { return line.find("falls off its end") != line.npos; };
    BOOST_TEST(std::any_of(log.begin(), log.end(), told));
}

BOOST_AUTO_TEST_CASE(a_batch_whose_handler_ends_without_outcomes_comes_again)
{
    send(5);
    options.batch.size = 5;
    it.emplace(io.get_executor(), api, url, all_only_second_time, options);
    it->start();
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(it->counters().acked == 5u);
    BOOST_TEST(it->counters().retried == 5u);
}

BOOST_AUTO_TEST_SUITE_END()
