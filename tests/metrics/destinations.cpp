#include <quern/metrics/destinations.hpp>
#include <quern/sim/virtual_clock.hpp>

#include "support/fake_web.hpp"
#include "support/loopback.hpp"

#include <boost/json.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <map>
#include <vector>

using namespace quern;
using namespace quern::metrics;
using namespace quern::test;
using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

telemetry::snapshot with(collection const& all, consumer_metrics& its, int more)
{
    for (int i = 0; i < more; ++i)
        its.received(observed_message());
    return all.snapshot();
}

result<void> send(destination& to, telemetry::snapshot s)
{
    return run(to.send(std::move(s)));
}

std::unique_ptr<destination> cloudwatch_at(loopback& server, asio::io_context& io)
{
    cloudwatch_options options;
    options.region = "eu-west-1";
    options.url = server.url();
    options.environment = [](char const*) { return std::string(); };
    auto const keys = aws::static_credentials({"AKIDEXAMPLE", "secret", ""});
    return to_cloudwatch(io.get_executor(), keys, options);
}

} // namespace

BOOST_AUTO_TEST_CASE(lines_have_what_was_added_since_the_lines_before)
{
    collection all;
    auto const its = all.consumer("orders");
    std::vector<std::string> lines;
    auto const to = to_emf([&](std::string_view text) { lines.emplace_back(text); });
    for (int const more : {3, 4}) {
        BOOST_TEST(send(*to, with(all, *its, more)).has_value());
        BOOST_TEST(json::parse(lines.back()).at("MessagesReceived").to_number<double>() == more);
    }
    BOOST_TEST(lines.size() == 2u);
}

