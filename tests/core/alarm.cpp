#include <quern/core/alarm.hpp>
#include <quern/sim/virtual_clock.hpp>

#include "support/run.hpp"

#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

struct sleepers {
    asio::io_context io;
    sim::virtual_clock time;
    quern::alarm bell{time, io.get_executor()};
    std::vector<bool> woken; // true: rung, false: by the clock
    std::vector<tick> at;

    void wait(std::optional<tick> until)
    {
        auto waiting = [](sleepers& s, std::optional<tick> end) -> asio::awaitable<void> {
            auto const rung = co_await s.bell.wait(end);
            s.woken.push_back(rung);
            s.at.push_back(s.time.now());
        };
        asio::co_spawn(io, waiting(*this, until), [](std::exception_ptr e) { BOOST_TEST(!e); });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(alarm_and_virtual_clock, sleepers)

BOOST_AUTO_TEST_CASE(the_deadline_wakes_at_its_moment_and_no_real_time_passes)
{
    auto const t0 = time.now();
    wait(t0 + 24h);
    time.run_for(io, 48h);
    BOOST_TEST(woken == std::vector{false}, boost::test_tools::per_element());
    BOOST_TEST(at.at(0) == t0 + 24h);
    BOOST_TEST(time.now() == t0 + 48h);
}

BOOST_AUTO_TEST_CASE(a_ring_wakes_before_the_deadline)
{
    wait(time.now() + 1h);
    time.run_for(io, 1min);
    BOOST_TEST(woken.empty());
    bell.ring();
    time.run_for(io, 0s);
    BOOST_TEST(woken == std::vector{true}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_ring_before_the_wait_is_not_lost_and_wakes_once)
{
    bell.ring();
    bell.ring();
    wait({});
    time.run_for(io, 0s);
    BOOST_TEST(woken.size() == 1u);
    wait({});
    time.run_for(io, 24h);
    BOOST_TEST(woken.size() == 1u);
    bell.ring();
    time.run_for(io, 0s);
    BOOST_TEST(woken.size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_calendar_may_jump_without_the_steady_clock)
{
    auto const wall = time.wall();
    auto const steady = time.now();
    time.jump_wall(-1h);
    BOOST_TEST(time.wall() == wall - 1h);
    BOOST_TEST(time.now() == steady);
}

BOOST_AUTO_TEST_SUITE_END()
