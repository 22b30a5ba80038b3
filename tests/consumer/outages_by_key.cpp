// Outages of some of what handlers depend on, and what a message's age has to do with them.

#include "consumer/mill.hpp"

namespace asio = boost::asio;
using namespace quern;
using namespace quern::test;
using namespace std::chrono_literals;

namespace {

struct partly_down : mill {
    std::map<char, int> acked; // by the first letter of the body, which names what the message needs
    std::string down;          // such letters
    std::map<char, int> seen;
    std::map<std::string, int> failed; // by body

    partly_down()
    {
        options.outage.dependency = [](delivery const& d) { return std::string(d.body().substr(0, 1)); };
    }

    void consume_what_depends()
    {
        consume([this](delivery& d) -> asio::awaitable<outcome> {
            auto const needs = d.body()[0];
            co_await pause(20ms);
            auto const is_down = down.find(needs) != std::string::npos;
            if (is_down) co_return unavailable();
            ++acked[needs];
            co_return ack();
        });
    }

    int runs_of_all() const
    {
        int out = 0;
        for (auto const& [body, n] : runs)
            out += n;
        return out;
    }

    void check_tenants(tenant_rule rule)
    {
        options.outage.dependency = nullptr;
        options.tenant = std::move(rule);
        options.attributes.clear();
        consume_what_depends();
        auto const send_of = [this](char tenant) {
            sqs::send_message_request request(url, tenant + std::to_string(sent++));
            request.group_id = std::string(1, tenant);
            request.attributes["tenant"] = {"String", std::string(1, tenant)};
            asio::co_spawn(io, local->send_message(std::move(request)), [](std::exception_ptr, auto const&) {});
        };
        down = "a";
        for (int i = 0; i < 300; ++i) {
            send_of('a');
            send_of('b');
            time.run_for(io, 1s);
        }
        BOOST_TEST(acked['b'] >= 299);
        BOOST_TEST(explained().find("of a half open") != std::string::npos, explained());
        down.clear();
        BOOST_TEST(until(30min, [this] { return empty(); }));
        BOOST_TEST(acked['a'] == 300);
    }

