#include "quern/top_text.hpp"

#include <quern/admin/picture.hpp>

#include "support/t0.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace std::chrono_literals;

namespace {

using quern::test::t0;

boost::json::object shown(admin::picture p, tick now)
{
    p.signs.began_at = t0;
    p.signs.beat_at = now;
    p.signs.seen = true;
    return boost::json::parse(admin::to_json(p, {}, "quern consume", now, wall_time())).as_object();
}

admin::picture picture(std::uint64_t received)
{
    admin::queue_picture q;
    q.name = "orders";
    q.said.polls = 1;
    q.said.in_flight = 5;
    q.said.running = 3;
    q.counts.received = received;
    q.seen.handled[2] = 99;
    q.seen.handled.back() = 1;
    admin::picture out;
    out.queues.push_back(q);
    return out;
}

bool has(std::string const& text, std::string_view part)
{
    return text.find(part) != text.npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(top_texts)

BOOST_AUTO_TEST_CASE(the_first_picture_has_no_rates_and_the_next_has)
{
    auto const first = shown(picture(10), t0 + 1s), next = shown(picture(40), t0 + 3s);
    auto const text = app::top_text({}, first);
    BOOST_TEST(text.starts_with("quern consume   alive   ready   up for 1.0 s\n"), text);
    BOOST_TEST(has(text, "\norders\n  nothing is in the way\n"), text);
    BOOST_TEST(has(text, "receive 1 -> wait 2 -> handle 3 -> settle 0\n"), text);
    BOOST_TEST(has(text, "handled   half <= 5 ms, 99 of 100 <= 5 ms\n"), text);
    BOOST_TEST(has(app::top_text(first, next), "receive 1 (15.0/s) -> "), app::top_text(first, next));
    BOOST_TEST(has(app::top_text(next, first), "receive 1 -> ")); // it has begun anew: no negative rates
}

BOOST_AUTO_TEST_CASE(what_is_in_the_way_and_what_went_wrong_is_told_without_control_characters)
{
    auto p = picture(1);
    auto& q = p.queues.front();
    q.said.obstacles.push_back({"paused", "paused: \x1b[2Jlunch"});
    q.said.oldest = {"m-7", 95s, "running"};
    q.seen.breakers["db"] = "open";
    for (int i = 0; i != 9; ++i)
        q.seen.troubles.push_back({wall_time(), "handler failed", "m-" + std::to_string(i), 2, "why\n"});
    auto const text = app::top_text({}, shown(p, t0));
    BOOST_TEST(has(text, "  ! paused:  [2Jlunch\n"), text);
    BOOST_TEST(has(text, "  oldest: m-7, here for 95.0 s, running\n"), text);
    BOOST_TEST(has(text, "  breaker db: open\n"), text);
    BOOST_TEST(has(text, "handler failed, m-4, try 2: why \n"), text);
    BOOST_TEST(!has(text, "m-5, try"), text);
}

BOOST_AUTO_TEST_CASE(something_else_is_refused)
{
    BOOST_CHECK_THROW(app::top_text({}, {}), std::exception);
    BOOST_CHECK_THROW(
        app::top_text({}, boost::json::parse(R"({"health":[],"queues":{}})").as_object()), std::exception);
}

BOOST_AUTO_TEST_CASE(queues_of_a_broker_stand_below_each_other)
{
    auto const picture = [](int up_ms, int sent) {
        auto const text = R"({"program":"quern broker","up_ms":)" + std::to_string(up_ms) +
            R"(,"url":"http://127.0.0.1:1","health":{"live":{"reason":"alive"},"ready":{"status":200,"reason":"ready"}},
            "traffic":{"requests":)" +
            std::to_string(sent) + R"(,"errors":1,"open_connections":2,"long_polls":3},
            "queues":[{"name":"orders\u001b","arn":"arn:aws:sqs:r:1:orders","visible":5,"in_flight":6,"delayed":7,
            "oldest_age_ms":4000,"dead_letter_arn":"arn:aws:sqs:r:1:dead","max_receive_count":3,
            "counts":{"sent":)" +
            std::to_string(sent) + R"(,"received":0,"deleted":0}}]})";
        return boost::json::parse(text).as_object();
    };
    auto const first = app::top_text({}, picture(1000, 10));
    BOOST_TEST(
        first.find("http://127.0.0.1:1: 10 requests, 1 errors, 2 connections, 3 long polls\n") != first.npos, first);
    auto const second = app::top_text(picture(1000, 10), picture(3000, 30));
    BOOST_TEST(second.find("30 requests (10.0/s)") != second.npos, second);
    BOOST_TEST(
        second.find(
            " 5         6        7     4.0 s      10.0        0.0       0.0\n    -> dead, after 3 receives\n") !=
            second.npos,
        second);
    BOOST_TEST(second.find('\x1b') == second.npos);
}

BOOST_AUTO_TEST_SUITE_END()
