#include <quern/core/clock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <memory>
#include <optional>

namespace asio = boost::asio;
using namespace quern;
using namespace std::chrono_literals;

namespace {

struct waiting {
    asio::io_context io;
    std::unique_ptr<timer> alarm = real_clock().make_timer(io.get_executor());
    std::optional<bool> said;

    void wait_until(tick at)
    {
        asio::co_spawn(
            io,
            [this, at]() -> asio::awaitable<void> {
                auto& its = *alarm;
                said = co_await its.wait_until(at);
            },
            [](std::exception_ptr thrown) { BOOST_TEST(!thrown); });
        io.poll();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(clocks, waiting)

BOOST_AUTO_TEST_CASE(the_real_clock_is_the_steady_one_until_the_machine_sleeps)
{
    auto const before = std::chrono::steady_clock::now();
    auto const now = real_clock().now();
    BOOST_TEST((now >= before - 1s && now <= std::chrono::steady_clock::now() + 1s));
}

BOOST_AUTO_TEST_CASE(a_wait_ends_at_its_time_and_not_before)
{
    auto const at = real_clock().now() + 20ms;
    wait_until(at);
    BOOST_TEST(!said.has_value());
    io.run();
    BOOST_TEST(said.value());
    BOOST_TEST((real_clock().now() >= at));
    said.reset();
    io.restart();
    wait_until(tick::min());
    BOOST_TEST(said.value_or(true));
}

BOOST_AUTO_TEST_CASE(a_wait_without_an_end_is_cancelled)
{
    wait_until(tick::max());
    alarm->cancel();
    io.run();
    BOOST_TEST(!said.value());
}

BOOST_AUTO_TEST_CASE(the_timer_may_go_while_a_wait_ends)
{
    wait_until(real_clock().now());
    asio::post(io, [this] { alarm.reset(); });
    io.run();
    BOOST_TEST(said.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
