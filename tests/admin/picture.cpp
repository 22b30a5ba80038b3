#include <quern/admin/picture.hpp>

#include "support/t0.hpp"

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

using namespace quern;
using namespace quern::admin;
using namespace std::chrono_literals;

namespace {

using quern::test::t0;
wall_time const noon = std::chrono::sys_days(std::chrono::year(2026) / 11 / 22) + 12h;

boost::json::object shown(picture const& of, tick now = t0)
{
    return boost::json::parse(to_json(of, {}, "quern \"consume\"", now, noon)).as_object();
}

queue_picture queue(std::string name)
{
    queue_picture out;
    out.name = std::move(name);
    out.said.ready = true;
    out.said.polls = 2;
    out.said.in_flight = 10;
    out.said.running = 3;
    out.said.settling = 4;
    out.said.obstacles.push_back({"paused", "paused: \"lunch\""});
    out.counts.received = 17;
    out.seen.handled[2] = 5;
    out.seen.breakers["db"] = "open";
    out.seen.troubles.push_back({noon, "handler failed", "m-1", 2, "</script>\n"});
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(pictures)

BOOST_AUTO_TEST_CASE(a_picture_is_one_line_of_json)
{
    picture p;
    p.signs = {t0 - 10s, t0 - 1s, true, false, {}};
    p.queues = {queue("orders"), queue("bills")};
    BOOST_TEST(to_json(p, {}, "x", t0, noon).find('\n') == std::string::npos);
    auto const all = shown(p);
    BOOST_TEST(all.at("program").as_string() == "quern \"consume\"");
    BOOST_TEST(all.at("at").as_string() == "2026-11-22T12:00:00Z");
    BOOST_TEST(all.at("up_ms").as_int64() == 10'000);
    BOOST_TEST(all.at("beat_ms").as_int64() == 1'000);
    BOOST_TEST(all.at("health").at("live").at("status").as_int64() == 200);
    BOOST_TEST(all.at("bounds_ms").as_array().size() == duration_bounds.size());
    BOOST_TEST(all.at("queues").as_array().size() == 2u);
    auto const& q = all.at("queues").as_array()[1].as_object();
    BOOST_TEST(q.at("name").as_string() == "bills");
    auto const& stages = q.at("stages").as_object();
    BOOST_TEST(stages.at("receiving").as_int64() == 2);
    BOOST_TEST(stages.at("waiting").as_int64() == 3);
    BOOST_TEST(stages.at("handling").as_int64() == 3);
    BOOST_TEST(stages.at("settling").as_int64() == 4);
    BOOST_TEST(q.at("counts").at("received").as_int64() == 17);
    BOOST_TEST(q.at("durations").at("handled").as_array()[2].as_int64() == 5);
    BOOST_TEST(q.at("durations").at("queued").as_array().size() == duration_bounds.size() + 1);
    BOOST_TEST(q.at("breakers").as_array()[0].at("phase").as_string() == "open");
    auto const& trouble = q.at("troubles").as_array()[0].as_object();
    BOOST_TEST(trouble.at("message_id").as_string() == "m-1");
    BOOST_TEST(trouble.at("attempt").as_int64() == 2);
    BOOST_TEST(trouble.at("text").as_string() == "</script>\n");
    BOOST_TEST(q.at("explanation").at("obstacles").as_array()[0].at("text").as_string() == "paused: \"lunch\"");
}

BOOST_AUTO_TEST_CASE(a_board_begins_with_a_picture_of_nothing_and_has_the_last_one)
{
    board b(t0);
    auto const first = shown(*b.last(), t0 + 1s);
    BOOST_TEST(first.at("health").at("startup").at("status").as_int64() == 503);
    BOOST_TEST(first.at("health").at("live").at("status").as_int64() == 200);
    BOOST_TEST(first.at("queues").as_array().empty());
    auto const before = b.last();
    picture p;
    p.queues.push_back(queue("orders"));
    b.put(std::move(p));
    BOOST_TEST(b.last()->queues.size() == 1u);
    BOOST_TEST(before->queues.empty()); // whoever looks keeps what it looks at
}

BOOST_AUTO_TEST_SUITE_END()
