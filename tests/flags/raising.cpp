#include <quern/flags/detail/raise_rule.hpp>
#include <quern/flags/file.hpp>
#include <quern/flags/raiser.hpp>
#include <quern/sim/virtual_clock.hpp>

#include "support/paper_files.hpp"
#include "support/t0.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;
using flags::detail::raise_rule;

BOOST_AUTO_TEST_SUITE(raising_a_flag)

BOOST_AUTO_TEST_CASE(open_is_written_once_an_outage_has_lasted_and_closed_when_it_is_over)
{
    raise_rule rule;
    BOOST_TEST(!rule.wake_at());
    rule.outage(true, t0);
    BOOST_TEST((rule.wake_at() == t0 + 10s));
    BOOST_TEST(!rule.poll(t0 + 9s));
    BOOST_TEST(rule.poll(t0 + 10s).value());
    BOOST_TEST(!rule.poll(t0 + 10s)); // one at a time
    rule.written(true, t0 + 11s);
    BOOST_TEST((rule.wake_at() == t0 + 71s)); // others may have written
    BOOST_TEST(rule.poll(t0 + 71s).value());
    rule.written(true, t0 + 71s);
    rule.outage(false, t0 + 80s);
    BOOST_TEST(!rule.poll(t0 + 80s).value());
    rule.written(true, t0 + 80s);
    BOOST_TEST(!rule.wake_at());
}

BOOST_AUTO_TEST_CASE(a_short_suspicion_writes_nothing)
{
    raise_rule rule;
    rule.outage(true, t0);
    rule.outage(false, t0 + 9s);
    BOOST_TEST(!rule.wake_at());
    BOOST_TEST(!rule.poll(t0 + 1h));
}

BOOST_AUTO_TEST_CASE(what_could_not_be_written_is_written_later_and_later)
{
    raise_rule rule;
    rule.outage(true, t0);
    auto now = t0 + 10s;
    for (auto const pause : {2s, 4s, 8s, 16s, 32s, 32s}) {
        BOOST_TEST(rule.poll(now).value());
        rule.written(false, now);
        BOOST_TEST((rule.wake_at() == now + pause));
        now += pause;
    }
    rule.finish(now); // perhaps it was written all the same
    BOOST_TEST(!rule.poll(now).value());
    rule.written(true, now);
    BOOST_TEST(!rule.wake_at());
}

BOOST_AUTO_TEST_CASE(a_process_tells_others_of_its_outage_and_closes_the_flag_at_its_end)
{
    sim::virtual_clock time;
    boost::asio::io_context io;
    paper_files disk;
    std::vector<std::string> troubles;
    std::optional<flags::raiser> it(
        std::in_place, io.get_executor(), flags::in_file("/run/down", disk),
        [&](std::string const& why) { troubles.push_back(why); }, time);
    time.run_for(io, 1min);
    BOOST_TEST(disk.text.empty());
    it->outage(true);
    time.run_for(io, 15s);
    BOOST_TEST(disk.text["/run/down"] == "open");
    it->outage(false);
    time.run_for(io, 1s);
    BOOST_TEST(disk.text["/run/down"] == "closed");
    disk.locked.insert("/run/down");
    it->outage(true);
    time.run_for(io, 10min);
    BOOST_TEST(troubles.size() == 1u);
    disk.locked.clear();
    time.run_for(io, 1min);
    BOOST_TEST(disk.text["/run/down"] == "open");
    bool ended = false;
    auto const work = [&]() -> boost::asio::awaitable<void> {
        co_await it->end();
        ended = true;
    };
    boost::asio::co_spawn(io, work, [](std::exception_ptr e) { BOOST_TEST(!e); });
    time.run_for(io, 1s);
    BOOST_TEST(ended);
    BOOST_TEST(disk.text["/run/down"] == "closed");
}

BOOST_AUTO_TEST_CASE(a_source_that_cannot_be_written_says_so)
{
    struct nowhere final : policy::flag_source {
        std::string name() const override { return "appconfig:a/b/c"; }
        boost::asio::awaitable<result<policy::flag_reading>> read() override { co_return policy::flag_reading(); }
    } flag;
    boost::asio::io_context io;
    std::string said;
    boost::asio::co_spawn(
        io, flag.write("open"), [&](std::exception_ptr, result<void> done) { said = done.error().message; });
    io.run();
    BOOST_TEST(said == "appconfig:a/b/c: a flag there cannot be written from here");
}

BOOST_AUTO_TEST_SUITE_END()
