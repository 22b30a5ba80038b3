#include <quern/tracing/span_destination.hpp>

#include "support/fake_web.hpp"
#include "support/run.hpp"

#include <boost/json.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace quern;
using namespace quern::tracing;
using namespace quern::test;
using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

span_answer send(span_destination& to, std::vector<telemetry::span> const& spans)
{
    return run(to.send(spans));
}

} // namespace

BOOST_AUTO_TEST_CASE(spans_are_posted_with_the_headers_that_were_asked_for)
{
    fake_web web;
    auto options = telemetry::otlp_options::for_traces();
    options.url = "http://collector:4318/v1/traces";
    options.headers = {{"api-key", "secret"}};
    options.timeout = 3s;
    auto const to = to_otlp(web, options, "1.2");
    std::vector<telemetry::span> const spans(2);
    BOOST_TEST(!send(*to, spans).why.has_value());
    auto const& last = web.sent.at(0);
    BOOST_TEST(last.method == "POST");
    BOOST_TEST(last.to.path == "/v1/traces");
    BOOST_TEST(last.timeout.count() == 3'000);
    BOOST_TEST(last.headers.at(0).second == "secret");
    BOOST_TEST(last.headers.at(1).second == "application/json");
    auto const body = json::parse(last.body);
    BOOST_TEST(body.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").as_array().size() == 2u);
}

BOOST_AUTO_TEST_CASE(answers_say_whether_to_come_again_and_when)
{
    struct {
        int status;
        char const* pause;
        bool taken, again;
        int after; // seconds; -1: does not say
    } const table[] = {
        {200, "", true, false, -1},
        {202, "5", true, false, -1},
        {0, "", false, true, -1},
        {400, "", false, false, -1},
        {404, "", false, false, -1},
        {429, "7", false, true, 7},
        {429, "", false, true, -1},
        {500, "", false, false, -1},
        {502, "", false, true, -1},
        {503, "0", false, true, 0},
        {504, "", false, true, -1},
        {302, "", false, false, -1},
        {503, "soon", false, true, -1},
        {503, "-1", false, true, -1},
        {503, "999999999999", false, true, -1},
    };
    for (auto const& row : table) {
        fake_web web;
        web.status = row.status;
        web.pause = row.pause;
        auto const to = to_otlp(web, telemetry::otlp_options::for_traces(), "1");
        auto const got = send(*to, {});
        BOOST_TEST_CONTEXT(row.status << ' ' << row.pause)
        {
            BOOST_TEST(!got.why.has_value() == row.taken);
            if (got.why) BOOST_TEST(got.why->retryable == row.again);
            BOOST_TEST((got.after ? *got.after / 1s : -1) == row.after);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_partial_success_has_its_number)
{
    struct {
        char const* body;
        std::size_t rejected;
    } const table[] = {
        {"", 0},
        {"{}", 0},
        {R"({"partialSuccess":{}})", 0},
        {R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}})", 3},
        {R"({"partialSuccess":{"errorMessage":"x","rejectedSpans":4}})", 4},
        {R"({"partialSuccess":{"rejectedSpans":-1}})", 0},
        {R"({"partialSuccess":{"rejectedSpans":"many"}})", 0},
        {R"({"partialSuccess":[1]})", 0},
        {R"({"partialSuccess":)", 0},
        {"OK", 0},
        {"\xff\xff", 0},
    };
    for (auto const& row : table)
        BOOST_TEST(rejected_in(row.body) == row.rejected, row.body);
    fake_web web;
    web.body = table[3].body;
    auto const to = to_otlp(web, telemetry::otlp_options::for_traces(), "1");
    BOOST_TEST(send(*to, {}).rejected == 3u);
}

BOOST_AUTO_TEST_CASE(a_url_that_cannot_be_used_is_refused_at_once)
{
    fake_web web;
    auto options = telemetry::otlp_options::for_traces();
    options.url = "collector:4318";
    BOOST_CHECK_THROW(to_otlp(web, options, "1"), boost::system::system_error);
}
