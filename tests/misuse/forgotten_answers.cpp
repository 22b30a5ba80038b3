// Answers that are awaited and not looked at: each may be a failure. g++ 12 says nothing of these, so clang reads
// them.

#include <quern/quern.hpp>

#include <boost/asio/io_context.hpp>

namespace asio = boost::asio;

asio::awaitable<void> bake(quern::delivery& d, std::shared_ptr<quern::lease_guard> guard)
{
    co_await d.ack();                            // warns
    co_await d.extend(std::chrono::minutes(10)); // warns
    co_await d.guard_lease(guard);               // warns
    auto const said = co_await d.ack();
    if (!said) co_await d.extend(std::chrono::seconds(5)); // warns
}

asio::awaitable<void> open_shop(quern::consumer& c, quern::producer& p, quern::sqs::api& sqs)
{
    quern::consumer_limits fewer;
    fewer.max_in_flight = 5;
    co_await c.set_limits(fewer); // warns
    quern::sqs::send_message_entry loaf;
    co_await p.send(loaf); // warns
    quern::sqs::purge_queue_request everything;
    co_await sqs.purge_queue(everything); // warns
    co_await c.run();                     // warns
}