    /// One a second of each kind.
    void work(std::chrono::seconds how_long, std::string const& kinds)
    {
        for (auto left = how_long; left != 0s; left -= 1s) {
            for (auto const c : kinds)
                send_now(c + std::to_string(sent));
            time.run_for(io, 1s);
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(outages_by_key, partly_down)

BOOST_AUTO_TEST_CASE(three_of_ten_are_down_and_the_other_seven_go_on)
{
    auto const dead = allow_receives("5");
    consume_what_depends();
    work(5s, "abcdefghij");
    down = "abc";
    work(10min, "abcdefghij");
    for (auto const c : std::string("defghij"))
        BOOST_TEST(acked[c] >= 603, c);
    BOOST_TEST(explained().find("of a half open") != std::string::npos, explained());
    BOOST_TEST(log_lines("breaker: a: half open for 0 s") == 1);
    down.clear();
    BOOST_TEST(until(30min, [this] { return empty(); }));
    for (auto const c : std::string("abc"))
        BOOST_TEST(acked[c] == 605, c);
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(log_lines("breaker: c: closed again") <= 1); // a line a second for all of them
}

BOOST_AUTO_TEST_CASE(the_outage_of_one_tenant_is_none_of_another)
{
    check_tenants(by_group());
}

BOOST_AUTO_TEST_CASE(nor_is_it_where_an_attribute_names_them_that_nobody_asked_for)
{
    check_tenants(by_attribute("tenant"));
}

BOOST_AUTO_TEST_CASE(half_an_hour_without_one_of_two_sends_no_message_to_the_dead_letter_queue)
{
    auto const dead = allow_receives("3");
    consume_what_depends();
    work(5s, "ab");
    down = "a";
    work(2min, "ab");
    work(28min, "b");
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(acked['b'] >= 1'800);
    BOOST_TEST(it->in_flight() >= 100u); // on their last receive
    down.clear();
    BOOST_TEST(until(20min, [this] { return empty(); }));
    BOOST_TEST(acked['a'] == 125);
    BOOST_TEST(in(dead) == 0);
    BOOST_TEST(it->counters().spilled == 0u);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_into_a_quarter_of_the_places_is_spilled_and_counted)
{
    auto const dead = allow_receives("3");
    options.limits.max_in_flight = 40;
    consume_what_depends();
    work(5s, "ab");
    down = "a";
    work(1min, "ab");
    work(29min, "b");
    BOOST_TEST(acked['b'] >= 1'790); // nothing is in their way
    down.clear();
    BOOST_TEST(until(20min, [this] { return empty(); }));
    BOOST_TEST(in(dead) > 30);
    BOOST_TEST(it->counters().spilled == static_cast<std::uint64_t>(in(dead)));
    BOOST_TEST(acked['a'] + in(dead) == 65);
    BOOST_TEST(log_lines("spilled: ") != 0);
}

BOOST_AUTO_TEST_CASE(all_of_them_down_a_tenth_goes_on_and_finds_out)
{
    consume_what_depends();
    work(5s, "ab");
    down = "ab";
    work(1min, "ab");
    auto const before = runs_of_all();
    work(9min, "ab");
    BOOST_TEST(runs_of_all() - before <= 2 * 9 * 60); // one a second of each, as they come
    down.clear();
    BOOST_TEST(until(20min, [this] { return empty(); }));
    BOOST_TEST(acked['a'] + acked['b'] == 2 * 605);
}

// What is down is known only when the handler gets there.
BOOST_AUTO_TEST_CASE(a_handler_may_name_what_is_down)
{
    options.outage.dependency = nullptr;
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const needs = d.body()[0];
        auto const is_down = down.find(needs) != std::string::npos;
        if (is_down) co_return unavailable(std::string(1, needs));
        ++acked[needs];
        co_return ack();
    });
    down = "a";
    work(10min, "ab");
    BOOST_TEST(acked['b'] >= 598);
    BOOST_TEST(runs.size() == 1'200u);
    BOOST_TEST(explained().find("breaker of a ") != std::string::npos, explained());
    down.clear();
    BOOST_TEST(until(30min, [this] { return empty(); }));
    BOOST_TEST(acked['a'] == 600);
}

BOOST_AUTO_TEST_CASE(a_function_that_throws_costs_a_line_in_the_log_and_no_message)
{
    options.outage.dependency = [](delivery const& d) -> std::string {
        if (d.body()[0] == 'x') throw std::runtime_error("no such tenant");
        return "a";
    };
    consume_what_depends();
    work(3s, "ax");
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(acked['x'] == 3);
    BOOST_TEST(log_lines("dependency: ") >= 1);
}

BOOST_AUTO_TEST_CASE(what_gathers_for_a_batch_goes_back_when_what_it_needs_goes_down)
{
    options.batch.size = 50;
    options.batch.window = 10s;
    auto handle = [this](deliveries all) -> asio::awaitable<std::vector<outcome>> {
        std::vector<outcome> said;
        for (delivery& d : all) {
            ++seen[d.body()[0]];
            said.push_back(d.body()[0] == 'a' ? unavailable() : ack());
        }
        co_await pause(5s);
        co_return said;
    };
    it.emplace(io.get_executor(), api, url, handle, options);
    it->start();
    for (int i = 0; i < 13; ++i)
        send_now("a" + std::to_string(i));
    time.run_for(io, 45s);
    auto const before = seen['a'];
    for (int i = 13; i < 20; ++i) {
        send_now("a" + std::to_string(i));
        send_now("b" + std::to_string(i));
    }
    time.run_for(io, 30s); // these would have run together
    BOOST_TEST(seen['b'] == 7);
    BOOST_TEST(seen['a'] - before < 20); // and in a small number
    BOOST_TEST(explained().find("breaker of a ") != std::string::npos, explained());
}

// It counted as age, and deleted what had never failed.
BOOST_AUTO_TEST_CASE(an_outage_makes_no_message_too_old)
{
    options.max_age = 1min;
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        co_await pause(200ms);
        if (!down.empty()) co_return unavailable();
        auto const once = ++failed[std::string(d.body())] == 1;
        if (once) co_return retry(); // an ordinary failure after the outage
        ++acked['m'];
        co_return ack();
    });
    send(100);
    for (int flap = 0; flap < 4; ++flap) {
        down = "all";
        time.run_for(io, 5min);
        down.clear();
        auto const before = acked['m'];
        until(5min, [&] { return acked['m'] >= before + 20; });
    }
    BOOST_TEST(until(1h, [this] { return empty(); }));
    BOOST_TEST(it->counters().rejected == 0u);
    BOOST_TEST(acked['m'] == 100);
}

BOOST_AUTO_TEST_CASE(a_pause_makes_no_message_too_old)
{
    options.max_age = 1min;
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const tries = runs[std::string(d.body())];
        if (tries == 1) co_return retry_after(20s);
        if (tries == 2) co_return retry();
        ++acked['m'];
        co_return ack();
    });
    send(50);
    time.run_for(io, 15s);
    it->pause("dinner");
    time.run_for(io, 5min);
    it->resume();
    BOOST_TEST(until(1h, [this] { return empty(); }));
    BOOST_TEST(acked['m'] == 50);
    BOOST_TEST(it->counters().rejected == 0u);
}

BOOST_AUTO_TEST_CASE(only_failures_are_judged_by_age)
{
    options.max_age = 1min;
    down = "a";
    consume_what_depends();
    send_now("a");
    time.run_for(io, 30min); // one message opens no breaker
    BOOST_TEST(it->counters().rejected == 0u);
    down.clear();
    BOOST_TEST(until(20min, [this] { return empty(); }));
    BOOST_TEST(acked['a'] == 1);
}

// It had been put off for itself, for longer than max_age; its first failure, and that of the next of its group, was
// the last.
BOOST_AUTO_TEST_CASE(one_that_alone_found_something_down_is_no_older_for_it)
{
    options.max_age = 5min;
    options.outage.dependency = nullptr;
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        co_await pause(20ms);
        if (down == d.body()) co_return unavailable();
        if (++failed[std::string(d.body())] == 1) co_return retry();
        ++acked[d.body()[0]];
        co_return ack();
    });
    down = "a";
    send_now("a");
    time.run_for(io, 1h);
    down.clear();
    BOOST_TEST(until(1h, [this] { return empty(); }));
    BOOST_TEST(acked['a'] == 1);
    BOOST_TEST(it->counters().rejected == 0u);
}

