#include <quern/services/app_config.hpp>
#include <quern/services/app_config_agent.hpp>

#include <support/fake_app_config.hpp>
#include <support/variables.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>

using namespace quern::services;
using namespace std::chrono_literals;
using quern::errc;
using quern::test::fake_app_config;
using quern::test::run;
using std::string;

namespace asio = boost::asio;

namespace {

struct fixture {
    asio::io_context io;
    fake_app_config service{io};
    app_config client{io.get_executor(), service.options()};
    configuration_name const flags{"shop", "prod", "flags"};

    fixture()
    {
        service.interval = 0s;
        service.deploy("shop/prod/flags", R"({"orders":{"enabled":true}})");
    }

    auto begin(std::optional<std::chrono::seconds> least = std::nullopt)
    {
        return run(io, client.start_configuration_session(start_configuration_session_request(flags, least)));
    }
    auto read(string token)
    {
        return run(io, client.get_latest_configuration(get_latest_configuration_request(std::move(token))));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(a_client_of_app_config, fixture)

BOOST_AUTO_TEST_CASE(reads_what_is_deployed_and_then_what_has_changed)
{
    auto const first = read(begin().value().token).value();
    BOOST_TEST(first.content.value() == R"({"orders":{"enabled":true}})");
    BOOST_TEST(first.version_label == "v1");
    BOOST_TEST(first.content_type == "application/json");
    auto const same = read(first.token).value();
    BOOST_TEST(!same.content.has_value());
    service.deploy("shop/prod/flags", "closed");
    BOOST_TEST(read(same.token).value().content.value() == "closed");
}

BOOST_AUTO_TEST_CASE(a_token_is_good_once)
{
    auto const token = begin().value().token;
    read(token).value();
    auto const again = read(token);
    BOOST_REQUIRE(again.has_error());
    BOOST_TEST(again.error().service_code == "BadRequestException");
    BOOST_TEST(again.error().http_status == 400);
}

BOOST_AUTO_TEST_CASE(the_service_says_how_soon_it_may_be_read_again)
{
    auto const first = read(begin(30s).value().token).value();
    BOOST_TEST(first.next.count() == 30);
    BOOST_TEST(read(first.token).has_error());
}

BOOST_AUTO_TEST_CASE(signs_for_app_config_a_get_with_its_query)
{
    read(begin().value().token).value();
    BOOST_TEST(service.asked[0].starts_with("POST /configurationsessions HTTP/1.1\r\n"));
    BOOST_TEST(service.asked[0].find("content-type: application/json\r\n") != string::npos);
    BOOST_TEST(service.asked[1].starts_with("GET /configuration?configuration_token=token1 HTTP/1.1\r\n"));
    BOOST_TEST(service.asked[1].find("/eu-west-1/appconfig/aws4_request") != string::npos);
    BOOST_TEST(service.asked[1].find("content-length") == string::npos);
}

BOOST_AUTO_TEST_CASE(a_token_may_hold_any_character)
{
    (void)read("a+b/c=&d");
    BOOST_TEST(service.asked[0].starts_with("GET /configuration?configuration_token=a%2Bb%2Fc%3D%26d HTTP/1.1\r\n"));
}

BOOST_AUTO_TEST_CASE(fails_with_the_services_code)
{
    configuration_name const none("shop", "prod", "none");
    auto const said =
        run(io, client.start_configuration_session(start_configuration_session_request(none, std::nullopt)));
    BOOST_REQUIRE(said.has_error());
    BOOST_TEST(said.error().service_code == "ResourceNotFoundException");
}

BOOST_AUTO_TEST_CASE(tries_again_when_the_service_is_unwell_or_throttles)
{
    int times = 0;
    service.fails_with_status = [&] { return times++ == 0 ? 500 : times == 2 ? 429 : 0; };
    BOOST_TEST(begin().value().token == "token1");
    BOOST_TEST(service.asked.size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(the_endpoint_of_app_config_comes_from_its_variable)
{
    ::setenv("AWS_ENDPOINT_URL_APPCONFIGDATA", "http://127.0.0.1:8113", 1);
    ::setenv("AWS_REGION", "eu-west-1", 1);
    asio::io_context io;
    app_config const client(io.get_executor());
    ::unsetenv("AWS_ENDPOINT_URL_APPCONFIGDATA");
    app_config const other(io.get_executor());
    ::unsetenv("AWS_REGION");
    BOOST_TEST(client.endpoint().authority() == "127.0.0.1:8113");
    BOOST_TEST(other.endpoint().authority() == "appconfigdata.eu-west-1.amazonaws.com");
}

namespace {

/// An agent that knows one configuration.
struct fake_agent : quern::test::fake_service {
    using fake_service::fake_service;
    string configuration = "open";

    std::optional<std::string> answer_to(std::string const& request) override
    {
        if (!request.starts_with("GET /applications/my%20shop/environments/prod/configurations/flags HTTP/1.1\r\n"))
            return reply(404, R"({"Message":"none"})", "x-amzn-errortype: ResourceNotFoundException\r\n");
        return reply(200, configuration);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(the_agent_is_asked_with_its_token_and_without_a_signature)
{
    asio::io_context io;
    fake_agent agent(io);
    agent_options options;
    options.url = agent.url();
    options.token = "let-me-in";
    configuration_name const known("my shop", "prod", "flags"), unknown("shop", "prod", "flags");
    BOOST_TEST(run(io, read_from_agent(options, known)).value() == "open");
    BOOST_TEST(agent.asked[0].find("authorization: Bearer let-me-in\r\n") != string::npos);
    BOOST_TEST(agent.asked[0].find("x-amz-date") == string::npos);
    auto const said = run(io, read_from_agent(options, unknown));
    BOOST_REQUIRE(said.has_error());
    BOOST_TEST(said.error().service_code == "ResourceNotFoundException");
}

BOOST_AUTO_TEST_CASE(the_agent_may_have_a_configuration_as_large_as_there_are)
{
    asio::io_context io;
    fake_agent agent(io);
    agent.configuration.assign(2'000'000, 'x');
    agent_options options;
    options.url = agent.url();
    BOOST_TEST(run(io, read_from_agent(options, configuration_name("my shop", "prod", "flags"))).value().size() ==
        2'000'000u);
}

BOOST_AUTO_TEST_CASE(the_agents_port_and_token_come_from_the_environment)
{
    BOOST_TEST(agent_options::from(quern::test::with({})).url == "http://localhost:2772");
    auto const said = agent_options::from(
        quern::test::with({{"AWS_APPCONFIG_EXTENSION_HTTP_PORT", "4000"}, {"ACCESS_TOKEN", "t"}}));
    BOOST_TEST(said.url == "http://localhost:4000");
    BOOST_TEST(said.token == "t");
}
