#include <quern/services/detail/protection_rule.hpp>
#include <quern/services/task_protection.hpp>
#include <quern/sim/virtual_clock.hpp>

#include "support/t0.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::services;
using namespace quern::services::detail;
using namespace std::chrono_literals;
using quern::test::t0;

namespace asio = boost::asio;

namespace {

using answer = protection_rule::answer;
using step = protection_rule::step;

/// The agent of ECS, as a task finds it.
struct paper_agent final : aws::web {
    explicit paper_agent(sim::virtual_clock& time) : time(time) {}

    asio::awaitable<result<net::response>> send(aws::web_request r) override
    {
        asked.push_back(r.method + ' ' + r.url + ' ' + r.body);
        asked_at.push_back(time.now());
        if (r.body.find("false") != std::string::npos && releases_at_once) is_on = false;
        auto const ex = co_await asio::this_coro::executor;
        auto const wait = time.make_timer(ex);
        auto const until = time.now() + std::min<tick::duration>(takes, r.timeout);
        co_await wait->wait_until(until);
        result<net::response> out = failure(errc::timed_out, "no answer", true);
        if (takes > r.timeout) co_return out;
        net::response said;
        said.status = status;
        if (status == 200) {
            auto const on = r.body.find("true") != std::string::npos;
            if (r.method == "PUT" && on != is_on) changed_at = time.now();
            if (r.method == "PUT") is_on = on;
            said.body =
                std::string(R"({"protection":{"ExpirationDate":"2026-01-01T00:00:00Z","ProtectionEnabled":)") +
                (is_on ? "true" : "false") + R"(,"TaskArn":"arn:aws:ecs:eu-west-1:1:task/t"}})";
        } else {
            said.body =
                R"({"requestID":"r","error":{"Code":"AccessDeniedException","Message":"no ecs:UpdateTaskProtection"}})";
        }
        out = std::move(said);
        co_return out;
    }

    sim::virtual_clock& time;
    tick::duration takes = 80ms;
    int status = 200;
    bool is_on = false;
    bool releases_at_once = false; // before it answers
    tick changed_at{};
    std::vector<std::string> asked;
    std::vector<tick> asked_at;
};

/// A task that handles messages under protection.
struct ecs_task {
    sim::virtual_clock time;
    std::shared_ptr<paper_agent> agent = std::make_shared<paper_agent>(time);
    std::vector<std::string> troubles;
    std::vector<bool> were_protected;      // as each handler began
    std::vector<tick::duration> were_held; // before it began
    int running = 0;
    int unprotected = 0; // moments at which a handler ran so
    asio::io_context io;
    std::optional<task_protection> protection;

    ecs_task()
    {
        task_protection_options o;
        o.agent = "http://169.254.170.2/api/1";
        o.http = agent;
        o.time = &time;
        o.trouble = [this](std::string const& why) { troubles.push_back(why); };
        protection.emplace(io.get_executor(), std::move(o));
    }

    asio::awaitable<void> handle(tick::duration work)
    {
        auto const came = time.now();
        auto const held = co_await protection->hold();
        were_held.push_back(time.now() - came);
        were_protected.push_back(agent->is_on);
        ++running;
        auto const timer = time.make_timer(io.get_executor());
        auto const until = time.now() + work;
        co_await timer->wait_until(until);
        --running;
        if (!agent->is_on) ++unprotected;
    }

    template <class Work>
    void spawn(Work work)
    {
        asio::co_spawn(io, std::move(work), [](std::exception_ptr e) {
            if (e) std::rethrow_exception(e);
        });
    }

    void begin()
    {
        spawn(protection->begin());
        time.run_for(io, 2s);
    }