namespace {

/// An hour ahead of the service's.
struct fast_clock : quern::clock {
    explicit fast_clock(quern::clock& of) : of_(of) {}
    tick now() const override { return of_.now(); }
    wall_time wall() const override { return of_.wall() + 1h; }
    std::unique_ptr<timer> make_timer(asio::any_io_executor ex) override { return of_.make_timer(std::move(ex)); }

private:
    quern::clock& of_;
};

} // namespace

// The first receive is told by the service's clock. Ours was an hour ahead, and each first failure was the last.
BOOST_AUTO_TEST_CASE(an_age_is_told_by_the_clock_of_the_service)
{
    fast_clock ours(time);
    options.time = &ours;
    options.max_age = 5min;
    api.offset = -1h;
    send(1);
    consume([](delivery& d) -> asio::awaitable<outcome> {
        auto const again = d.receive_count() > 1;
        co_return again ? ack() : retry();
    });
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(it->counters().acked == 1u);
    drained(1s);
    it.reset(); // before its clock
    time.run_for(io, 0s);
}

// Its outage was forgotten with it, and counted as age.
BOOST_AUTO_TEST_CASE(an_outage_of_what_is_known_no_longer_makes_no_message_too_old)
{
    options.max_age = 5min;
    options.outage.max_dependencies = 4;
    consume([this](delivery& d) -> asio::awaitable<outcome> {
        auto const needs = d.body()[0];
        co_await pause(20ms);
        auto const is_down = down.find(needs) != std::string::npos;
        if (is_down) co_return unavailable();
        auto const once = needs == 'a' && ++failed[std::string(d.body())] == 1;
        if (once) co_return retry(); // an ordinary failure after the outage
        ++acked[needs];
        co_return ack();
    });
    down = "a";
    for (int i = 0; i < 50; ++i)
        send_now("a" + std::to_string(i));
    work(30min, "b");
    down.clear();
    for (int i = 0; i < 60 * 60 && acked['a'] != 50; ++i)
        work(1s, std::string(1, static_cast<char>('b' + i % 20)));
    BOOST_TEST(acked['a'] == 50);
    BOOST_TEST(it->counters().rejected == 0u);
}

BOOST_AUTO_TEST_CASE(an_outage_that_a_handler_named_makes_no_message_too_old)
{
    for (bool const keyed : {true, false}) {
        if (!keyed) options.outage.dependency = nullptr;
        options.max_age = 5min;
        failed.clear();
        acked.clear();
        report.reset();
        consume([this](delivery& d) -> asio::awaitable<outcome> {
            co_await pause(20ms);
            if (!down.empty()) co_return unavailable("payments");
            auto const once = ++failed[std::string(d.body())] == 1;
            if (once) co_return retry(); // an ordinary failure after the outage
            ++acked['m'];
            co_return ack();
        });
        down = "payments";
        work(20s, "a");
        time.run_for(io, 1h);
        down.clear();
        BOOST_TEST(until(1h, [this] { return empty(); }));
        BOOST_TEST(acked['m'] == 20, "keyed: " << keyed);
        BOOST_TEST(it->counters().rejected == 0u, "keyed: " << keyed);
        drained(1s);
    }
}

BOOST_AUTO_TEST_SUITE_END()
