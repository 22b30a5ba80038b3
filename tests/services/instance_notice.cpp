#include <quern/core/detail/text/date.hpp>
#include <quern/services/instance_notice.hpp>
#include <quern/sim/virtual_clock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::services;
using namespace quern::detail;
using namespace std::chrono_literals;

namespace {

using notice = instance_notice;

wall_time at_time(char const* text)
{
    return *text::parse_rfc3339(text);
}

/// The metadata service of an instance, IMDSv2.
struct paper_instance final : aws::web {
    boost::asio::awaitable<result<net::response>> send(aws::web_request r) override
    {
        asked.push_back(r.method + ' ' + r.url);
        result<net::response> out = failure(errc::timed_out, "no answer", true);
        if (is_silent) co_return out;
        net::response said;
        said.status = 404;
        auto const path = r.url.substr(r.url.find('/', 7));
        std::string shown;
        for (auto const& [key, value] : r.headers)
            if (key == "x-aws-ec2-metadata-token") shown = value;
        if (path == "/latest/api/token" && r.method == "PUT") {
            said.status = 200;
            said.body = token;
        } else if (shown != token) {
            said.status = 401;
        } else if (auto const found = pages.find(path); found != pages.end()) {
            said.status = 200;
            said.body = found->second;
        }
        out = std::move(said);
        co_return out;
    }

    std::string token = "t1";
    bool is_silent = false;
    std::map<std::string, std::string> pages;
    std::vector<std::string> asked;
};

struct ec2 {
    sim::virtual_clock time{at_time("2026-01-02T03:04:05Z")};
    std::shared_ptr<paper_instance> web = std::make_shared<paper_instance>();
    std::vector<notice> told;
    std::vector<std::string> troubles;
    boost::asio::io_context io;
    std::optional<notice_watch> watch;

    explicit ec2(std::vector<notice::kind> kinds = {notice::kind::spot})
    {
        notice_watch_options o;
        o.kinds = std::move(kinds);
        o.service.url = "http://169.254.169.254";
        o.http = web;
        o.time = &time;
        o.trouble = [this](std::string const& why) { troubles.push_back(why); };
        watch.emplace(io.get_executor(), std::move(o), [this](notice const& n) { told.push_back(n); });
        watch->begin();
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(notices_of_an_instance)

BOOST_AUTO_TEST_CASE(are_read)
{
    auto const when = at_time("2026-01-02T03:06:05Z");
    struct row {
        notice::kind what;
        int status;
        char const* body;
        std::optional<notice> said;
    };
    using enum notice::kind;
    row const rows[] = {
        {spot, 404, "", {}},
        {spot, 200, R"({"action":"terminate","time":"2026-01-02T03:06:05Z"})", notice{spot, when}},
        {spot, 200, R"({"action":"stop","time":"2026-01-02T03:06:05Z"})", notice{spot, when}},
        {spot, 200, R"({"action":"terminate"})", {}},
        {spot, 200, "<html>", {}},
        {spot, 401, R"({"time":"2026-01-02T03:06:05Z"})", {}},
        {rebalance, 200, R"({"noticeTime":"2026-01-02T03:06:05Z"})", notice{rebalance, when}},
        {rebalance, 404, "", {}},
        {scale_in, 200, "InService", {}},
        {scale_in, 200, "Terminated\n", notice{scale_in}},
        {scale_in, 200, "Warmed:Terminated", notice{scale_in}},
        {scale_in, 200, "", {}},
    };
    for (auto const& r : rows)
        BOOST_TEST((notice_in(r.what, r.status, r.body) == r.said), r.body);
}

BOOST_AUTO_TEST_CASE(have_names)
{
    for (auto const* const name : {"spot", "rebalance", "scale-in"})
        BOOST_TEST(name_of(notice_kind(name).value()) == name);
    BOOST_TEST(!notice_kind("Spot"));
}

BOOST_AUTO_TEST_CASE(leave_a_drain_the_time_that_there_is)
{
    auto const now = at_time("2026-01-02T03:04:05Z");
    notice const in_two_minutes{notice::kind::spot, now + 2min}, over{notice::kind::spot, now - 1s};
    BOOST_TEST((drain_within(in_two_minutes, 30s, now) == 30s));
    BOOST_TEST((drain_within(in_two_minutes, 10min, now) == 115s));
    BOOST_TEST((drain_within(over, 30s, now) == 1s));
    BOOST_TEST((drain_within({notice::kind::rebalance, now}, 10min, now) == 10min));
    BOOST_TEST((drain_within({notice::kind::scale_in}, 10min, now) == 10min));
}

BOOST_AUTO_TEST_CASE(are_for_who_was_there)
{
    auto const now = at_time("2026-01-02T03:04:05Z");
    BOOST_TEST(is_for({notice::kind::rebalance, now + 1s}, now));
    BOOST_TEST(!is_for({notice::kind::rebalance, now - 1s}, now));
    BOOST_TEST(is_for({notice::kind::spot, now - 1s}, now));
}

BOOST_AUTO_TEST_CASE(are_told_once_within_five_seconds)
{
    ec2 host;
    host.time.run_for(host.io, 1min);
    BOOST_TEST(host.told.empty());
    BOOST_TEST(host.web->asked.size() == 1 + 12u + 1); // a token, and a question each five seconds
    host.web->pages["/latest/meta-data/spot/instance-action"] =
        R"({"action":"terminate","time":"2026-01-02T03:07:00Z"})";
    host.time.run_for(host.io, 5s);
    BOOST_TEST(host.told.size() == 1u);
    auto const questions = host.web->asked.size();
    host.time.run_for(host.io, 1min);
    BOOST_TEST(host.told.size() == 1u);
    BOOST_TEST(host.web->asked.size() == questions);
}

BOOST_AUTO_TEST_CASE(are_asked_for_with_another_token_when_one_has_ended)
{
    ec2 host;
    host.time.run_for(host.io, 7s);
    host.web->token = "t2";
    host.time.run_for(host.io, 10s);
    host.web->pages["/latest/meta-data/spot/instance-action"] =
        R"({"action":"terminate","time":"2026-01-02T03:07:00Z"})";
    host.time.run_for(host.io, 10s);
    BOOST_TEST(host.told.size() == 1u);
    BOOST_TEST(host.troubles.empty());
}

BOOST_AUTO_TEST_CASE(are_no_matter_where_nobody_answers)
{
    ec2 host;
    host.web->is_silent = true;
    host.time.run_for(host.io, 1h);
    BOOST_TEST(host.troubles.size() == 1u);
    BOOST_TEST(host.web->asked.size() <= 62u);
    BOOST_TEST(host.told.empty());
}

BOOST_AUTO_TEST_CASE(of_several_kinds_the_first_counts)
{
    ec2 host({notice::kind::spot, notice::kind::scale_in});
    host.web->pages["/latest/meta-data/autoscaling/target-lifecycle-state"] = "InService";
    host.time.run_for(host.io, 1min);
    BOOST_TEST(host.told.empty());
    host.web->pages["/latest/meta-data/autoscaling/target-lifecycle-state"] = "Terminated";
    host.time.run_for(host.io, 6s);
    BOOST_TEST((host.told == std::vector<notice>{{notice::kind::scale_in}}));
}

BOOST_AUTO_TEST_SUITE_END()
