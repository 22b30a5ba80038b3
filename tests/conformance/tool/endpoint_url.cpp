#include "suites.hpp"

#include <quern/aws/config/region.hpp>

#include <boost/json.hpp>

namespace quern::conformance {
namespace {

/// The members of an object under a name, or an empty one.
json::value member(json::value const& in, std::string_view group, std::string_view name)
{
    auto const* const all = find(in, group);
    auto const* const one = all ? find(*all, name) : nullptr;
    return one ? *one : json::value(json::object());
}

aws::profile_settings profile_in(json::value const& suite, json::value const& profile, std::string_view service)
{
    aws::profile_settings out;
    out.region = text_at(profile, "region");
    out.endpoint_url = text_at(profile, "endpoint_url");
    out.ignore_configured_endpoint_urls = text_at(profile, "ignore_configured_endpoint_urls");
    auto const services = member(suite, "services", text_at(profile, "services"));
    if (auto const* const ours = find(services, service)) out.service_endpoint_url = text_at(*ours, "endpoint_url");
    return out;
}

void run_case(json::value const& suite, json::value const& given, checked_case& out)
{
    // The rule is the same for every service: its name decides on the variable, and on the host where none is set.
    auto const name = text_at(given, "service");
    aws::service_name const service{name, name, name};
    auto const config = member(suite, "client_configs", text_at(given, "client_config"));
    auto const variables = member(suite, "environments", text_at(given, "environment"));
    auto const profile = member(suite, "profiles", text_at(given, "profile"));

    aws::endpoint_choice choice;
    choice.url = text_at(config, "endpoint_url");
    if (find(config, "ignore_configured_endpoint_urls"))
        choice.ignore_configured_urls = flag_at(config, "ignore_configured_endpoint_urls");
    auto const found = aws::locate(
        service, choice, [&](char const* variable) { return text_at(variables, variable); },
        profile_in(suite, profile, name));
    out.equal("endpoint", text_at(given.at("output"), "endpointUrl"), found ? found->url : found.error().message);
}

} // namespace

void run_endpoint_url(fs::path const& path, report& results)
{
    for (auto const& file : json_files(path)) {
        for (auto const& suite : list_at(read_json(file), "testSuites")) {
            for (auto const& given : list_at(suite, "endpointUrlTests")) {
                checked_case out(results, text_at(given, "name"));
                try {
                    run_case(suite, given, out);
                } catch (std::exception const& e) {
                    out.fail(e.what());
                }
            }
        }
    }
}

} // namespace quern::conformance
