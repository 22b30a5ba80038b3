#include "consumer/mill.hpp"

#include <stdexcept>

using namespace quern;
using namespace quern::test;

namespace {

/// A flag that says what the test wants, when it wants.
class test_flag : public policy::flag_source {
public:
    explicit test_flag(quern::clock& time) : time_(time) {}

    std::string name() const override { return "test:halt"; }

    boost::asio::awaitable<result<policy::flag_reading>> read() override
    {
        ++readings;
        auto const timer = time_.make_timer(co_await asio::this_coro::executor);
        co_await timer->wait_until(time_.now() + takes);
        if (throws == fault::number) throw 42;
        if (throws == fault::exception) throw std::runtime_error("the flag's own fault");
        if (!text) co_return failure(errc::connect_failed, "nobody there", true);
        co_return policy::flag_reading{*text, 0s};
    }

    std::optional<std::string> text = "closed";
    std::chrono::milliseconds takes{50};
    enum class fault { none, exception, number };
    fault throws = fault::none;
    int readings = 0;

private:
    quern::clock& time_;
};

struct flagged : mill {
    std::string dead = allow_receives("3");
    std::shared_ptr<test_flag> flag = std::make_shared<test_flag>(time);

    flagged() { options.outage.flag.emplace().source = flag; }

    void begin()
    {
        consume([this](delivery&) -> asio::awaitable<outcome> {
            co_await pause(20ms);
            co_return ack();
        });
    }

    /// Long enough for the next reading, and for the receives under way.
    void settle_down() { time.run_for(io, 35s); }

    bool says_flag() { return explained().find("flag test:halt") != std::string::npos; }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(flags_from_outside, flagged)

BOOST_AUTO_TEST_CASE(a_raised_flag_halts_the_work_and_a_lowered_one_lets_it_go_on)
{
    begin();
    send(50);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(!says_flag());
    flag->text = R"({"isOpen": true})";
    settle_down();
    BOOST_TEST(explained().find("flag test:halt says halt") != std::string::npos, explained());
    BOOST_TEST(log_lines("flag: flag test:halt says halt") == 1);
    auto const before = api.receives;
    send(50);
    time.run_for(io, 2h);
    BOOST_TEST(api.receives == before);
    BOOST_TEST(runs.size() == 50u);
    flag->text = R"({"isOpen": false})";
    BOOST_TEST(until(10min, [this] { return empty(); }));
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(explained().find("nothing is in the way") != std::string::npos, explained());
}

BOOST_AUTO_TEST_CASE(nothing_is_received_before_the_flag_is_known)
{
    flag->text = "open";
    flag->takes = 2s;
    send(50);
    begin();
    time.run_for(io, 1s);
    BOOST_TEST(explained().find("is being read for the first time") != std::string::npos, explained());
    time.run_for(io, 1h);
    BOOST_TEST(api.receives == 0);
    BOOST_TEST(runs.empty());
    flag->text = "closed";
    BOOST_TEST(until(10min, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(a_flag_that_is_down_from_the_start_costs_no_slow_start)
{
    send(500);
    begin();
    BOOST_TEST(until(3s, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(a_pause_and_a_flag_end_each_for_itself)
{
    begin();
    settle_down();
    it->pause("dinner");
    flag->text = "open";
    settle_down();
    send(10);
    flag->text = "closed";
    settle_down();
    BOOST_TEST(runs.empty());
    BOOST_TEST(explained().find("paused: dinner") != std::string::npos, explained());
    flag->text = "open";
    settle_down();
    it->resume();
    time.run_for(io, 10min);
    BOOST_TEST(runs.empty());
    BOOST_TEST(says_flag());
    flag->text = "closed";
    BOOST_TEST(until(10min, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(a_reported_outage_and_a_flag_end_each_for_itself)
{
    begin();
    settle_down();
    it->report_outage(true);
    flag->text = "open";
    settle_down();
    send(10);
    flag->text = "closed";
    time.run_for(io, 10min);
    BOOST_TEST(runs.empty());
    it->report_outage(false);
    BOOST_TEST(until(10min, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(a_flag_that_cannot_be_read_is_loud_and_lets_it_run)
{
    flag->text.reset();
    send(20);
    begin();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(log_lines("flag: flag test:halt is unknown") != 0);
    BOOST_TEST(explained().find("never read, which lets it run") != std::string::npos, explained());
}

// The line came within a second of that of the first reading, and was left out as one more like it.
BOOST_AUTO_TEST_CASE(what_becomes_of_a_flag_that_cannot_be_read_is_in_the_log_however_soon)
{
    options.outage.flag->interval = 1s;
    flag->text.reset();
    begin();
    time.run_for(io, 2s);
    BOOST_TEST(log_lines("flag reading: flag test:halt is being read for the first time: ") == 1);
    BOOST_TEST(log_lines("flag: flag test:halt is unknown, never read, which lets it run") == 1);
}

BOOST_AUTO_TEST_CASE(a_flag_that_cannot_be_read_halts_where_that_was_asked_for)
{
    options.outage.flag->halt_when_unknown = true;
    flag->throws = test_flag::fault::exception;
    send(20);
    begin();
    time.run_for(io, 1h);
    BOOST_TEST(runs.empty());
    BOOST_TEST(explained().find("the flag's own fault") != std::string::npos, explained());
    flag->throws = test_flag::fault::number; // which ended whoever ran the context
    time.run_for(io, 1h);
    BOOST_TEST(explained().find("an exception that is no std::exception") != std::string::npos, explained());
    flag->throws = test_flag::fault::none;
    BOOST_TEST(until(10min, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(a_halt_stands_while_nobody_can_be_asked)
{
    begin();
    settle_down();
    flag->text = "open";
    settle_down();
    flag->text.reset();
    send(10);
    time.run_for(io, 1h);
    BOOST_TEST(runs.empty());
    BOOST_TEST(explained().find("says halt, last read 36") != std::string::npos, explained());
    flag->text = "closed";
    BOOST_TEST(until(10min, [this] { return empty(); }));
    flag->text.reset();
    time.run_for(io, 10min);
    BOOST_TEST(explained().find("which lets it run") != std::string::npos, explained());
}

BOOST_AUTO_TEST_CASE(without_a_breaker_a_flag_halts_as_well_and_what_waits_grows_no_older)
{
    options.outage.breaker.reset();
    options.max_age = 1min;
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        co_await pause(20ms);
        auto const tries = runs[std::string(d.body())];
        if (tries == 1) co_return retry_after(40s);
        if (tries == 2) co_return retry();
        co_return ack();
    });
    settle_down();
    send_now(10);
    time.run_for(io, 5s);
    BOOST_TEST(runs.size() == 10u);
    flag->text = "open";
    time.run_for(io, 20min);
    flag->text = "closed";
    BOOST_TEST(until(30min, [this] { return empty(); }));
    BOOST_TEST(it->counters().rejected == 0u);
    BOOST_TEST(it->counters().acked == 10u);
}

BOOST_AUTO_TEST_CASE(a_drain_does_not_wait_for_a_flag)
{
    flag->text = "open";
    begin();
    settle_down();
    auto const readings = flag->readings;
    auto const end = drained();
    bool const at_once = end.took < 1s;
    BOOST_TEST(at_once);
    BOOST_TEST(end.clean());
    time.run_for(io, 10min);
    BOOST_TEST(flag->readings <= readings + 1);
}

BOOST_AUTO_TEST_SUITE_END()