    long puts() const
    {
        return std::count_if(agent->asked.begin(), agent->asked.end(), [](auto& s) { return s.starts_with("PUT"); });
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(scale_in_protection)

BOOST_AUTO_TEST_CASE(is_asked_for_by_a_rule)
{
    protection_rule rule({30min, 500ms, 1s});
    BOOST_TEST((rule.poll(t0) == step::nothing));
    BOOST_TEST(!rule.wake_at());
    BOOST_TEST(!rule.wait_until(t0)); // the agent has never answered
    rule.heard(t0);
    rule.began(t0);
    BOOST_TEST((rule.wait_until(t0) == t0 + 500ms));
    BOOST_TEST((rule.poll(t0) == step::protect));
    BOOST_TEST((rule.poll(t0) == step::nothing)); // one question at a time
    rule.answered(answer::done, t0 + 100ms);
    BOOST_TEST(!rule.wait_until(t0 + 100ms));
    BOOST_TEST((rule.wake_at() == t0 + 15min)); // the renewal
    BOOST_TEST((rule.poll(t0 + 15min) == step::protect));
    rule.answered(answer::done, t0 + 15min);
    rule.ended(t0 + 16min);
    BOOST_TEST((rule.wake_at() == t0 + 16min + 1s));
    BOOST_TEST((rule.poll(t0 + 16min + 999ms) == step::nothing));
    rule.began(t0 + 16min + 999ms); // a short gap
    rule.ended(t0 + 17min);
    BOOST_TEST((rule.poll(t0 + 17min + 1s) == step::release));
    rule.began(t0 + 17min + 1s);
    BOOST_TEST((rule.wait_until(t0 + 17min + 1s) == t0 + 17min + 1500ms)); // it is being taken away
    rule.answered(answer::done, t0 + 17min + 1100ms);
    BOOST_TEST((rule.poll(t0 + 17min + 1100ms) == step::protect));
}

BOOST_AUTO_TEST_CASE(is_asked_for_again_later_and_later_after_a_refusal)
{
    protection_rule rule({30min, 500ms, 1s});
    rule.heard(t0);
    rule.began(t0);
    auto now = t0;
    for (auto const pause : {2s, 4s, 8s, 16s, 32s, 64s, 64s}) {
        BOOST_TEST((rule.poll(now) == step::protect));
        rule.answered(answer::refused, now);
        BOOST_TEST(!rule.wait_until(now));
        BOOST_TEST((rule.wake_at() == now + pause));
        now += pause;
    }
}

BOOST_AUTO_TEST_CASE(is_perhaps_on_after_silence_and_so_taken_away)
{
    protection_rule rule({30min, 500ms, 1s});
    rule.began(t0);
    rule.poll(t0);
    rule.answered(answer::silent, t0 + 5s);
    rule.ended(t0 + 5s);
    BOOST_TEST((rule.poll(t0 + 20s) == step::release));
}

BOOST_AUTO_TEST_CASE(answers_are_read)
{
    struct row {
        int status;
        char const* body;
        bool asked_for;
        answer what;
        char const* why;
    };
    row const rows[] = {
        {200, R"({"protection":{"ProtectionEnabled":true}})", true, answer::done, ""},
        {200, R"({"protection":{"ProtectionEnabled":false}})", false, answer::done, ""},
        {200, R"({"protection":{"ProtectionEnabled":false}})", true, answer::refused,
            "HTTP 200: it is not protected"},
        {200, R"({"requestID":"1","failure":{"Arn":"a","Reason":"DEPLOYMENT_BLOCKED"}})", true, answer::refused,
            "HTTP 200: DEPLOYMENT_BLOCKED"},
        {400, R"({"error":{"Code":"AccessDeniedException","Message":"no"},"requestID":"1"})", true, answer::refused,
            "HTTP 400: AccessDeniedException: no"},
        {404, "not found", true, answer::refused, "HTTP 404"},
        {500, "", true, answer::refused, "HTTP 500"},
    };
    for (auto const& r : rows) {
        auto const said = read_protection_reply(r.status, r.body, r.asked_for);
        BOOST_TEST((said.what == r.what), r.body);
        BOOST_TEST(said.why == r.why);
    }
}

BOOST_AUTO_TEST_CASE(is_on_before_the_first_handler_begins_and_off_soon_after_the_last)
{
    ecs_task t;
    t.begin();
    for (int i = 0; i < 5; ++i)
        t.spawn(t.handle(10s));
    t.time.run_for(t.io, 12s);
    BOOST_TEST(t.were_protected == std::vector<bool>(5, true), boost::test_tools::per_element());
    BOOST_TEST(t.puts() == 2);
    BOOST_TEST(!t.agent->is_on);
    BOOST_TEST((t.agent->changed_at <= t.agent->asked_at.front() + 2s + 10s + 80ms + 2s));
    for (int turn = 0; turn < 100; ++turn) { // one call each from idle to busy, and one back
        t.spawn(t.handle(1s));
        t.time.run_for(t.io, 4s);
    }
    BOOST_TEST(t.puts() == 202);
    BOOST_TEST(t.unprotected == 0);
    BOOST_TEST(t.troubles.empty());
}

BOOST_AUTO_TEST_CASE(an_agent_that_hangs_delays_no_message)
{
    ecs_task t;
    t.agent->takes = 1h;
    t.begin();
    for (int i = 0; i < 50; ++i) {
        t.spawn(t.handle(100ms));
        t.time.run_for(t.io, 1s);
    }
    BOOST_TEST(t.were_held == std::vector<tick::duration>(50, 0s), boost::test_tools::per_element());
    BOOST_TEST(t.troubles.size() >= 1u);
}

BOOST_AUTO_TEST_CASE(an_agent_that_begins_to_hang_delays_the_messages_of_one_moment)
{
    ecs_task t;
    t.begin();
    t.agent->takes = 1h;
    tick::duration sum{};
    for (int i = 0; i < 50; ++i) {
        t.spawn(t.handle(100ms));
        t.time.run_for(t.io, 5s);
    }
    for (auto const d : t.were_held)
        sum += d;
    BOOST_TEST((sum == 500ms));
}

BOOST_AUTO_TEST_CASE(a_refusal_is_told_once_and_stops_nothing)
{
    ecs_task t;
    t.begin();
    t.agent->status = 400;
    for (int i = 0; i < 20; ++i) {
        t.spawn(t.handle(1s));
        t.time.run_for(t.io, 10s);
    }
    BOOST_TEST(t.were_held.size() == 20u);
    BOOST_TEST(t.troubles.size() == 1u);
    BOOST_TEST(t.troubles.front() ==
        "the task could not be protected: HTTP 400: AccessDeniedException: no ecs:UpdateTaskProtection");
}

BOOST_AUTO_TEST_CASE(a_long_handler_has_it_renewed)
{
    ecs_task t;
    t.begin();
    t.spawn(t.handle(2h));
    t.time.run_for(t.io, 2h + 10s);
    BOOST_TEST(t.puts() == 1 + 8 + 1);
    BOOST_TEST(t.unprotected == 0);
    BOOST_TEST(!t.agent->is_on);
}

BOOST_AUTO_TEST_CASE(ends_with_the_program)
{
    ecs_task t;
    t.begin();
    t.spawn(t.handle(5s));
    t.time.run_for(t.io, 5s + 100ms);
    BOOST_TEST(t.agent->is_on);
    auto const from = t.time.now();
    tick ended{};
    auto const end = [&]() -> asio::awaitable<void> {
        co_await t.protection->end();
        ended = t.time.now();
    };
    t.spawn(end);
    t.time.run_for(t.io, 5s);
    BOOST_TEST(!t.agent->is_on);
    BOOST_TEST((ended - from <= 500ms));
}

/// A scheduler takes tasks away that are not protected, at moments of its own; the agent takes up to 400 ms, and
/// gives protection up before it says so.
BOOST_AUTO_TEST_CASE(of_a_thousand_scale_ins_none_cuts_a_handler)
{
    ecs_task t;
    t.agent->releases_at_once = true;
    t.begin();
    std::mt19937_64 random(7);
    auto const draw = [&](int least, int most) {
        return std::chrono::milliseconds(std::uniform_int_distribution(least, most)(random));
    };
    int stopped = 0, refused = 0, cut = 0;
    while (stopped + refused < 1000) {
        t.agent->takes = draw(1, 400);
        for (auto n = draw(0, 3).count(); n > 0; --n)
            t.spawn(t.handle(draw(0, 3000)));
        t.time.run_for(t.io, draw(0, 2500));
        ++(t.agent->is_on ? refused : stopped);
        if (!t.agent->is_on) cut += t.running;
    }
    BOOST_TEST(cut == 0);
    BOOST_TEST(stopped > 100);
    BOOST_TEST(refused > 100);
    BOOST_TEST(t.unprotected == 0);
}

BOOST_AUTO_TEST_CASE(is_found_in_the_environment)
{
    auto const there = task_protection_options::from(
        [](char const* name) { return std::string(name) == "ECS_AGENT_URI" ? "http://169.254.170.2/api/7" : ""; });
    BOOST_TEST(there.value().agent == "http://169.254.170.2/api/7");
    BOOST_TEST(!there->validate());
    BOOST_TEST(!task_protection_options::from([](char const*) { return std::string(); }));
    auto wrong = *there;
    wrong.agent = "ftp:/";
    BOOST_TEST(wrong.validate().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
