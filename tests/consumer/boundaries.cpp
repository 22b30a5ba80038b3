// Where the consumer meets what is its user's: the api, which may go once the drain has ended, and callbacks, which
// are called on no stack of the user's.

#include "consumer/mill.hpp"

#include <boost/asio/post.hpp>

#include <memory>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

/// Hangs in the first request to the poison queue, for longer than the drain. As an sqs::client, it may be destroyed
/// meanwhile.
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
    options.poison_queue = engine.create_queue(sqs::create_queue_request("poison"), time.wall()).value().queue_url;
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

// Called on a thread of the context, each of them may hold a lock that a callback wants.
BOOST_AUTO_TEST_CASE(no_call_runs_a_callback_on_the_stack_of_its_caller)
{
    bool calling = false;
    int callbacks = 0;
    auto const called = [&] {
        BOOST_TEST(!calling);
        ++callbacks;
        return std::optional<failure>();
    };
    options.log = [&](log_level, std::string_view) { called(); };
    options.classify = [&](std::exception_ptr) {
        called();
        return std::optional<outcome>();
    };
    api.on_receive = api.on_change = called;
    send(3);
    auto const fails = [](delivery&) -> asio::awaitable<void> { throw std::runtime_error("as told by the test"); };
    it.emplace(io.get_executor(), api, url, fails, options);
    auto const call = [&](auto what) {
        auto const before = callbacks;
        asio::post(io, [&, what] {
            calling = true;
            what();
            calling = false;
            BOOST_TEST(callbacks == before);
        });
        time.run_for(io, 1s);
    };
    call([this] { it->start(); });
    BOOST_TEST(callbacks > 0);
    call([this] { it->pause(); });
    call([this] { it->resume(); });
    call([this] { it->report_outage(true); });
    call([this] { it->report_outage(false); });
    call([this] { begin_drain(30s); });
    BOOST_TEST(until(31s, [this] { return report.has_value(); }));
    call([this] { it.reset(); });
}

BOOST_AUTO_TEST_SUITE_END()
