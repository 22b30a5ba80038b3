#include "consumer/mill.hpp"

#include <functional>
#include <utility>

using namespace quern;
using namespace quern::test;

namespace {

char const* name_of(handler_end how)
{
    static constexpr char const* names[] = {
        "returned", "threw", "unreadable", "timed_out", "cancelled", "called_off"};
    return names[static_cast<int>(how)];
}

char const* name_of(message_end how)
{
    static constexpr char const* names[] = {"deleted", "rejected", "put_off", "released", "lost", "came_again"};
    return names[static_cast<int>(how)];
}

char const* name_of(outcome::kind what)
{
    static constexpr char const* names[] = {"retry", "ack", "retry_after", "release", "reject", "unavailable"};
    return names[static_cast<int>(what)];
}

/// Writes down every event.
struct recorder : life_watch {
    std::vector<std::string> events;
    std::vector<observed_message> last; // of each event of a message; its views are gone
    std::vector<observed_limits> limits;

    bool wants_queued() const override { return true; }

    void note(std::string what, observed_message const& m)
    {
        events.push_back(std::move(what));
        last.push_back(m);
        last.back().id = last.back().group = {};
    }

    void received(observed_message const& m) override
    {
        life_watch::received(m);
        note("received", m);
    }
    void began(observed_message const& m) override
    {
        life_watch::began(m);
        note("began", m);
    }
    void ended(observed_message const& m, handler_end how, outcome::kind verdict) override
    {
        life_watch::ended(m, how, verdict);
        note(std::string("ended ") + name_of(how) + ' ' + name_of(verdict), m);
    }
    void lease_extended(observed_message const& m, std::chrono::seconds by) override
    {
        life_watch::lease_extended(m, by);
        note("extended", m);
    }
    void lease_lost(observed_message const& m) override
    {
        life_watch::lease_lost(m);
        note("lease_lost", m);
    }
    void settled(observed_message const& m, message_end how, std::chrono::seconds again) override
    {
        life_watch::settled(m, how, again);
        note(std::string("settled ") + name_of(how), m);
    }
    void receive_failed(failure const&, int in_a_row) override
    {
        events.push_back("receive_failed " + std::to_string(in_a_row));
    }
    void breaker_changed(std::string_view of, policy::breaker::phase from, policy::breaker::phase to) override
    {
        events.push_back("breaker " + std::string(of) + ' ' + std::to_string(static_cast<int>(from)) + ' ' +
            std::to_string(static_cast<int>(to)));
    }
    void limits_changed(observed_limits const& now) override { limits.push_back(now); }
    void drain_began(std::chrono::milliseconds limit) override
    {
        events.push_back("drain_began " + std::to_string(limit.count()));
    }
    void drain_cancels() override { events.push_back("drain_cancels"); }
    void drain_ended(drain_report const& how) override
    {
        life_watch::drain_ended(how);
        events.push_back(std::string("drain_ended ") + (how.clean() ? "clean" : "not clean"));
    }
};

struct observed : mill {
    std::shared_ptr<recorder> seen = std::make_shared<recorder>();

    observed() { options.observer = seen; }

    std::vector<std::string> events() { return std::exchange(seen->events, {}); }
};

using list = std::vector<std::string>;

} // namespace

BOOST_FIXTURE_TEST_SUITE(observing, observed)

