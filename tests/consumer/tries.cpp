// consumer_options::max_tries

#include "consumer/mill.hpp"

using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct trying : mill {
    std::string const poison =
        engine.create_queue(sqs::create_queue_request("poison"), time.wall()).value().queue_url;

    trying() { options.poison_queue = poison; }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(tries, trying)

BOOST_AUTO_TEST_CASE(what_fails_as_often_as_max_tries_allows_is_rejected)
{
    options.max_tries = 3;
    send(3);
    consume([](delivery& d) -> asio::awaitable<outcome> {
        if (d.body() == "m0" && d.receive_count() == 3) co_return ack();
        if (d.body() == "m1") throw std::runtime_error("not now");
        co_return retry();
    });
    BOOST_TEST(until(5min, [this] { return empty(); }));
    for (auto const* body : {"m0", "m1", "m2"})
        BOOST_TEST(runs.at(body) == 3);
    BOOST_TEST(in(poison) == 2);
    BOOST_TEST(it->counters().acked == 1u);
    BOOST_TEST(it->counters().rejected == 2u);
}

// The receives of an outage count with SQS, and are no reason by themselves.
BOOST_AUTO_TEST_CASE(an_outage_has_no_message_rejected_for_its_tries)
{
    options.max_tries = 2;
    options.backoff = policy::backoff::fixed({1s});
    send(1);
    consume([](delivery& d) -> asio::awaitable<outcome> {
        if (d.receive_count() < 6) co_return unavailable();
        co_return ack();
    });
    BOOST_TEST(until(1h, [this] { return empty(); }));
    BOOST_TEST(runs.at("m0") == 6);
    BOOST_TEST(in(poison) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
