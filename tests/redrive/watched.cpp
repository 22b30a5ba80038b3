// A run that somebody looks at from outside.

#include "redrive/yard.hpp"

using namespace quern;
using namespace quern::test;

namespace {

struct listener : observer {
    void received(observed_message const&) override { ++heard; }
    int heard = 0;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(redriver_watched, yard)

BOOST_AUTO_TEST_CASE(its_consumer_is_there_from_before_it_begins_until_whoever_looks_has_let_go)
{
    kill(5);
    auto const listening = std::make_shared<listener>();
    options.observer = listening;
    consumer const* it = nullptr;
    int heard_before = -1;
    options.begins = [&](consumer const& c) {
        it = &c;
        heard_before = listening->heard;
    };
    std::uint64_t acked = 0;
    auto const last_look = [&]() -> asio::awaitable<void> {
        auto const timer = time.make_timer(io.get_executor());
        co_await timer->wait_until(time.now() + 10s); // as long as a page may take
        acked = it->counters().acked;
    };
    options.ends = [&] { return last_look(); };
    auto const got = run();
    BOOST_TEST(got.redriven == 5u);
    BOOST_TEST(heard_before == 0);
    BOOST_TEST(listening->heard == 5);
    BOOST_TEST(acked == 5u);
}

BOOST_AUTO_TEST_SUITE_END()
