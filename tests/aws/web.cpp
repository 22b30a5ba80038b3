#include "surrounded.hpp"

#include "support/loopback.hpp"

#include <quern/aws/detail/error_reply.hpp>

#include <boost/test/unit_test.hpp>

namespace asio = boost::asio;
namespace aws = quern::aws;
using namespace quern;
using namespace quern::aws::detail;
using namespace std::chrono_literals;
using quern::test::surrounded;

namespace {

std::function<result<aws::web_request>()> const get = [] { return aws::web_request("http://a/"); };

} // namespace

BOOST_FIXTURE_TEST_SUITE(web, surrounded)

BOOST_AUTO_TEST_CASE(what_would_break_the_line_is_refused_and_not_shown)
{
    auto const real = aws::real_web(io.get_executor());
    auto const refusal_of = [&](aws::web_request request) {
        auto const got = test::run(io, real->send(std::move(request)));
        BOOST_REQUIRE(!got.has_value());
        BOOST_TEST(got.error().code == errc::invalid_request);
        return got.error().message;
    };
    for (char const bad : {'\r', '\n', '\0', '\x7f'}) {
        aws::web_request request("http://a/");
        request.headers.emplace_back("authorization", std::string("hidden") + bad + "x: y");
        auto const why = refusal_of(std::move(request));
        BOOST_TEST(why.find("authorization") != std::string::npos);
        BOOST_TEST(why.find("hidden") == std::string::npos);
    }
    for (auto const* const url : {"http://a/?b c", "http://a/?b\r\nc", "http://a/b c", "ftp://a", "http://a/?b#c"})
        refusal_of(aws::web_request(url));
}

BOOST_AUTO_TEST_CASE(passing_errors_are_tried_again_and_others_are_not)
{
    web.add(503, "");
    web.answers.emplace_back(failure(errc::connection_lost, "lost", true));
    web.add(200, "good");
    auto const got = run(aws::fetch(web, time, get, decode_error, aws::patience()));
    BOOST_REQUIRE(got.has_value());
    BOOST_TEST(got->body == "good");
    BOOST_TEST(web.asked.size() == 3u);

    web.add(404, "no");
    BOOST_TEST(run(aws::fetch(web, time, get, decode_error, aws::patience())).error().http_status == 404);
    BOOST_TEST(web.asked.size() == 4u);
}

BOOST_AUTO_TEST_CASE(the_last_attempt_is_the_last)
{
    for (int i = 0; i < 3; ++i)
        web.add(500, "");
    BOOST_TEST(run(aws::fetch(web, time, get, decode_error, aws::patience{2})).error().http_status == 500);
    BOOST_TEST(web.asked.size() == 2u);
}

BOOST_AUTO_TEST_CASE(silence_may_count_as_an_answer)
{
    web.add(503, "");
    auto const none = run(aws::fetch(web, time, get, decode_error, aws::patience{3, false}));
    BOOST_TEST(none.error().code == errc::timed_out);
    BOOST_TEST(web.asked.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_request_that_cannot_be_made_is_not_sent)
{
    std::function<result<aws::web_request>()> const none = []() -> result<aws::web_request> {
        return failure(errc::no_credentials, "no token");
    };
    BOOST_TEST(run(aws::fetch(web, time, none, decode_error, aws::patience())).error().message == "no token");
    BOOST_TEST(web.asked.empty());
}

// It was an exception, and the error said neither for whom nor which option.
BOOST_AUTO_TEST_CASE(a_file_of_authorities_that_has_vanished_is_named_with_the_place_and_the_option)
{
    net::client_options options;
    options.ca_bundle = "/nowhere/ca.pem";
    auto const real = aws::real_web(io.get_executor(), options);
    aws::web_request request("https://sts.example/");
    auto const got = test::run(io, real->send(std::move(request)));
    BOOST_REQUIRE(!got.has_value());
    BOOST_TEST(got.error().code == errc::invalid_option);
    BOOST_TEST(got.error().message.starts_with("https://sts.example: "));
    BOOST_TEST(got.error().message.find("ca_bundle \"/nowhere/ca.pem\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_real_one_reaches_a_server)
{
    test::loopback server(io);
    std::string asked;
    auto const serve = [&]() -> asio::awaitable<void> {
        auto socket = co_await server.accept();
        asked = co_await test::read_request(socket);
        co_await test::say(socket, test::http_reply("hello", "HTTP/1.1 418 X"));
    };
    test::play(io, serve());
    auto const real = aws::real_web(io.get_executor());
    aws::web_request request(server.url() + "/x?y=z");
    auto const got = test::run(io, real->send(std::move(request)));
    BOOST_REQUIRE(got.has_value());
    BOOST_TEST(got->status == 418);
    BOOST_TEST(got->body == "hello");
    BOOST_TEST(asked.starts_with("GET /x?y=z HTTP/1.1\r\nHost: 127.0.0.1:"));
}

BOOST_AUTO_TEST_SUITE_END()
