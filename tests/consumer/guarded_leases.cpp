// co_await d.guard_lease().

#include "consumer/mill.hpp"

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

/// Agrees to everything, in its time.
struct slow_guard : lease_guard {
    mill& its;
    std::chrono::seconds takes;
    int asked = 0;
    slow_guard(mill& m, std::chrono::seconds t) : its(m), takes(t) {}

    asio::awaitable<result<void>> extend(std::chrono::seconds) override
    {
        ++asked;
        co_await its.pause(takes);
        co_return result<void>();
    }
};

/// The first extension fails, and its repeat takes five seconds.
struct slow_repeat : mill {
    std::shared_ptr<slow_guard> guard = std::make_shared<slow_guard>(*this, 3s);
    int on_the_wire = 0, most_on_the_wire = 0;
    std::optional<bool> extended;

    slow_repeat()
    {
        api.on_change = [this]() -> std::optional<failure> {
            if (api.changes == 1) return failure(errc::timed_out, "no answer", true);
            most_on_the_wire = std::max(most_on_the_wire, ++on_the_wire);
            return {};
        };
        api.before_answer = [this]() -> asio::awaitable<void> {
            co_await pause(5s);
            --on_the_wire;
        };
        send(1);
    }

    asio::awaitable<void> first_extension()
    {
        while (api.changes == 0)
            co_await pause(1ms);
    }

    asio::awaitable<void> put_on_guard(delivery& d)
    {
        auto const said = co_await d.guard_lease(guard);
        BOOST_TEST(said.has_value());
    }

    asio::awaitable<void> extend(delivery& d, std::chrono::seconds by)
    {
        auto const wanted = time.now() + by;
        auto const said = co_await d.extend(by);
        extended = said.has_value();
        BOOST_TEST((d.lease_deadline() >= wanted));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(guarded_leases, slow_repeat)

// The repeat was sent while the guard considered another, and the two could overtake each other.
BOOST_AUTO_TEST_CASE(a_guard_that_takes_its_time_lets_no_two_extensions_overlap)
{
    guard->takes = 0s;
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        co_await put_on_guard(d);
        co_await first_extension();
        guard->takes = 3s;
        co_await extend(d, 1min);
        co_return ack();
    });
    BOOST_TEST(until(2min, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(extended.value_or(false));
    BOOST_TEST(guard->asked > 1);
    BOOST_TEST(most_on_the_wire == 1);
    BOOST_TEST(it->counters().lost == 0u);
}

// Its answer brings no more than the guard had agreed to, which is to be told, and was taken for success.
BOOST_AUTO_TEST_CASE(an_extension_that_was_sent_before_there_was_a_guard_is_not_the_one_awaited)
{
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        co_await first_extension();
        co_await put_on_guard(d);
        co_await extend(d, 25s);
        co_return ack();
    });
    BOOST_TEST(until(2min, [this] { return empty() && it->in_flight() == 0; }));
    BOOST_TEST(extended.value_or(false));
    BOOST_TEST(most_on_the_wire == 1);
    BOOST_TEST(it->counters().lost == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
