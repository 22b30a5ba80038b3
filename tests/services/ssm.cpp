#include <quern/services/ssm.hpp>

#include <support/fake_ssm.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>

using namespace quern::services;
using quern::errc;
using quern::test::fake_ssm;
using quern::test::run;
using std::string;

namespace asio = boost::asio;

namespace {

struct fixture {
    asio::io_context io;
    fake_ssm service{io};
    ssm client{io.get_executor(), service.options()};

    auto get(string const& name, bool decrypt = false)
    {
        return run(io, client.get_parameter(get_parameter_request(name, decrypt)));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(a_client_of_systems_manager, fixture)

BOOST_AUTO_TEST_CASE(reads_a_parameter)
{
    service.parameters["/orders/\"halt\""] = {"open", "String", 7};
    auto const got = get("/orders/\"halt\"").value();
    BOOST_TEST(got.value == "open");
    BOOST_TEST(got.name == "/orders/\"halt\"");
    BOOST_TEST(got.type == "String");
    BOOST_TEST(got.version == 7);
}

BOOST_AUTO_TEST_CASE(signs_for_systems_manager_in_its_version_of_the_protocol)
{
    service.parameters["a"] = {"1"};
    get("a").value();
    auto const& request = service.asked.front();
    BOOST_TEST(request.find("x-amz-target: AmazonSSM.GetParameter\r\n") != string::npos);
    BOOST_TEST(request.find("/eu-west-1/ssm/aws4_request") != string::npos);
    BOOST_TEST(request.find("application/x-amz-json-1.1") != string::npos);
    BOOST_TEST(request.find("x-amzn-query-mode") == string::npos);
    BOOST_TEST(request.find("WithDecryption") == string::npos);
}

BOOST_AUTO_TEST_CASE(writes_a_parameter)
{
    for (auto const* const word : {"open", "closed"}) {
        BOOST_TEST(run(io, client.put_parameter(put_parameter_request("halt", word))).has_value());
        BOOST_TEST(get("halt").value().value == word);
    }
}

BOOST_AUTO_TEST_CASE(decrypts_where_it_is_asked_to)
{
    service.parameters["secret"] = {"open", "SecureString"};
    BOOST_TEST(get("secret").value().value == "AQICAHhencrypted");
    BOOST_TEST(get("secret", true).value().value == "open");
}

BOOST_AUTO_TEST_CASE(fails_with_the_services_code)
{
    auto const said = get("none");
    BOOST_REQUIRE(said.has_error());
    BOOST_TEST(said.error().service_code == "ParameterNotFound");
    BOOST_TEST(service.asked.size() == 1u);
}

BOOST_AUTO_TEST_CASE(answers_nobody_once_it_is_closed)
{
    client.close();
    io.poll();
    auto const said = get("a");
    BOOST_REQUIRE(said.has_error());
    BOOST_TEST(said.error().code == errc::stopped);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(the_endpoint_of_systems_manager_comes_from_its_variable)
{
    ::setenv("AWS_ENDPOINT_URL_SSM", "http://127.0.0.1:8112", 1);
    ::setenv("AWS_REGION", "eu-west-1", 1);
    asio::io_context io;
    ssm const client(io.get_executor());
    ::unsetenv("AWS_ENDPOINT_URL_SSM");
    ssm const other(io.get_executor());
    ::unsetenv("AWS_REGION");
    BOOST_TEST(client.endpoint().authority() == "127.0.0.1:8112");
    BOOST_TEST(other.endpoint().authority() == "ssm.eu-west-1.amazonaws.com");
}
