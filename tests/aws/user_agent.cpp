#include <quern/aws/detail/user_agent.hpp>

#include <boost/test/unit_test.hpp>

using namespace quern::aws;
using namespace quern::aws::detail;

BOOST_AUTO_TEST_SUITE(agent_of_a_request)

BOOST_AUTO_TEST_CASE(it_names_version_system_and_application)
{
    auto const plain = user_agent("");
    BOOST_TEST(plain.starts_with("quern/"));
    BOOST_TEST(plain.find(" os/") != plain.npos);
    BOOST_TEST(plain.find("app/") == plain.npos);
    BOOST_TEST(user_agent("orders").ends_with(" app/orders"));
    BOOST_TEST(user_agent("my app\r\nx: y").ends_with(" app/my-app--x--y"));
    BOOST_TEST(user_agent(std::string(80, 'a')).ends_with(" app/" + std::string(50, 'a')));
}

BOOST_AUTO_TEST_CASE(the_application_is_named_by_a_variable_or_the_profile)
{
    section const profile{{{"sdk_ua_app_id", "of-profile"}}};
    auto const none = [](char const*) { return std::string(); };
    auto const some = [](char const* name) {
        return std::string(std::string_view(name) == "AWS_SDK_UA_APP_ID" ? "x" : "");
    };
    BOOST_TEST(application_id(none, nullptr) == "");
    BOOST_TEST(application_id(none, &profile) == "of-profile");
    BOOST_TEST(application_id(some, &profile) == "x");
}

BOOST_AUTO_TEST_SUITE_END()
