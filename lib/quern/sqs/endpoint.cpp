#include <quern/sqs/endpoint.hpp>

#include <algorithm>

namespace quern::sqs {
namespace {

struct partition {
    std::string_view region_prefix;
    std::string_view dns_suffix;
    std::string_view dual_stack_dns_suffix;
};

constexpr partition partitions[] = {
    {"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
    {"eusc-", "amazonaws.eu", "api.amazonwebservices.eu"}, {"us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
    {"us-isob-", "sc2s.sgov.gov", "api.aws.scloud"}, {"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
    {"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"}, {"", "amazonaws.com", "api.aws"}, // aws and aws-us-gov
};

bool is_host_label(std::string_view text)
{
    auto const allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    return !text.empty() && text.size() <= 63 && std::ranges::all_of(text, allowed) && text.front() != '-' &&
        text.back() != '-';
}

std::string configured_url(aws::environment const& env)
{
    if (aws::says_true(env("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"))) return {};
    return aws::first_set(env, {"AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL"});
}

} // namespace

std::string regional_url(std::string_view region, bool fips, bool dual_stack)
{
    auto const begins = [&](partition const& p) { return region.starts_with(p.region_prefix); };
    auto const& found = *std::ranges::find_if(partitions, begins);
    // In aws-us-gov the plain host is the validated one.
    bool const own_host = fips && (dual_stack || !region.starts_with("us-gov-"));
    std::string url = own_host ? "https://sqs-fips." : "https://sqs.";
    return url.append(region).append(".").append(dual_stack ? found.dual_stack_dns_suffix : found.dns_suffix);
}

result<resolved_endpoint> resolve(endpoint_choice choice, aws::environment const& env)
{
    if (choice.region.empty()) choice.region = aws::first_set(env, {"AWS_REGION", "AWS_DEFAULT_REGION"});
    if (choice.region.empty()) {
        return failure(errc::invalid_option,
            "region: none is known; set it in the options, or AWS_REGION in the "
            "environment");
    }
    if (!is_host_label(choice.region)) {
        return failure(errc::invalid_option, "region: \"" + choice.region + "\" is not the name of a region");
    }

    bool const fips = choice.fips ? *choice.fips : aws::says_true(env("AWS_USE_FIPS_ENDPOINT"));
    bool const dual_stack =
        choice.dual_stack ? *choice.dual_stack : aws::says_true(env("AWS_USE_DUALSTACK_ENDPOINT"));
    if (choice.url.empty()) choice.url = configured_url(env);
    if (!choice.url.empty() && (fips || dual_stack)) {
        return failure(errc::invalid_option,
            "endpoint: \"" + choice.url + "\" cannot be combined with a FIPS or " + "dual-stack endpoint");
    }
    if (choice.url.empty()) choice.url = regional_url(choice.region, fips, dual_stack);

    auto at = net::parse_endpoint(choice.url);
    if (!at) return at.error();
    return resolved_endpoint{std::move(*at), std::move(choice.region)};
}

} // namespace quern::sqs
