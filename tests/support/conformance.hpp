#pragma once

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace quern::test {

// The service's own test data lie beside the source tree, not in it: the tests that read them skip, saying so, where
// they are not. Tests run in the root of the tree.

inline std::optional<std::string> conformance_text(std::string const& name)
{
    std::ifstream file("../shared/conformance/" + name, std::ios::binary);
    if (!file) {
        BOOST_TEST_MESSAGE("skipped: ../shared/conformance/" << name << " is not there");
        return {};
    }
    return std::string(std::istreambuf_iterator<char>(file), {});
}

inline std::optional<boost::json::value> conformance_json(std::string const& name)
{
    auto const text = conformance_text(name);
    if (!text) return {};
    return boost::json::parse(*text);
}

/// Each line of a file of JSON lines.
inline std::vector<boost::json::value> conformance_lines(std::string const& name)
{
    std::vector<boost::json::value> lines;
    auto const text = conformance_text(name).value_or("");
    for (std::size_t at = 0; at < text.size();) {
        auto const end = std::min(text.find('\n', at), text.size());
        if (end != at) lines.push_back(boost::json::parse(std::string_view(text).substr(at, end - at)));
        at = end + 1;
    }
    return lines;
}

/// Files with that ending in a folder of the test data, sorted.
inline std::vector<std::string> conformance_files(std::string const& folder, std::string const& ending)
{
    std::vector<std::string> names;
    std::error_code absent;
    for (auto const& entry : std::filesystem::directory_iterator("../shared/conformance/" + folder, absent)) {
        if (entry.path().extension() == ending) names.push_back(folder + '/' + entry.path().filename().string());
    }
    if (absent) BOOST_TEST_MESSAGE("skipped: ../shared/conformance/" << folder << " is not there");
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace quern::test
