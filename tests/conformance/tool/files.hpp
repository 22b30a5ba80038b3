#pragma once

#include <boost/json/value.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace quern::conformance {

namespace fs = std::filesystem;
namespace json = boost::json;

/// Throw std::runtime_error, naming the file, when it cannot be read or is no JSON.
std::string read_text(fs::path const&);
json::value read_json(fs::path const&);

/// The file itself, or the JSON files below a folder, sorted.
std::vector<fs::path> json_files(fs::path const&);

/// Members of an object; what is absent or of another kind gives the fallback.
json::value const* find(json::value const&, std::string_view member);
json::value const& part(json::value const&, std::string_view member); ///< a null when it is absent
std::string text_at(json::value const&, std::string_view member, std::string_view fallback = "");
double number_at(json::value const&, std::string_view member, double fallback);
bool flag_at(json::value const&, std::string_view member, bool fallback = false);

/// The elements of an array member; none when it is absent.
std::vector<json::value> list_at(json::value const&, std::string_view member);

} // namespace quern::conformance
