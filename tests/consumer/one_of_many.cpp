// Messages with a fault of their own, which are no outage, and what an outage does to them.

#include "consumer/mill.hpp"

#include <random>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct mixed : mill {
    int good = 0, bad = 0, tries = 0;
    std::mt19937 random{1};
    bool down = false;

    /// Consumes; a message that begins with "bad" finds something down that nobody else needs.
    void consume_some_bad()
    {
        consume([this](delivery& d) -> asio::awaitable<outcome> {
            co_await pause(10ms);
            if (d.body().starts_with("bad")) {
                ++bad;
                co_return unavailable();
            }
            if (down) co_return unavailable();
            ++good;
            co_return ack();
        });
    }

    /// Sends so many good ones a second, one after the other.
    void work(std::chrono::seconds how_long, int each_second)
    {
        for (auto const end = time.now() + how_long; time.now() < end;) {
            send_now("good" + std::to_string(sent));
            time.run_for(io, std::chrono::milliseconds(1'000 / each_second));
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(one_of_many, mixed)

// It ran a hundred times a second, opened the breaker by itself, and took the only place of a probe for ever: of
// 144,201 messages 201 were handled in two hours.
BOOST_AUTO_TEST_CASE(one_message_that_is_always_unavailable_stops_nobody_and_ends_in_the_dead_letter_queue)
{
    auto const dead = allow_receives("5");
    consume_some_bad();
    work(10s, 20);
    send_now("bad");
    work(10min, 20);
    BOOST_TEST(good >= sent - 2);
    BOOST_TEST(bad == 6); // once more on its last receive: in doubt
    BOOST_TEST(in(dead) == 1);
    BOOST_TEST(log_lines("breaker") == 0);
}

BOOST_AUTO_TEST_CASE(one_message_that_is_always_unavailable_is_tried_as_often_as_its_backoff_says)
{
    options.limits.max_in_flight = 2'000;
    consume_some_bad();
    work(1s, 200);
    send_now("bad");
    work(15s, 200);
    BOOST_TEST(bad >= 3);
    BOOST_TEST(bad <= 6); // after 1, 2, 4, 8 s, or half of these
}

// Nobody can tell them from an outage as long as nothing else brings better news.
BOOST_AUTO_TEST_CASE(two_messages_alone_that_are_always_unavailable_wait_for_others)
{
    auto const dead = allow_receives("5");
    consume_some_bad();
    send_now("bad1");
    send_now("bad2");
    time.run_for(io, 10min);
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(bad <= 50); // each once in half a minute at most
    work(5min, 1);
    BOOST_TEST(in(dead) == 2);
    BOOST_TEST(log_lines("breaker") == 0);
}

BOOST_AUTO_TEST_CASE(half_of_all_messages_may_be_unavailable_and_the_others_keep_their_pace)
{
    for (auto const named : {false, true}) {
        mixed m;
        auto const dead = m.allow_receives("5");
        if (named) m.options.outage.dependency = [](delivery const& d) { return std::string(d.body().substr(0, 3)); };
        m.consume_some_bad();
        int healthy = 0;
        for (int i = 0; i < 10'000; ++i) {
            auto const one_is_bad = m.random() % 2 == 0;
            healthy += one_is_bad ? 0 : 1;
            m.send_now((one_is_bad ? "bad" : "good") + std::to_string(i));
            m.time.run_for(m.io, 50ms);
        }
        BOOST_TEST(m.good >= healthy * 9 / 10, named);
        BOOST_TEST(m.until(30min, [&] { return m.good == healthy; }));
        if (named) BOOST_TEST(m.bad < 5'000); // that one has a breaker of its own
    }
}

// It was the probe again and again, and nothing else was received.
BOOST_AUTO_TEST_CASE(a_message_that_is_always_unavailable_does_not_prolong_an_outage)
{
    auto const dead = allow_receives("3");
    consume_some_bad();
    send_now("bad");
    down = true;
    work(10min, 1);
    down = false;
    auto const before = good;
    work(2min, 1);
    BOOST_TEST(good - before >= 100);
    BOOST_TEST(until(20min, [&] { return good == sent - 1; }));
    BOOST_TEST(in(dead) <= 1); // the bad one
    BOOST_TEST(until(20min, [&] { return in(dead) == 1; }));
    BOOST_TEST(log_lines("breaker: half open for") != 0);
}

// One ordinary failure while half open opened it again, and in slow start each took a success away: an hour later it
// was still 32 messages at a time.
BOOST_AUTO_TEST_CASE(after_an_outage_a_consumer_whose_messages_often_fail_is_back_at_its_pace_within_minutes)
{
    options.backoff = policy::backoff::fixed({30s});
    consume([this](delivery&) -> asio::awaitable<outcome> {
        ++tries;
        co_await pause(100ms);
        if (down) co_return unavailable();
        auto const fails = random() % 100 < 70;
        co_return fails ? retry() : ack();
    });
    auto const tries_in = [&](std::chrono::seconds how_long) {
        auto const before = tries;
        work(how_long, 10);
        return tries - before;
    };
    tries_in(3min);
    auto const usual = tries_in(2min);
    down = true;
    tries_in(1min);
    down = false;
    tries_in(2min);
    auto const afterwards = tries_in(2min);
    BOOST_TEST(afterwards * 10 >= usual * 9);
    BOOST_TEST(explained().find("; breaker ") == std::string::npos, explained());
    BOOST_TEST(visible() < 20);
}

BOOST_AUTO_TEST_CASE(what_nobody_can_read_says_nothing_about_what_handlers_need)
{
    for (auto const policy : {malformed_policy::retry, malformed_policy::reject, malformed_policy::discard}) {
        mixed m;
        m.options.on_malformed = policy;
        m.consume([](delivery&) -> asio::awaitable<outcome> {
            throw parse_error("no JSON");
            co_return ack();
        });
        m.send(60);
        m.time.run_for(m.io, 5s);
        BOOST_TEST(m.runs.size() == 60u);
        BOOST_TEST(m.log_lines("breaker") == 0);
    }
}

// Thrown away, they counted as calls that succeeded, and ended the outage.
BOOST_AUTO_TEST_CASE(what_nobody_can_read_ends_no_outage)
{
    options.on_malformed = malformed_policy::discard;
    options.limits.max_in_flight = 10;
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        if (d.body().ends_with("9")) throw parse_error("no JSON");
        ++tries;
        co_await pause(100ms);
        co_return unavailable();
    });
    send(2'000);
    time.run_for(io, 1min);
    BOOST_TEST(tries < 1'000);
    BOOST_TEST(explained().find("breaker half open") != std::string::npos, explained());
}

BOOST_AUTO_TEST_SUITE_END()
