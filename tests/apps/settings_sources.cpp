#include "quern/common/settings_sources.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <vector>

using namespace quern;
using namespace quern::app;

namespace {

wanted_settings wanted()
{
    wanted_settings out;
    out.path = {"consume"};
    out.of_program = {{"region"}, {"log-level"}};
    out.of_command = {{"rate"}, {"handler-concurrency"}, {"log-bodies", true}, {"tenant-weight", false, true},
        {"port"}, {"queue", false, true, true}};
    out.commands = {"consume", "relay", "queue"};
    return out;
}

std::string shown(std::vector<said_setting> const& all)
{
    std::string out;
    for (auto const& one : all) {
        out += (out.empty() ? "" : " ") + one.what.name + '=';
        for (auto const& value : one.values)
            out += value + (&value == &one.values.back() ? "" : "|");
    }
    return out;
}

std::string read(std::string_view document)
{
    auto const got = settings_in_document(document, "quern.toml", wanted());
    return got ? shown(*got) : got.error().message;
}

std::string read_variables(std::map<std::string, std::string> const& all, std::vector<std::string>& warnings)
{
    std::vector<std::string> names;
    for (auto const& [name, value] : all)
        names.push_back(name);
    auto const variable = [&](char const* name) {
        auto const at = all.find(name);
        return at == all.end() ? std::string() : at->second;
    };
    return shown(settings_in_environment(variable, names, wanted(), warnings));
}

} // namespace

BOOST_AUTO_TEST_SUITE(settings_sources)

BOOST_AUTO_TEST_CASE(a_file_has_options_of_the_program_and_of_the_command)
{
    BOOST_TEST(
        read("region = \"eu-west-1\"\n[consume]\nrate = \"30/min\"\nhandler_concurrency = 4\n"
             "log_bodies = true\ntenant_weight = [\"a=1\", \"b=2.5\"]\nqueue = \"orders\"\n[relay]\nany = 1\n") ==
        "region=eu-west-1 handler-concurrency=4 log-bodies=true queue=orders rate=30/min tenant-weight=a=1|b=2.5");
    BOOST_TEST(read("") == "");
    BOOST_TEST(read("[relay]\nx = 1") == "");
}

BOOST_AUTO_TEST_CASE(what_is_not_known_names_the_nearest)
{
    BOOST_TEST(read("[consume]\nconcurency = 4") == "--config quern.toml:2:1: consume.concurency is not known");
    BOOST_TEST(read("[consume]\nhandler_concurency = 4") ==
        "--config quern.toml:2:1: consume.handler_concurency is not known, did you mean handler_concurrency?");
    BOOST_TEST(read("[consume]\nconcurrency = 4") ==
        "--config quern.toml:2:1: consume.concurrency is not known, did you mean handler_concurrency?");
    BOOST_TEST(read("[consum]\nrate = 4") == "--config quern.toml:1:2: consum is not known, did you mean consume?");
    BOOST_TEST(read("rgion = \"x\"") == "--config quern.toml:1:1: rgion is not known, did you mean region?");
    BOOST_TEST(
        read("[consume]\nlog_bodies = 7") == "--config quern.toml:2:14: consume.log_bodies must be true or false");
    BOOST_TEST(read("[consume]\nrate = [1, 2]").starts_with("--config quern.toml:2:8: consume.rate must be"));
}

BOOST_AUTO_TEST_CASE(a_key_that_somebody_else_reads_is_left_to_him)
{
    auto some = wanted();
    some.read_elsewhere = [](std::string_view key) { return key == "url"; };
    BOOST_TEST(shown(settings_in_document("[consume]\nurl = \"http://x\"\nrate = 3", "f", some).value()) == "rate=3");
}

BOOST_AUTO_TEST_CASE(commands_of_commands_have_tables_in_tables)
{
    wanted_settings some;
    some.path = {"queue", "create"};
    some.of_command = {{"attribute", false, true}};
    some.commands = {"queue"};
    BOOST_TEST(shown(settings_in_document("[queue]\n[queue.create]\nattribute = [\"a=1\"]", "f", some).value()) ==
        "attribute=a=1");
    BOOST_TEST(settings_in_document("[queue]\n[queue.list]\nx = 1", "f", some).has_value());
}

BOOST_AUTO_TEST_CASE(variables_have_the_names_of_command_and_option)
{
    std::vector<std::string> warnings;
    BOOST_TEST(read_variables({{"QUERN_REGION", "eu-west-1"}, {"QUERN_CONSUME_RATE", "5"},
                                  {"QUERN_CONSUME_LOG_BODIES", "true"}, {"QUERN_CONSUME_TENANT_WEIGHT", "a=1\nb=2\n"},
                                  {"QUERN_RELAY_URL", "http://x"}, {"QUERN_BODY", "{}"}},
                   warnings) == "region=eu-west-1 rate=5 log-bodies=true tenant-weight=a=1|b=2");
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(a_variable_that_means_nothing_is_warned_of)
{
    std::vector<std::string> warnings;
    BOOST_TEST(read_variables({{"QUERN_CONSUME_RATTE", "5"}, {"QUERN_CONSUME_LOG_BODIES", "yes"}}, warnings) == "");
    BOOST_REQUIRE(warnings.size() == 2u);
    BOOST_TEST(warnings[0] == "QUERN_CONSUME_LOG_BODIES must be true or false, and counts for nothing");
    BOOST_TEST(warnings[1] == "the variable QUERN_CONSUME_RATTE is not known, did you mean QUERN_CONSUME_RATE?");
}

// A service "quern-consume" in the same namespace sets these in every pod.
BOOST_AUTO_TEST_CASE(variables_of_kubernetes_are_none_of_ours)
{
    std::vector<std::string> warnings;
    BOOST_TEST(
        read_variables({{"QUERN_CONSUME_PORT", "tcp://10.0.0.7:9000"}, {"QUERN_CONSUME_SERVICE_HOST", "10.0.0.7"},
                           {"QUERN_CONSUME_PORT_9000_TCP_ADDR", "10.0.0.7"}},
            warnings) == "");
    BOOST_TEST(warnings.empty());
    BOOST_TEST(read_variables({{"QUERN_CONSUME_PORT", "9324"}}, warnings) == "port=9324");
}

BOOST_AUTO_TEST_CASE(what_has_changed_is_named)
{
    auto const of = [](std::string_view document) { return settings_in_document(document, "f", wanted()).value(); };
    auto const names = changed_settings(of("[consume]\nrate = 3\nport = 1\nlog_bodies = true"),
        of("[consume]\nport = 1\nlog_bodies = false\nhandler_concurrency = 2"));
    BOOST_TEST(names == (std::vector<std::string>{"handler-concurrency", "log-bodies", "rate"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