BOOST_AUTO_TEST_CASE(each_life_has_its_events_in_order)
{
    struct {
        char const* about;
        std::function<void(observed&)> set_up;
        std::function<asio::awaitable<outcome>(observed&, delivery&)> handle;
        list wanted;
    } const cases[] = {
        {"handled", {}, [](observed&, delivery& d) { return fast(d); },
            {"received", "began", "ended returned ack", "settled deleted"}},
        {"fails once", {},
            [](observed&, delivery& d) -> asio::awaitable<outcome> {
                if (d.receive_count() == 1) throw std::runtime_error("closed");
                co_return ack();
            },
            {"received", "began", "ended threw retry", "settled put_off", "received", "began", "ended returned ack",
                "settled deleted"}},
        {"given back once", {},
            [](observed&, delivery& d) -> asio::awaitable<outcome> {
                auto const first = d.receive_count() == 1;
                co_return first ? release() : ack();
            },
            {"received", "began", "ended returned release", "settled released", "received", "began",
                "ended returned ack", "settled deleted"}},
        {"nobody can read it", [](observed& m) { m.options.on_malformed = malformed_policy::discard; },
            [](observed&, delivery&) -> asio::awaitable<outcome> {
                throw parse_error("no JSON");
                co_return ack();
            },
            {"received", "began", "ended unreadable ack", "settled deleted"}},
        {"rejected", {}, [](observed&, delivery&) -> asio::awaitable<outcome> { co_return reject("no"); },
            {"received", "began", "ended returned reject", "settled rejected"}},
        {"runs for longer than its lease", {},
            [](observed& m, delivery&) -> asio::awaitable<outcome> {
                co_await m.pause(45s);
                co_return ack();
            },
            {"received", "began", "extended", "extended", "ended returned ack", "settled deleted"}},
        {"runs for too long once", [](observed& m) { m.options.handler_timeout = 5s; },
            [](observed& m, delivery& d) -> asio::awaitable<outcome> {
                if (d.receive_count() == 1) co_await m.pause(9s);
                if (d.receive_count() == 1) co_await m.pause(9s);
                co_return ack();
            },
            {"received", "began", "ended timed_out retry", "settled put_off", "received", "began",
                "ended returned ack", "settled deleted"}},
        {"loses its lease once",
            [](observed& m) {
                m.options.limits.max_in_flight = 1; // no receive is open that could bring it back here
                m.api.on_change = [] { return std::optional(failure(errc::connect_failed, "refused", true)); };
            },
            [](observed& m, delivery& d) -> asio::awaitable<outcome> {
                for (int i = 0; d.receive_count() == 1 && i < 60; ++i)
                    co_await m.pause(1s);
                co_return ack();
            },
            {"received", "began", "lease_lost", "ended cancelled retry", "settled lost", "received", "began",
                "ended returned ack", "settled deleted"}},
        {"deleted while it runs", {},
            [](observed& m, delivery& d) -> asio::awaitable<outcome> {
                auto const gone = co_await d.ack();
                BOOST_TEST(gone.has_value());
                co_await m.pause(1s);
                co_return retry();
            },
            {"received", "began", "ended returned retry", "settled deleted"}},
    };
    for (auto const& c : cases) {
        BOOST_TEST_CONTEXT(c.about)
        {
            observed m;
            if (c.set_up) c.set_up(m);
            m.send(1);
            m.consume([&](delivery& d) { return c.handle(m, d); });
            BOOST_TEST(m.until(5min, [&] { return m.empty(); }));
            m.time.run_for(m.io, 1s);
            std::erase_if(m.seen->events, [](auto const& e) { return e.starts_with("receive_failed"); });
            BOOST_TEST(m.events() == c.wanted, boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(a_message_tells_how_long_each_part_of_its_life_was)
{
    send(1);
    time.run_for(io, 7s); // it waits in the queue
    send(1);
    options.batch.window = 4s; // and here, for company
    it.emplace(
        io.get_executor(), api, url, [this](deliveries) -> asio::awaitable<void> { co_await pause(3s); }, options);
    it->start();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    time.run_for(io, 1s);
    BOOST_REQUIRE(seen->events.size() == seen->last.size());
    list shown;
    for (std::size_t i = 0; i < seen->last.size(); ++i) {
        auto const& m = seen->last[i];
        auto const s = [](auto d) {
            return ' ' + std::to_string(std::chrono::round<std::chrono::seconds>(d).count());
        };
        BOOST_REQUIRE(m.queued.has_value());
        shown.push_back(seen->events[i] + s(*m.queued) + s(m.waited) + s(m.handled) + s(m.settling));
    }
    std::ranges::sort(shown);
    BOOST_TEST(shown ==
            (list{"began 0 4 0 0", "began 7 4 0 0", "ended returned ack 0 4 3 0", "ended returned ack 7 4 3 0",
                "received 0 0 0 0", "received 7 0 0 0", "settled deleted 0 4 3 0", "settled deleted 7 4 3 0"}),
        boost::test_tools::per_element());
}

// Durations were told as single-precision numbers: the longer, the coarser.
BOOST_AUTO_TEST_CASE(the_duration_of_a_long_handler_is_exact)
{
    send(1);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(3h + 7ms);
        co_return ack();
    });
    BOOST_TEST(until(4h, [this] { return empty(); }));
    time.run_for(io, 1s);
    BOOST_REQUIRE(!seen->last.empty());
    bool const exact = seen->last.back().handled == 3h + 7ms;
    BOOST_TEST(exact);
}

BOOST_AUTO_TEST_CASE(when_a_message_was_sent_is_asked_for_only_where_the_observer_wants_it)
{
    struct incurious : recorder {
        bool wants_queued() const override { return false; }
    };
    for (bool const wants : {false, true}) {
        observed m;
        if (!wants) m.options.observer = m.seen = std::make_shared<incurious>();
        std::size_t came = 0, with_time = 0;
        m.api.on_received = [&](auto const& answer) {
            came += answer.messages.size();
            with_time +=
                std::ranges::count_if(answer.messages, [](auto const& one) { return one.sent_at().has_value(); });
        };
        m.send(3);
        m.consume(fast);
        BOOST_TEST(m.until(1min, [&] { return m.empty(); }));
        BOOST_TEST(came == 3u);
        BOOST_TEST(with_time == (wants ? 3u : 0u));
        auto const told = std::ranges::count_if(m.seen->last, [](auto const& one) { return one.queued.has_value(); });
        BOOST_TEST(told == (wants ? std::ssize(m.seen->last) : 0));
    }
}

BOOST_AUTO_TEST_CASE(a_drain_tells_its_steps)
{
    send(2);
    consume([this](delivery&) -> asio::awaitable<outcome> {
        co_await pause(30min);
        co_await pause(30min);
        co_return ack();
    });
    BOOST_TEST(until(1min, [this] { return running == 2; }));
    events();
    BOOST_TEST(drained(30s).clean());
    auto told = events();
    std::erase(told, "extended");
    BOOST_TEST(told ==
            (list{"drain_began 30000", "drain_cancels", "ended cancelled retry", "ended cancelled retry",
                "settled released", "settled released", "drain_ended clean"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(receives_that_fail_and_breakers_are_told)
{
    int fails = 2;
    api.on_receive = [&] {
        return fails-- > 0 ? std::optional(failure(errc::connect_failed, "refused", true)) : std::nullopt;
    };
    bool down = true;
    options.outage.dependency = [](delivery const&) { return std::string("payments"); };
    send(20);
    consume([&](delivery&) -> asio::awaitable<outcome> {
        co_await pause(200ms);
        auto const said = down ? unavailable() : ack();
        co_return said;
    });
    time.run_for(io, 10s);
    auto told = events();
    BOOST_TEST(std::ranges::count(told, "receive_failed 1") == 1);
    BOOST_TEST(std::ranges::count(told, "receive_failed 2") == 1);
    auto const opened = std::ranges::count_if(told, [](auto const& e) { return e.starts_with("breaker payments"); });
    BOOST_TEST(opened >= 1);
    down = false;
    BOOST_TEST(until(10min, [this] { return empty(); }));
    time.run_for(io, 5min);
    told = events();
    auto const last =
        std::ranges::find_if(told.rbegin(), told.rend(), [](auto const& e) { return e.starts_with("breaker"); });
    BOOST_REQUIRE(last != told.rend());
    BOOST_TEST(last->ends_with(std::to_string(static_cast<int>(policy::breaker::phase::closed))), *last);
}

BOOST_AUTO_TEST_CASE(limits_are_told_when_they_move)
{
    send(200);
    consume(fast);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    time.run_for(io, 1min);
    BOOST_REQUIRE(seen->limits.size() >= 3u);
    BOOST_TEST(seen->limits.front().polls == 1u);
    BOOST_TEST(seen->limits.front().places == 1'000u);
    BOOST_TEST(std::ranges::max(seen->limits, {}, &observed_limits::polls).polls > 4u);
    BOOST_TEST(seen->limits.back().polls == 1u);
    for (std::size_t i = 1; i < seen->limits.size(); ++i)
        BOOST_TEST(seen->limits[i] != seen->limits[i - 1]);
}

// Where handlers run elsewhere a begin is told by a way of its own, and may be heard of after the end has come home.
BOOST_AUTO_TEST_CASE(handlers_elsewhere_have_begun_before_they_end)
{
    options.handler_executor = io.get_executor();
    send(500);
    it.emplace(
        io.get_executor(), api, url, [](delivery&) {}, options);
    it->start();
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(std::ranges::count(seen->events, "began") == 500);
    BOOST_TEST(std::ranges::count(seen->events, "ended returned ack") == 500);
}

BOOST_AUTO_TEST_CASE(an_observer_that_throws_does_no_harm)
{
    struct rude : observer {
        void received(observed_message const&) override { throw std::runtime_error("no"); }
        void settled(observed_message const&, message_end, std::chrono::seconds) override { throw 1; }
    };
    options.observer = std::make_shared<rude>();
    send(20);
    consume(fast);
    BOOST_TEST(until(1min, [this] { return empty(); }));
    BOOST_TEST(log_lines("observer: threw: ") >= 1);
    BOOST_TEST(drained().clean());
}

BOOST_AUTO_TEST_SUITE_END()
