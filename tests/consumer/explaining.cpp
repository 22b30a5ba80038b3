#include "consumer/mill.hpp"

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct questioned : mill {
    explanation explained()
    {
        explanation out;
        asio::co_spawn(io, it->explain(), [&](std::exception_ptr, explanation said) { out = std::move(said); });
        time.run_for(io, 0s);
        return out;
    }

    /// The names of what is in the way.
    std::vector<std::string> obstacles()
    {
        std::vector<std::string> out;
        for (auto const& o : explained().obstacles)
            out.push_back(o.name);
        return out;
    }

    int stalls() const
    {
        return static_cast<int>(
            std::ranges::count_if(log, [](auto const& line) { return line.starts_with("stalled"); }));
    }

    void consume_slowly(std::chrono::milliseconds takes)
    {
        consume([this, takes](delivery&) -> asio::awaitable<outcome> {
            co_await pause(takes);
            co_return ack();
        });
    }
};

using names = std::vector<std::string>;

} // namespace

BOOST_FIXTURE_TEST_SUITE(explaining, questioned)

BOOST_AUTO_TEST_CASE(an_idle_consumer_has_nothing_in_its_way_and_does_not_stall)
{
    allow_receives("5"); // without a dead-letter queue it is warned at the start
    consume_slowly(0ms);
    time.run_for(io, 30s);
    auto const said = explained();
    BOOST_TEST(said.polls == 1u);
    BOOST_TEST(said.obstacles.empty());
    BOOST_TEST(!said.oldest.has_value());
    BOOST_TEST(!said.last_problem.has_value());
    time.run_for(io, 1h);
    BOOST_TEST(log.empty());
}

BOOST_AUTO_TEST_CASE(full_of_messages_it_tells_which_is_the_oldest)
{
    options.limits.max_in_flight = 5;
    send(10);
    consume_slowly(10min);
    time.run_for(io, 2min);
    auto const said = explained();
    BOOST_TEST(obstacles() == names{"max_in_flight"}, boost::test_tools::per_element());
    BOOST_TEST(said.in_flight == 5u);
    BOOST_TEST(said.running == 5u);
    BOOST_TEST(said.bytes > 5u * 2);
    BOOST_REQUIRE(said.oldest.has_value());
    BOOST_TEST(said.oldest->state == "running");
    BOOST_TEST(said.oldest->age.count() >= 119'000);
    BOOST_TEST(to_string(said).find(
                   "0 receives open, 5 messages in flight; max_in_flight is reached: 5 are being handled, 0 "
                   "wait or are being settled; the oldest message, ") == 0u);
}

BOOST_AUTO_TEST_CASE(bytes_and_rate_are_named_by_their_options)
{
    options.limits.max_bytes_in_flight = 1 << 20;
    engine.send_message(sqs::send_message_request(url, std::string(1'000'000, '.')), time.wall()).value();
    send(1);
    consume_slowly(10min);
    time.run_for(io, 1min);
    BOOST_TEST(obstacles() == names{"max_bytes_in_flight"}, boost::test_tools::per_element());

    questioned other;
    other.options.limits.rate = policy::rate{.count = 1, .per = 1h, .burst = 1};
    other.send(3);
    other.consume_slowly(0ms);
    other.time.run_for(other.io, 10min);
    BOOST_TEST(other.obstacles() == names{"rate"}, boost::test_tools::per_element());
    BOOST_TEST(to_string(other.explained()).find("rate: 0 messages wait for their turn, the next in 29") !=
        std::string::npos);
    BOOST_TEST(other.stalls() == 0); // it does what it was told
}

BOOST_AUTO_TEST_CASE(receives_that_fail_are_an_obstacle_and_their_error_is_told_after_they_succeed)
{
    bool refused = true;
    api.on_receive = [&]() -> std::optional<failure> {
        if (!refused) return {};
        return failure(errc::connect_failed, "refused", true);
    };
    consume_slowly(0ms);
    time.run_for(io, 30s);
    BOOST_TEST(obstacles() == names{"receives_fail"}, boost::test_tools::per_element());
    auto const failing = explained();
    BOOST_TEST(failing.obstacles.front().text.find("in a row: the next in") != std::string::npos);
    refused = false;
    time.run_for(io, 1min);
    auto const said = explained();
    BOOST_TEST(said.obstacles.empty());
    BOOST_REQUIRE(said.last_problem.has_value());
    BOOST_TEST(said.last_problem->text.find("receive failed") == 0u);
    BOOST_TEST(said.last_problem->ago.count() >= 49'000);
}

BOOST_AUTO_TEST_CASE(a_pause_says_whose_it_is)
{
    consume_slowly(0ms);
    it->pause("the shop moves house");
    time.run_for(io, 10min);
    BOOST_TEST(obstacles() == names{"paused"}, boost::test_tools::per_element());
    BOOST_TEST(explained().obstacles.front().text == "paused: the shop moves house");
    BOOST_TEST(stalls() == 0);
    it->resume();
    time.run_for(io, 1s);
    BOOST_TEST(explained().obstacles.empty());
}

BOOST_AUTO_TEST_CASE(the_beginning_and_the_end_are_obstacles)
{
    it.emplace(io.get_executor(), api, url, fast, options);
    BOOST_TEST(obstacles() == names{"not_started"}, boost::test_tools::per_element());
    it->start();
    time.run_for(io, 1s);
    begin_drain(30s);
    time.run_for(io, 1s);
    BOOST_TEST(obstacles() == names{"draining"}, boost::test_tools::per_element());
    time.run_for(io, 30s);
    BOOST_TEST(obstacles() == names{"ended"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_stall_is_logged_with_its_reason_and_not_every_minute)
{
    options.limits.max_in_flight = 3;
    send(4);
    api.before_deleted = [this] { return pause(30min); };
    consume_slowly(0ms);
    time.run_for(io, 59s);
    BOOST_TEST(stalls() == 0);
    time.run_for(io, 2s);
    BOOST_TEST(stalls() == 1);
    BOOST_TEST(
        log.back().find("stalled: nothing received and nothing settled for 60 s: 0 receives open, 3 messages in "
                        "flight; max_in_flight is reached: 0 are being handled, 3 wait or are being settled") == 0u);
    time.run_for(io, 28min);
    BOOST_TEST(stalls() == 5);
}

// As after a long pause of the process, or with a client whose calls never come back.
BOOST_AUTO_TEST_CASE(a_receive_that_is_never_answered_is_a_stall)
{
    options.stall_after = 40s;
    api.before_received = [this](auto&) { return pause(10min); };
    consume_slowly(0ms);
    time.run_for(io, 50s);
    BOOST_TEST(stalls() == 1);
    BOOST_TEST(log.back().find("1 receive open") != std::string::npos);
    api.before_received = [](auto&) -> asio::awaitable<void> { co_return; };
    time.run_for(io, 11min);
}

BOOST_AUTO_TEST_SUITE_END()
