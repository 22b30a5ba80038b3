#include "producer/fixture.hpp"

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

BOOST_AUTO_TEST_SUITE_END()