BOOST_AUTO_TEST_CASE(an_otlp_receiver_gets_all_since_the_start_and_its_headers)
{
    collection all;
    auto const its = all.consumer("orders");
    fake_web web;
    telemetry::otlp_options options;
    options.url = "http://collector:4318/v1/metrics";
    options.headers = {{"api-key", "secret"}};
    auto const to = to_otlp(web, options, "1.2");
    for (int const more : {3, 4})
        BOOST_TEST(send(*to, with(all, *its, more)).has_value());
    auto const& last = web.sent.at(1);
    BOOST_TEST(last.method == "POST");
    BOOST_TEST(last.to.path == "/v1/metrics");
    BOOST_TEST(last.headers.at(0).second == "secret");
    BOOST_TEST(last.headers.at(1).second == "application/json");
    BOOST_TEST(last.body.find(R"("asInt":"7")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_otlp_receiver_that_refuses_or_is_not_there_is_a_failure)
{
    collection all;
    fake_web web;
    auto const to = to_otlp(web, telemetry::otlp_options(), "1.2");
    for (int const status : {0, 302, 400, 429, 503}) {
        web.status = status;
        BOOST_TEST(!send(*to, all.snapshot()).has_value(), status);
    }
}

// It answers 200 all the same, and the numbers were missing without a word.
BOOST_AUTO_TEST_CASE(an_otlp_receiver_that_takes_a_part_only_is_a_failure_that_says_why)
{
    collection all;
    fake_web web;
    auto const to = to_otlp(web, telemetry::otlp_options(), "1.2");
    web.body = R"({"partialSuccess":{"rejectedDataPoints":"12","errorMessage":"duplicate \n series"}})";
    auto const got = send(*to, all.snapshot());
    BOOST_REQUIRE(got.has_error());
    BOOST_TEST(got.error().message == "the receiver rejects 12 data points: duplicate ? series");
    web.body = R"({"partialSuccess":{"rejectedDataPoints":1}})";
    BOOST_TEST(send(*to, all.snapshot()).error().message == "the receiver rejects 1 data point");
    for (auto const* whole : {"", "{}", "[]", "nonsense", R"({"partialSuccess":{"errorMessage":"a warning"}})"}) {
        web.body = whole;
        BOOST_TEST(send(*to, all.snapshot()).has_value(), whole);
    }
}

BOOST_AUTO_TEST_CASE(an_otlp_url_or_header_that_cannot_be_used_is_refused_at_once)
{
    fake_web web;
    telemetry::otlp_options options;
    options.url = "collector:4318";
    BOOST_CHECK_THROW(to_otlp(web, options, "1"), boost::system::system_error);
    options = {};
    options.headers = {{"a", "b\r\nc: d"}};
    BOOST_CHECK_THROW(to_otlp(web, options, "1"), boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(cloudwatch_gets_signed_put_metric_data_of_what_was_added)
{
    asio::io_context io;
    loopback server(io);
    std::vector<std::string> requests;
    auto const serve = [&]() -> asio::awaitable<void> {
        auto peer = co_await server.accept();
        for (int i = 0; i < 2; ++i) {
            auto request = co_await read_request(peer);
            requests.push_back(std::move(request));
            auto reply = http_reply("{}");
            co_await say(peer, std::move(reply));
        }
    };
    play(io, serve());
    collection all;
    auto const its = all.consumer("orders");
    auto const to = cloudwatch_at(server, io);
    for (int const more : {3, 4}) {
        auto work = to->send(with(all, *its, more));
        BOOST_TEST(run(io, std::move(work)).has_value());
    }
    BOOST_REQUIRE(requests.size() == 2u);
    auto const& last = requests[1];
    BOOST_TEST(last.find("GraniteServiceVersion20100801.PutMetricData") != last.npos);
    BOOST_TEST(last.find("/eu-west-1/monitoring/aws4_request") != last.npos);
    BOOST_TEST(last.find("application/x-amz-json-1.0") != last.npos);
    auto const body = json::parse(last.substr(last.find("\r\n\r\n") + 4));
    std::map<std::string, double> values;
    for (auto const& d : body.at("MetricData").as_array())
        if (auto const* v = d.as_object().if_contains("Value"))
            values.emplace(d.at("MetricName").as_string(), v->to_number<double>());
    BOOST_TEST(values.at("MessagesReceived") == 4.0);
}

BOOST_AUTO_TEST_CASE(cloudwatch_that_refuses_is_a_failure)
{
    asio::io_context io;
    loopback server(io);
    auto const serve = [&]() -> asio::awaitable<void> {
        auto peer = co_await server.accept();
        co_await read_request(peer);
        auto reply =
            http_reply(R"({"__type":"InvalidParameterValueException","message":"no"})", "HTTP/1.1 400 Bad Request");
        co_await say(peer, std::move(reply));
    };
    play(io, serve());
    collection all;
    auto const its = all.consumer("orders");
    auto const to = cloudwatch_at(server, io);
    auto work = to->send(all.snapshot());
    auto const said = run(io, std::move(work));
    BOOST_REQUIRE(said.has_error());
    BOOST_TEST(said.error().service_code == "InvalidParameterValueException");
}

// It may have been counted.
BOOST_AUTO_TEST_CASE(what_cloudwatch_did_not_answer_is_not_sent_again)
{
    asio::io_context io;
    loopback server(io);
    int requests = 0;
    auto const serve = [&]() -> asio::awaitable<void> {
        for (;;) {
            auto peer = co_await server.accept();
            co_await read_request(peer);
            ++requests;
        }
    };
    play(io, serve());
    collection all;
    auto const its = all.consumer("orders");
    auto const to = cloudwatch_at(server, io);
    auto work = to->send(all.snapshot());
    BOOST_TEST(run(io, std::move(work)).has_error());
    BOOST_TEST(requests == 1);
}

BOOST_AUTO_TEST_CASE(without_a_region_there_is_no_cloudwatch)
{
    asio::io_context io;
    cloudwatch_options options;
    options.environment = [](char const*) { return std::string(); };
    BOOST_CHECK_THROW(to_cloudwatch(io.get_executor(), nullptr, options), boost::system::system_error);
}
