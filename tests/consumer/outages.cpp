#include "consumer/mill.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

/// A queue that gives up on a message after three receives, and a dependency that is down for a while.
struct stricken : mill {
    std::string dead = allow_receives("3");
    tick down_from = tick::max(), down_until = tick::max();
    std::size_t calls_while_down = 0;

    bool down() const { return time.now() >= down_from && time.now() < down_until; }

    void consume_what_depends(outcome when_down = unavailable())
    {
        consume([this, when_down](delivery&) -> asio::awaitable<outcome> {
            co_await pause(20ms);
            auto const failing = down();
            calls_while_down += failing ? 1u : 0u;
            co_return failing ? when_down : ack();
        });
    }

    /// A message every six seconds, and all but the beginning without what they depend on; then the queue runs empty.
    void half_an_hour_of_outage(std::chrono::milliseconds good = 1s)
    {
        consume_what_depends();
        half_an_hour_passes(good);
    }

    void half_an_hour_passes(std::chrono::milliseconds good)
    {
        down_from = time.now() + good;
        down_until = time.now() + 30min;
        for (int i = 0; i < 60; ++i) {
            send_now(5);
            time.run_for(io, 30s);
        }
        BOOST_TEST(until(20min, [this] { return empty(); }));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(outages, stricken)

BOOST_AUTO_TEST_CASE(half_an_hour_of_outage_sends_no_message_to_the_dead_letter_queue)
{
    half_an_hour_of_outage();
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(it->counters().acked == 300u);
}

// What the breaker is for.
BOOST_AUTO_TEST_CASE(without_a_breaker_the_same_half_hour_fills_the_dead_letter_queue)
{
    options.outage.breaker.reset();
    half_an_hour_of_outage();
    BOOST_TEST(in(dead) > 200);
    BOOST_TEST(it->counters().acked + static_cast<std::size_t>(in(dead)) == 300u);
    BOOST_TEST(calls_while_down > 600u);
}

// It ran again and again, as fast as its handler could say so.
BOOST_AUTO_TEST_CASE(without_a_breaker_what_finds_its_dependency_down_is_put_off)
{
    options.outage.breaker.reset();
    send(1);
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const long_enough = runs.at(std::string(d.body())) == 100;
        co_return long_enough ? ack() : unavailable();
    });
    time.run_for(io, 1min);
    BOOST_TEST(runs.at("m0") <= 7);
}

// It was asked for once. When that failed nobody was told, and the outage reached the dead-letter queue.
BOOST_AUTO_TEST_CASE(the_redrive_policy_is_asked_for_until_it_can_be_read)
{
    allow_receives("1");
    options.limits.max_in_flight = 2'000; // so that all may wait here
    auto const t0 = time.now();
    int asked = 0;
    api.on_attributes = [&]() -> std::optional<failure> {
        ++asked;
        if (time.now() - t0 >= 10s) return {};
        return failure(errc::service_error, "not now");
    };
    half_an_hour_of_outage(40s);
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(asked > 2);
    BOOST_TEST(asked < 12); // every ten minutes as well, and at the outage's beginning
    auto const told = [this](std::string const& what) { return std::ranges::count(log, what); };
    BOOST_TEST(told("redrive policy: " + url +
                   ": cannot be read (sqs:GetQueueAttributes), so until it can an outage may fill the dead-letter "
                   "queue, and rejected messages are put off: the service refused: not now") == 1);
    BOOST_TEST(told("redrive policy: read at last") == 1);
}

namespace {

/// When what messages depend on was found down, and when the queue was asked for its redrive policy.
struct asking_watch : life_watch {
    explicit asking_watch(quern::clock& t) : time(t) {}

    void breaker_changed(std::string_view, policy::breaker::phase from, policy::breaker::phase to) override
    {
        using phase = policy::breaker::phase;
        if (from == phase::closed && to == phase::half_open) opened.push_back(time.now());
    }

    quern::clock& time; // that of <ctime> is a function
    std::vector<tick> opened, asked;
};

} // namespace

// It was read once, and then every ten minutes: lowered in between, an outage filled the dead-letter queue.
BOOST_AUTO_TEST_CASE(a_redrive_policy_that_is_lowered_shortly_before_an_outage_is_read_as_that_begins)
{
    auto const watch = std::make_shared<asking_watch>(time);
    options.observer = watch;
    api.on_attributes = [&] {
        watch->asked.push_back(time.now());
        return std::optional<failure>();
    };
    allow_receives("100");
    consume_what_depends();
    time.run_for(io, 2min);
    BOOST_TEST(watch->asked.size() == 1u);
    allow_receives("3");
    half_an_hour_passes(10s);
    BOOST_REQUIRE(!watch->opened.empty());
    BOOST_REQUIRE(watch->asked.size() > 1u);
    bool const in_time = watch->asked[1] < watch->opened[0]; // the first that found it down was enough
    BOOST_TEST(in_time);
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(it->counters().acked == 300u);
}

