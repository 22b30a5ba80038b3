// Results that nobody looks at, and operations that nobody awaits, so that they never begin. Without the warning the
// first handler acknowledges what it means to try again.

#include <quern/quern.hpp>

namespace asio = boost::asio;

asio::awaitable<void> handle(quern::delivery& d)
{
    if (d.body().empty()) quern::reject("no body"); // warns
    quern::retry();                                 // warns
    quern::unavailable();                           // warns
    d.ack();                                        // warns
    d.extend(std::chrono::minutes(10));             // warns
    co_return;
}

void look(quern::consumer& c)
{
    c.run();                              // warns
    c.drain(std::chrono::seconds(5));     // warns
    c.counters();                         // warns
    c.in_flight();                        // warns
    quern::consumer_options().validate(); // warns
}
