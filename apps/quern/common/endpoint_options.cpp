#include "common/endpoint_options.hpp"

#include "common/complaint.hpp"

#include <quern/aws/config/clear_text.hpp>
#include <quern/aws/config/detail/partitions.hpp>
#include <quern/sqs/queue_reference.hpp>

namespace quern::app {

result<aws::credentials> local_keys(aws::environment const& variable)
{
    bool const none = aws::first_set(variable, {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}).empty();
    if (none) return aws::credentials{"test", "test", ""};
    return aws::credentials_from(variable);
}

result<sqs::client_options> client_options_from(
    endpoint_options where, std::string_view queue, aws::environment const& variable)
{
    sqs::client_options options;
    options.where.url = std::move(where.url);
    options.where.region = std::move(where.region);
    if (auto const arn = sqs::queue_arn_in(queue); arn && options.where.region.empty())
        options.where.region = arn->region;
    if (sqs::is_queue_url(queue)) {
        if (auto const at = net::parse_endpoint(queue); !at)
            return failure(errc::invalid_option, "QUEUE_URL: " + at.error().message);
        options.where.queue_url = queue;
    }

    auto const config = aws::load_shared_config(variable);
    if (!config) return config.error();
    auto const profile_name = aws::selected_profile(variable, where.profile);
    if (!where.profile.empty() && !config->profile(where.profile))
        return failure(errc::invalid_option, "--profile: there is no profile \"" + where.profile + "\"");
    auto const profile = aws::settings_of(*config, profile_name, aws::sqs_service);
    options.profile = where.profile;

    auto const settled = aws::settled(aws::sqs_service, options.where, variable, profile);
    bool is_local = false;
    if (!settled.url.empty()) {
        auto const at = net::parse_endpoint(settled.url);
        if (!at) return failure(errc::invalid_option, "--endpoint (or AWS_ENDPOINT_URL_SQS): " + at.error().message);
        is_local = !aws::detail::is_amazons(at->host);
    }
    if (settled.region.empty() && is_local) options.where.region = "us-east-1";
    if (settled.region.empty() && !is_local) {
        return failure(errc::invalid_option,
            "no region: give --region, set AWS_REGION, or set region in the profile; for a local broker give "
            "--endpoint or set AWS_ENDPOINT_URL_SQS");
    }

    std::string key; // unknown as long as they have to be looked for
    bool const is_named = !aws::selected_profile(variable, where.profile, "").empty();
    if (is_local && !is_named) {
        auto keys = local_keys(variable);
        if (!keys) return keys.error();
        key = keys->access_key_id;
        options.credentials = aws::static_credentials(std::move(*keys));
    }
    auto const found = aws::locate(aws::sqs_service, options.where, variable, profile);
    if (!found) return found.error();
    auto const at = net::parse_endpoint(found->url);
    if (!at) return at.error();
    options.where.region = found->signing_region;
    if (auto const risk = aws::clear_text_warning(*at, key)) log_line(log_level::warning, *risk);
    return options;
}

} // namespace quern::app
