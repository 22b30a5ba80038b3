#include "suites.hpp"

#include <quern/aws/config/profile.hpp>

#include <boost/json.hpp>

namespace quern::conformance {
namespace {

std::string listed(aws::sections const& profiles)
{
    std::string out;
    for (auto const& [name, profile] : profiles) {
        out += '[' + name + "]\n";
        for (auto const& [key, value] : profile.values)
            out += key + " = " + json::serialize(json::string(value)) + '\n';
    }
    return out;
}

std::string listed(json::value const& profiles)
{
    aws::sections out;
    for (auto const& [name, properties] : profiles.as_object()) {
        auto& profile = out[name];
        for (auto const& [key, value] : properties.as_object())
            profile.values[key] = value.as_string();
    }
    return listed(out);
}

} // namespace

void run_profile(fs::path const& path, report& results)
{
    for (auto const& file : json_files(path)) {
        for (auto const& each : list_at(read_json(file), "tests")) {
            checked_case out(results, text_at(each, "name"));
            auto const& input = part(each, "input");
            auto const& expected = part(each, "output");
            auto const read = aws::parse_shared_config(
                {"config", text_at(input, "configFile")}, {"credentials", text_at(input, "credentialsFile")});
            if (auto const* const config = find(expected, "config")) {
                if (read)
                    out.equal("profiles", listed(config->at("profiles")), listed(read->profiles));
                else
                    out.fail(read.error().message);
            } else if (read) {
                out.fail("accepted; expected the error \"" + text_at(expected, "errorContaining") + '"');
            }
        }
    }
}

void run_file_location(fs::path const& path, report& results)
{
    for (auto const& file : json_files(path)) {
        for (auto const& each : list_at(read_json(file), "tests")) {
            auto const name = text_at(each, "name");
            if (text_at(each, "platform") == "windows") {
                results.skip(name, "paths of Windows, where Quern does not run");
                continue;
            }
            checked_case out(results, name);
            auto const variable = [&](char const* of) { return text_at(part(each, "environment"), of); };
            auto const at = aws::locate_shared_files(variable);
            out.equal("config", text_at(each, "configLocation"), at.config);
            out.equal("credentials", text_at(each, "credentialsLocation"), at.credentials);
            if (find(each, "profile"))
                out.equal("profile", text_at(each, "profile"), aws::selected_profile(variable));
        }
    }
}

} // namespace quern::conformance
