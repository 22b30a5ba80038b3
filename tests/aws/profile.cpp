#include "support/paper_files.hpp"
#include "support/variables.hpp"

#include <quern/aws/config/profile.hpp>

#include <boost/test/unit_test.hpp>

#include <map>

namespace aws = quern::aws;
using quern::test::with;
using std::string;

namespace {

aws::shared_config parsed(string config, string credentials = "")
{
    return aws::parse_shared_config({"config", std::move(config)}, {"credentials", std::move(credentials)}).value();
}

string error_in(string config, string credentials = "")
{
    auto const read =
        aws::parse_shared_config({"config", std::move(config)}, {"credentials", std::move(credentials)});
    if (read) return "accepted";
    BOOST_TEST(read.error().code == quern::errc::invalid_option);
    return read.error().message;
}

} // namespace

// The service's own cases run as conformance.profile; here is what they leave open.
BOOST_AUTO_TEST_SUITE(profile)

BOOST_AUTO_TEST_CASE(both_files_make_one_profile_and_the_credentials_file_wins)
{
    auto const config = parsed("[default]\nregion = eu-west-1\naws_access_key_id = old\n[profile p]\nx = 1",
        "[default]\nAWS_ACCESS_KEY_ID = new\n[only]\n[profile p]\nx = 2\n[services s]\n");
    BOOST_REQUIRE(config.profile("default"));
    BOOST_TEST(config.profile("default")->get("region") == "eu-west-1");
    BOOST_TEST(config.profile("default")->get("aws_access_key_id") == "new");
    BOOST_TEST(config.profile("only"));
    BOOST_TEST(config.profile("p")->get("x") == "1");
    BOOST_TEST(config.services.empty());
    BOOST_TEST(!config.profile("absent"));
}

BOOST_AUTO_TEST_CASE(sessions_and_services_have_sections_of_their_own)
{
    auto const config = parsed("[profile p]\nservices = s\nsso_session = p\n"
                               "[sso-session p]\nsso_region = eu-west-1\n"
                               "[services s]\n"
                               "sts =\n"
                               "  # a local one\n"
                               "  Endpoint_URL = http://localhost:1 # here\n"
                               "  other = x\n"
                               "sqs = \n"
                               "\tendpoint_url=http://localhost:2\n"
                               "flat = endpoint_url\n");
    auto const& p = *config.profile("p");
    BOOST_TEST(config.service(p, "sts").get("endpoint_url") == "http://localhost:1");
    BOOST_TEST(config.service(p, "sqs").get("endpoint_url") == "http://localhost:2");
    BOOST_TEST(config.service(p, "flat").values.empty());
    BOOST_TEST(config.service(p, "absent").values.empty());
    BOOST_TEST(config.service(aws::section(), "sts").values.empty());
    BOOST_REQUIRE(config.sso_session("p"));
    BOOST_TEST(config.sso_session("p")->get("sso_region") == "eu-west-1");
    BOOST_TEST(!p.has("sso_region"));
    BOOST_TEST(p.has("services"));
}

BOOST_AUTO_TEST_CASE(files_of_other_systems_are_read)
{
    BOOST_TEST(parsed("\xEF\xBB\xBF[default]\r\nregion = a\r\n\r\n").profile("default")->get("region") == "a");
}

BOOST_AUTO_TEST_CASE(an_error_names_file_and_line_and_shows_nothing_of_it)
{
    BOOST_TEST(error_in("\n[default]\nsecret") == "config, line 3: expected an '=' sign that defines a property");
    BOOST_TEST(
        error_in("", "secret = 1") == "credentials, line 1: expected the definition of a section, like [default]");
    BOOST_TEST(error_in("[default") == "config, line 1: the definition of a section must end with ']'");
    BOOST_TEST(
        error_in("[default]\n secret").starts_with("config, line 2: expected a property before its continuation"));
    BOOST_TEST(error_in("[default]\na = 1\n[default]\n secret").starts_with("config, line 4: expected a property"));
    BOOST_TEST(error_in("[other kind]\nsecret").starts_with("config, line 2: expected an '='"));
}

BOOST_AUTO_TEST_CASE(the_files_are_where_the_variables_say_or_in_the_home_folder)
{
    auto const at = aws::locate_shared_files(with({{"HOME", "/h"}, {"AWS_CONFIG_FILE", "~/c"}}));
    BOOST_TEST(at.config == "/h/c");
    BOOST_TEST(at.credentials == "/h/.aws/credentials");
    BOOST_TEST(aws::locate_shared_files(with({{"AWS_SHARED_CREDENTIALS_FILE", "x"}})).credentials == "x");
}

BOOST_AUTO_TEST_CASE(the_profile_is_the_one_chosen_then_that_of_the_variables)
{
    std::map<string, string> variables{{"AWS_DEFAULT_PROFILE", "c"}};
    BOOST_TEST(aws::selected_profile(with({})) == "default");
    BOOST_TEST(aws::selected_profile(with(variables)) == "c");
    variables["AWS_PROFILE"] = "b";
    BOOST_TEST(aws::selected_profile(with(variables)) == "b");
    BOOST_TEST(aws::selected_profile(with(variables), "a") == "a");
}

BOOST_AUTO_TEST_CASE(an_absent_file_is_empty_and_one_that_cannot_be_read_is_an_error)
{
    auto const home = with({{"HOME", "/h"}});
    quern::test::paper_files disk;
    BOOST_TEST(aws::load_shared_config(home, disk).value().profiles.empty());
    disk.text["/h/.aws/credentials"] = "[default]\na = 1";
    BOOST_TEST(aws::load_shared_config(home, disk).value().profiles.size() == 1u);
    disk.locked.insert("/h/.aws/config");
    auto const refused = aws::load_shared_config(home, disk);
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().code == quern::errc::invalid_option);
    BOOST_TEST(refused.error().message.starts_with("/h/.aws/config cannot be read: "));
}

BOOST_AUTO_TEST_SUITE_END()
