#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace {

std::string contents(std::filesystem::path const& file)
{
    std::ifstream in(file);
    BOOST_TEST_REQUIRE(in.is_open(), file);
    return {std::istreambuf_iterator<char>(in), {}};
}

void find_all(std::string const& text, std::string const& pattern, std::set<std::string>& into)
{
    std::regex const wanted(pattern);
    for (std::sregex_iterator at(text.begin(), text.end(), wanted), end; at != end; ++at)
        into.insert((*at)[1]);
}

/// Names that the page does not have as `name` or `name:`.
std::string untold(std::set<std::string> const& names)
{
    std::set<std::string> told;
    std::string out;
    auto const page = contents("docs/guide/telling.md");
    find_all(page, "`([a-z_ ]+):?`", told);
    for (auto const& name : names)
        if (!told.contains(name)) out += name + ' ';
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(telling)

BOOST_AUTO_TEST_CASE(the_guide_has_a_row_for_every_event)
{
    std::set<std::string> events;
    for (auto const* header : {"lib/quern/consumer/observer.hpp", "lib/quern/sqs/request_observer.hpp"})
        find_all(contents(header), "virtual void ([a-z_]+)\\(", events);
    BOOST_TEST(events.size() == 14u);
    BOOST_TEST(untold(events) == "");
}

BOOST_AUTO_TEST_CASE(the_guide_has_a_row_for_every_counter)
{
    std::set<std::string> counters;
    find_all(contents("lib/quern/consumer/counters.hpp"), "Number ([a-z_]+)\\{\\}", counters);
    BOOST_TEST(counters.size() == 17u);
    BOOST_TEST(untold(counters) == "");
}

BOOST_AUTO_TEST_CASE(the_guide_has_a_row_for_every_cause_of_a_line_in_the_log)
{
    std::set<std::string> causes;
    for (auto const* folder : {"lib/quern/consumer", "lib/quern/producer"}) {
        for (auto const& file : std::filesystem::recursive_directory_iterator(folder)) {
            if (file.path().extension() != ".cpp") continue;
            auto const text = contents(file.path());
            find_all(text, "write(?:_each)?\\(\\s*log_level::[a-z]+,\\s*\"([^\"]+)\"", causes);
            find_all(text, "write\\(level, \"([^\"]+)\"", causes);
            find_all(text, "out\\.cause = \"([^\"]+)\"", causes);
        }
    }
    BOOST_TEST(causes.size() >= 17u);
    BOOST_TEST(untold(causes) == "");
}

BOOST_AUTO_TEST_SUITE_END()
