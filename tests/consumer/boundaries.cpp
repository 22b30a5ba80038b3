// Where the consumer meets what is its user's: the api, which may go once the drain has ended, and callbacks, which are
// called on no stack of the user's.

#include "consumer/mill.hpp"

#include <boost/asio/post.hpp>

#include <memory>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

/// Hangs in the first request to the poison queue, for longer than the drain. As an sqs::client, it may be destroyed meanwhile.
class hanging_api final : public hooked_api {
public:
    hanging_api(sqs::api& real, mill& its, int& sends) : hooked_api(real), mill_(its), sends_(sends) {}

    answer<sqs::send_message_batch_response> send_message_batch(sqs::send_message_batch_request) override
    {
        ++sends_;
        co_await mill_.pause(10s);
        co_return failure(errc::stopped, "the client is gone");
    }

private:
    mill& mill_;
    int& sends_;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(boundaries, mill)

// Two large messages went to the poison queue in two requests, the second of them through a client that was gone.
BOOST_AUTO_TEST_CASE(the_api_is_not_used_after_the_drain)
{
    options.poison_queue_url =
        engine.create_queue(sqs::create_queue_request("poison"), time.wall()).value().queue_url;
    for (int i = 0; i < 2; ++i) {
        sqs::send_message_request large(url, std::string(600 * 1024, 'x'));
        engine.send_message(std::move(large), time.wall()).value();
    }
    options.wait_time = 1s;
    int sends = 0;
    auto hanging = std::make_unique<hanging_api>(*local, *this, sends);
    auto const refuse = [](delivery&) { return reject("as told by the test"); };
    it.emplace(io.get_executor(), *hanging, url, refuse, options);
    it->start();
    BOOST_TEST(until(1s, [&] { return sends == 1; }));
    time.run_for(io, 1s);
    BOOST_TEST(sends == 1);
    begin_drain(2s);
    BOOST_TEST(until(3s, [this] { return report.has_value(); }));
    BOOST_TEST(report->at_risk == 2u);
    it.reset();
    hanging.reset();
    time.run_for(io, 1min);
    BOOST_TEST(sends == 1);
}

BOOST_AUTO_TEST_SUITE_END()