// Without keys, or without a queue, there is nothing else to say.
BOOST_AUTO_TEST_CASE(where_receives_fail_as_well_the_redrive_policy_is_no_news)
{
    auto const broken = [] { return std::optional(failure(errc::no_credentials, "no keys")); };
    api.on_attributes = api.on_receive = broken;
    consume(fast);
    time.run_for(io, 10min);
    BOOST_TEST(std::ranges::count(log, "receive failed: " + url + ": no credentials: no keys") != 0);
    BOOST_TEST(std::ranges::none_of(log, [](auto const& line) { return line.starts_with("redrive policy"); }));
}

BOOST_AUTO_TEST_CASE(a_consumer_that_drains_asks_for_no_redrive_policy)
{
    int asked = 0;
    api.on_attributes = [&asked] {
        ++asked;
        return std::optional(failure(errc::service_error, "AccessDenied"));
    };
    send(1);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(10min);
        co_return ack();
    });
    time.run_for(io, 1s);
    auto const before = asked;
    BOOST_TEST(drained(15min).clean());
    BOOST_TEST(asked == before);
}

// Handlers that only throw protect the queue as well, once everything fails.
BOOST_AUTO_TEST_CASE(an_outage_is_noticed_when_every_handler_fails)
{
    consume_what_depends(retry());
    half_an_hour_passes(10s);
    BOOST_TEST(in(dead) <= 5); // as above
    BOOST_TEST(it->counters().acked + static_cast<std::size_t>(in(dead)) == 300u);
}

// Below one a second nothing is slowed.
BOOST_AUTO_TEST_CASE(a_tenth_of_the_work_goes_on)
{
    consume_what_depends();
    down_from = time.now() + 1min;
    down_until = time.now() + 11min;
    for (int i = 0; i < 12 * 60; ++i) {
        send_now(20);
        time.run_for(io, 1s);
    }
    BOOST_TEST(calls_while_down <= 20 * 600 / 10);
    BOOST_TEST(until(10min, [this] { return empty(); }));
    BOOST_TEST(in(dead) == 0);
}

BOOST_AUTO_TEST_CASE(paused_it_receives_nothing_and_resumed_it_goes_on)
{
    consume_what_depends();
    time.run_for(io, 1s);
    it->pause();
    time.run_for(io, 25s); // the long poll ends
    auto const before = api.receives;
    send(20);
    time.run_for(io, 10min);
    BOOST_TEST(api.receives == before);
    BOOST_TEST(runs.empty());
    BOOST_TEST(explained().find("paused") != std::string::npos);
    it->resume();
    BOOST_TEST(until(1min, [this] { return empty(); }));
}

BOOST_AUTO_TEST_CASE(a_flag_from_outside_halts_the_work_until_it_is_lowered)
{
    consume_what_depends();
    time.run_for(io, 1s);
    it->report_outage(true);
    time.run_for(io, 25s);
    send(20);
    time.run_for(io, 10min);
    BOOST_TEST(runs.empty());
    BOOST_TEST(explained().find("an outage is reported") != std::string::npos);
    it->report_outage(false);
    BOOST_TEST(until(5min, [this] { return empty(); }));
    BOOST_TEST(in(dead) == 0);
}

BOOST_AUTO_TEST_CASE(a_drain_in_the_middle_of_an_outage_gives_everything_back)
{
    send(30);
    down_from = time.now();
    consume_what_depends();
    time.run_for(io, 2min);
    BOOST_TEST(until(5min, [this] { return it->in_flight() != 0; })); // what waits here, or a probe
    auto const end = drained();
    BOOST_TEST(end.clean());
    BOOST_TEST(it->in_flight() == 0u);
}

namespace {

/// Keeps messages of the key "later" until a time.
struct later_gate : gate {
    tick until;
    std::deque<std::uint64_t> kept;
    std::optional<double> a_second;

