#include "common/service_options.hpp"

#include <quern/aws/config/files.hpp>

#include <utility>

namespace quern::app {

result<void> settle(aws::client_options& out, aws::service_name const& service, endpoint_options where,
    aws::environment const& variable)
{
    out.profile = where.profile;
    out.where.region = std::move(where.region);
    out.where.url = std::move(where.url);
    auto const config = aws::load_shared_config(variable);
    if (!config) return config.error();
    auto const profile = aws::settings_of(*config, aws::selected_profile(variable, out.profile), service);
    auto const settled = aws::settled(service, out.where, variable, profile);
    bool const is_local = !settled.url.empty() && settled.url.find(".amazonaws.com") == std::string::npos;
    if (is_local && settled.region.empty()) out.where.region = "us-east-1";
    if (!is_local && settled.region.empty())
        return failure(
            errc::invalid_option, "no region: give --region, set AWS_REGION, or set region in the profile");
    bool const is_named = !aws::selected_profile(variable, out.profile, "").empty();
    if (is_local && !is_named) {
        auto keys = local_keys(variable);
        if (!keys) return keys.error();
        out.credentials = aws::static_credentials(std::move(*keys));
    }
    return {};
}

} // namespace quern::app
