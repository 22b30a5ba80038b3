#include <quern/broker/detail/tenant_noise.hpp>

#include "broker/service.hpp"

using namespace quern;
using namespace quern::test;
using broker::detail::busy_time;
using broker::detail::tenant_noise;

namespace {

broker::instant const t0{std::chrono::seconds(1'700'000'000)};

/// A queue or tenant with so many in flight since then.
busy_time busy(int in_flight, broker::instant since)
{
    busy_time out;
    for (int i = 0; i < in_flight; ++i)
        out.change(1, since);
    return out;
}

/// A fair queue: "loud" has a backlog, "quiet" sends one message.
struct queue_of_tenants : service {
    using service::service;
    std::string const url = create("q", {{"VisibilityTimeout", "3600"}});

    void send_for(std::string tenant, int count)
    {
        for (int i = 0; i < count; ++i) {
            sqs::send_message_request request(url, tenant);
            request.group_id = tenant;
            engine.send_message(request, now).value();
        }
    }
    std::string next() { return bodies(url, 1).at(0); }
};

} // namespace

BOOST_AUTO_TEST_SUITE(noise_of_a_tenant)

BOOST_AUTO_TEST_CASE(time_in_flight_is_forgotten_within_minutes)
{
    auto b = busy(10, t0);
    BOOST_TEST(b.in_flight() == 10u);
    BOOST_TEST(b.recent(t0) == 0.0);
    BOOST_TEST(std::abs(b.recent(t0 + 10s) - 100) < 2);
    BOOST_TEST(b.recent(t0 + 10h) <= 3'000.0); // five minutes of each
    for (int i = 0; i < 10; ++i)
        b.change(-1, t0 + 10s);
    BOOST_TEST(b.recent(t0 + 11s) > 90.0);
    BOOST_TEST(b.recent(t0 + 5min) < 40.0);
    BOOST_TEST(b.recent(t0 + 1h) < 0.01);
}

BOOST_AUTO_TEST_CASE(table)
{
    struct {
        char const* name;
        int own, others; // in flight
        std::chrono::seconds for_so_long, since_last_message;
        bool noisy;
    } const rows[] = {
        {"nothing in flight", 0, 0, 0s, 0s, false},
        {"29 in flight, just now", 29, 0, 0s, 0s, false},
        {"30 in flight, just now", 30, 0, 0s, 0s, true},
        {"30 of 300", 30, 270, 0s, 0s, false},
        {"31 of 300", 31, 269, 0s, 0s, true},
        {"20 handlers with nothing else, for two seconds", 20, 0, 2s, 0s, false},
        {"for ten seconds: the time counts", 20, 0, 10s, 0s, true},
        {"one of twenty, for a minute", 1, 19, 60s, 0s, false},
        {"three of twenty", 3, 17, 60s, 0s, true},
        {"40 in flight, without a new message for a while", 40, 0, 60s, 299s, true},
        {"for five minutes", 40, 0, 60s, 300s, false},
    };
    for (auto const& row : rows) {
        BOOST_TEST_CONTEXT(row.name)
        {
            auto const own = busy(row.own, t0), all = busy(row.own + row.others, t0);
            tenant_noise noise;
            auto const now = t0 + row.for_so_long;
            noise.came(now - row.since_last_message);
            BOOST_TEST(noise.is_noisy(own, all, now, [] { return 0s; }) == row.noisy);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_delay_is_drawn_once_in_a_spell)
{
    auto const many = busy(40, t0);
    busy_time const none;
    tenant_noise noise;
    int drawn = 0;
    auto const draw = [&] { return ++drawn, 100s; };
    auto const at = [&](std::chrono::seconds after, busy_time const& own) {
        noise.came(t0 + after);
        return noise.is_noisy(own, own, t0 + after, draw);
    };
    BOOST_TEST(!at(0s, many));
    BOOST_TEST(!at(40s, many));
    BOOST_TEST(!at(60s, none));
    BOOST_TEST(!at(80s, many)); // less than a minute of quiet
    BOOST_TEST(at(100s, many));
    BOOST_TEST(drawn == 1);
    BOOST_TEST(!at(200s, many)); // another spell
    BOOST_TEST(drawn == 2);
}

BOOST_FIXTURE_TEST_CASE(few_handlers_see_quiet_tenants_first_once_the_time_tells, queue_of_tenants)
{
    send_for("loud", 100);
    for (int i = 0; i < 20; ++i)
        next();
    send_for("quiet", 2);
    BOOST_TEST(next() == "loud"); // fewer than thirty, and no time yet
    pass(10s);
    BOOST_TEST(next() == "quiet");
}

BOOST_AUTO_TEST_CASE(with_a_delay_noise_is_noticed_later)
{
    queue_of_tenants s(broker::engine_options{.seed = 1, .noise_noticed_within = 420s});
    s.send_for("loud", 1'000);
    for (int i = 0; i < 40; ++i)
        s.next();
    s.send_for("quiet", 1'000);
    int loud = 0;
    for (int i = 0; i < 420 && s.next() == "loud"; ++i, ++loud) {
        s.pass(1s);
        s.send_for("loud", 1);
    }
    BOOST_TEST(loud > 0);
    BOOST_TEST(loud <= 420);
    BOOST_TEST(s.next() == "quiet");
}

BOOST_AUTO_TEST_SUITE_END()