    std::size_t room(tick) override { return std::numeric_limits<std::size_t>::max(); }
    std::optional<double> rate(tick) override { return a_second; }
    answer ask(subject const& s, tick now) override
    {
        if (s.key != "later" || now >= until) return {};
        kept.push_back(s.number);
        return {answer::way::wait_here};
    }
    void started(subject const&, tick) override {}
    answer ended(subject const&, news const&, tick) override { return {}; }
    std::optional<leave> due(bool may_begin, tick now) override
    {
        if (!may_begin || now < until || kept.empty()) return {};
        auto const number = kept.front();
        kept.pop_front();
        return leave{number, {}};
    }
    std::optional<tick> wake_at(tick) override { return kept.empty() ? std::nullopt : std::optional(until); }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_gate_of_ones_own_decides)
{
    auto const own = std::make_shared<later_gate>();
    own->until = time.now() + 10min;
    options.outage.gate = own;
    options.outage.dependency = [](delivery const& d) { return std::string(d.body() == "m1" ? "later" : ""); };
    send(3);
    consume_what_depends();
    time.run_for(io, 9min);
    BOOST_TEST(it->counters().acked == 2u);
    BOOST_TEST(it->in_flight() == 1u);
    BOOST_TEST(it->counters().lost == 0u);
    time.run_for(io, 2min);
    BOOST_TEST(it->counters().acked == 3u);
}

// Where few may begin, what waited here counted as coming, and no receive was asked for until something else
// happened: 31 s without a single try. The simulator found that (tenants-orders, 190).
BOOST_AUTO_TEST_CASE(what_waits_here_leaves_its_turn_to_the_next_receive)
{
    auto const own = std::make_shared<later_gate>();
    own->until = time.now() + 10min;
    own->a_second = 1.8;
    options.outage.gate = own;
    options.outage.dependency = [](delivery const& d) { return std::string(d.body() == "m40" ? "" : "later"); };
    api.before_received = [this](auto&) { return pause(20ms); };
    send(41);
    consume_what_depends();
    time.run_for(io, 5s);
    BOOST_TEST(it->counters().acked == 1u);
}

namespace {

/// A backlog that is there when an hour's outage begins.
struct backlogged : stricken {
    void an_hour_of_outage(int messages, std::size_t max_in_flight)
    {
        options.limits.max_in_flight = max_in_flight;
        api.before_received = [this](auto&) { return pause(10ms); };
        down_from = time.now();
        down_until = time.now() + 1h;
        send(messages);
        consume_what_depends();
        time.run_for(io, 1h);
        BOOST_TEST(until(1h, [this] { return empty(); }));
    }
};

} // namespace

// Each time that it was half open it looked at the whole backlog for a message that had not found it down.
BOOST_FIXTURE_TEST_CASE(an_hour_of_outage_sends_no_message_of_a_long_backlog_to_the_dead_letter_queue, backlogged)
{
    an_hour_of_outage(1'000, 200);
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(it->counters().acked == 1'000u);
}

BOOST_FIXTURE_TEST_CASE(where_few_may_wait_here_most_messages_outlive_an_hour_of_outage, backlogged)
{
    an_hour_of_outage(100, 20);
    BOOST_TEST(in(dead) < 40); // five may wait here
    BOOST_TEST(it->counters().spilled == static_cast<std::uint64_t>(in(dead)));
}

// Each turn of a limit brought a new bucket, which was full: one more message began.
BOOST_AUTO_TEST_CASE(turned_limits_leave_what_was_used_of_the_pace_used)
{
    down_from = tick();
    send(400);
    consume_what_depends();
    time.run_for(io, 5s);
    auto const before = calls_while_down;
    for (std::size_t i = 0; i < 240; ++i) {
        auto const turn = [i](consumer_limits& l) { l.max_polls = 2 + i % 2; };
        asio::co_spawn(io, it->set_limits(turn), [](std::exception_ptr bug, result<void> how) {
            BOOST_TEST(!bug);
            BOOST_TEST(!how.has_error());
        });
        time.run_for(io, 250ms);
    }
    BOOST_TEST(calls_while_down - before >= 60u); // two a second, as without any turn
    BOOST_TEST(calls_while_down - before <= 150u);
}

// Only the head of each group runs, so the failures that tell of an outage are soon those of the same few messages.
BOOST_AUTO_TEST_CASE(an_outage_of_an_hour_costs_few_messages_of_few_groups)
{
    struct {
        outcome says;
        int most_dead;
    } const handlers[] = {{unavailable(), 2}, {retry(), 9}};
    for (int i = 0; i < 12; ++i) {
        auto const groups = std::array{1, 2, 3, 5, 9, 12}[static_cast<std::size_t>(i / 2)];
        auto const& [says, most_dead] = handlers[i % 2];
        BOOST_TEST_CONTEXT(groups << " groups, " << most_dead << " may die")
        {
            stricken day;
            sqs::create_queue_request wanted("orders.fifo"), rest("dead.fifo");
            wanted.attributes["FifoQueue"] = rest.attributes["FifoQueue"] = "true";
            day.dead = day.engine.create_queue(rest, day.time.wall()).value().queue_url;
            wanted.attributes["RedrivePolicy"] =
                R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":3})";
            day.url = day.engine.create_queue(wanted, day.time.wall()).value().queue_url;
            day.consume_what_depends(says);
            day.down_from = day.time.now() + 1min;
            day.down_until = day.time.now() + 1h;
            for (int sent = 0; sent < 1'200; ++sent, day.time.run_for(day.io, 3s)) {
                sqs::send_message_request one(day.url, std::to_string(sent));
                one.group_id = std::to_string(sent % groups);
                one.deduplication_id = std::to_string(sent);
                day.engine.send_message(std::move(one), day.time.wall()).value();
            }
            BOOST_TEST(day.until(1h, [&day] { return day.empty(); }));
            BOOST_TEST(day.in(day.dead) <= most_dead);
            day.drained();
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
