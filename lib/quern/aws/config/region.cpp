#include <quern/aws/config/detail/partitions.hpp>
#include <quern/aws/config/region.hpp>

#include <initializer_list>

namespace quern::aws {

using namespace detail;

namespace {

std::string first_of(std::initializer_list<std::string> values)
{
    for (auto const& value : values) {
        if (!value.empty()) return value;
    }
    return {};
}

std::string service_variable(service_name const& service)
{
    std::string name = "AWS_ENDPOINT_URL_";
    for (char const c : service.id)
        name.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
    return name;
}

} // namespace

profile_settings settings_of(shared_config const& config, std::string_view profile, service_name const& service)
{
    auto const* const said = config.profile(profile);
    if (!said) return {};
    profile_settings out;
    out.region = said->get("region");
    out.endpoint_url = said->get("endpoint_url");
    out.service_endpoint_url = config.service(*said, service.id).get("endpoint_url");
    out.use_fips_endpoint = said->get("use_fips_endpoint");
    out.use_dualstack_endpoint = said->get("use_dualstack_endpoint");
    out.ignore_configured_endpoint_urls = said->get("ignore_configured_endpoint_urls");
    out.sts_regional_endpoints = said->get("sts_regional_endpoints");
    out.ca_bundle = said->get("ca_bundle");
    out.max_attempts = said->get("max_attempts");
    return out;
}

endpoint_parameters settled(
    service_name const& service, endpoint_choice choice, environment const& env, profile_settings const& profile)
{
    auto const flag = [&](std::optional<bool> said, char const* variable, std::string const& in_profile) {
        return said ? *said : says_true(first_of({env(variable), in_profile}));
    };
    auto const home = home_of(choice.queue_url);
    endpoint_parameters out;
    out.region = first_of({choice.region, home.region, env("AWS_REGION"), env("AWS_DEFAULT_REGION"), profile.region});
    out.fips = flag(choice.fips, "AWS_USE_FIPS_ENDPOINT", profile.use_fips_endpoint);
    out.dual_stack = flag(choice.dual_stack, "AWS_USE_DUALSTACK_ENDPOINT", profile.use_dualstack_endpoint);
    out.sts_global =
        first_of({env("AWS_STS_REGIONAL_ENDPOINTS"), profile.sts_regional_endpoints}) == "legacy"; // else "regional"

    out.url = std::move(choice.url);
    bool const ignored = flag(choice.ignore_configured_urls, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
        profile.ignore_configured_endpoint_urls);
    if (out.url.empty() && !ignored) {
        out.url = first_of({env(service_variable(service).c_str()), env("AWS_ENDPOINT_URL"),
            profile.service_endpoint_url, profile.endpoint_url});
    }
    if (!out.url.empty()) return out;
    out.url = home.origin;
    if (!choice.fips) out.fips = out.fips || home.fips;
    if (!choice.dual_stack) out.dual_stack = out.dual_stack || home.dual_stack;
    return out;
}

result<regional_endpoint> locate(
    service_name const& service, endpoint_choice choice, environment const& env, profile_settings const& profile)
{
    return endpoint_for(service, settled(service, std::move(choice), env, profile));
}

} // namespace quern::aws
