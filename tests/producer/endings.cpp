#include "producer/fixture.hpp"

#include <boost/asio/use_future.hpp>

#include <future>

using namespace quern;
using namespace quern::test;

BOOST_FIXTURE_TEST_SUITE(producers_that_end, workshop)

// It leaked, and the producer with it: the message that waited kept the coroutine that kept the producer.
BOOST_AUTO_TEST_CASE(a_coroutine_that_owns_the_producer_ends_with_its_context)
{
    bool gone = false;
    struct canary {
        bool& gone;
        ~canary() { gone = true; }
    };
    auto owner = [](workshop& at, bool& is_gone) -> asio::awaitable<void> {
        canary const here{is_gone};
        producer letters(co_await asio::this_coro::executor, at.api, at.url, at.options);
        sqs::send_message_entry entry("hello");
        auto const how = co_await letters.send(std::move(entry));
        BOOST_ERROR("the answer came: " << how.has_value());
    };
    {
        asio::io_context ends;
        asio::co_spawn(ends, owner(*this, gone), [](std::exception_ptr) {});
        ends.poll();
        BOOST_TEST(api.under_way == 1u);
    }
    BOOST_TEST(gone);
    BOOST_TEST(api.under_way == 0u);
}

BOOST_AUTO_TEST_CASE(callbacks_and_futures_are_told)
{
    produce();
    std::optional<sent> how;
    it->send(sqs::send_message_entry("hello"), [&](sent said) { how = std::move(said); });
    auto const unsent = it->flush(asio::use_future);
    time.run_for(io, 1s);
    BOOST_REQUIRE(how);
    BOOST_TEST(how->has_value());
    BOOST_TEST((unsent.wait_for(10s) == std::future_status::ready));
}

BOOST_AUTO_TEST_CASE(a_producer_that_was_moved_goes_on)
{
    produce();
    send("before");
    producer moved(std::move(*it));
    it.emplace(io.get_executor(), api, url, options);
    *it = std::move(moved);
    send("after");
    time.run_for(io, 1s);
    BOOST_TEST(results.size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
