#include "files.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace quern::conformance {

std::string read_text(fs::path const& file)
{
    std::ifstream in(file, std::ios::binary);
    if (!in || fs::is_directory(file)) throw std::runtime_error("cannot read " + file.string());
    std::string text(std::istreambuf_iterator<char>(in), {});
    std::erase(text, '\r');
    return text;
}

json::value read_json(fs::path const& file)
{
    json::error_code ec;
    auto value = json::parse(read_text(file), ec);
    if (ec) throw std::runtime_error(file.string() + " is not JSON: " + ec.message());
    return value;
}

std::vector<fs::path> json_files(fs::path const& path)
{
    if (!fs::is_directory(path)) return {path};
    std::vector<fs::path> found;
    for (auto const& entry : fs::recursive_directory_iterator(path)) {
        if (entry.is_regular_file() && entry.path().extension() == ".json") found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

json::value const* find(json::value const& in, std::string_view member)
{
    auto const* const object = in.if_object();
    return object ? object->if_contains(member) : nullptr;
}

json::value const& part(json::value const& in, std::string_view member)
{
    static json::value const none;
    auto const* const value = find(in, member);
    return value ? *value : none;
}

std::string text_at(json::value const& in, std::string_view member, std::string_view fallback)
{
    auto const* const value = find(in, member);
    return std::string(value && value->is_string() ? std::string_view(value->get_string()) : fallback);
}

double number_at(json::value const& in, std::string_view member, double fallback)
{
    auto const* const value = find(in, member);
    return value && value->is_number() ? value->to_number<double>() : fallback;
}

bool flag_at(json::value const& in, std::string_view member, bool fallback)
{
    auto const* const value = find(in, member);
    return value && value->is_bool() ? value->get_bool() : fallback;
}

std::vector<json::value> list_at(json::value const& in, std::string_view member)
{
    auto const* const value = find(in, member);
    if (!value || !value->is_array()) return {};
    return {value->get_array().begin(), value->get_array().end()};
}

} // namespace quern::conformance
