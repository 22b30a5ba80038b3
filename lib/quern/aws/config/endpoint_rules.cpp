#include <quern/aws/config/endpoint_rules.hpp>

#include <quern/aws/config/detail/partitions.hpp>
#include <quern/net/endpoint.hpp>

#include <algorithm>
#include <array>

namespace quern::aws {

using namespace detail;

namespace {

bool is_host_label(std::string_view text)
{
    auto const allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    return !text.empty() && text.size() <= 63 && std::ranges::all_of(text, allowed) && text.front() != '-' &&
        text.back() != '-';
}

/// Whether requests to STS in this region go to the one endpoint that there was before regions had their own.
bool is_global_sts(service_name const& service, endpoint_parameters const& p)
{
    static constexpr std::array<std::string_view, 15> oldest{"ap-northeast-1", "ap-south-1", "ap-southeast-1",
        "ap-southeast-2", "ca-central-1", "eu-central-1", "eu-north-1", "eu-west-1", "eu-west-2", "eu-west-3",
        "sa-east-1", "us-east-1", "us-east-2", "us-west-1", "us-west-2"};
    if (service.id != sts_service.id || p.fips || p.dual_stack) return false;
    return p.region == "aws-global" || (p.sts_global && std::ranges::find(oldest, p.region) != oldest.end());
}

std::string own_url(service_name const& service, endpoint_parameters const& p)
{
    auto const& home = partition_of(p.region);
    // In aws-us-gov the plain host is the validated one.
    bool const is_apart = p.fips && (p.dual_stack || home.name != "aws-us-gov");
    std::string url = "https://";
    url.append(service.host_prefix).append(is_apart ? "-fips." : ".").append(p.region).append(".");
    return url.append(p.dual_stack ? home.dual_stack_dns_suffix : home.dns_suffix);
}

} // namespace

result<regional_endpoint> endpoint_for(service_name const& service, endpoint_parameters const& p)
{
    if (p.region.empty() && p.url.empty()) {
        return failure(errc::invalid_option,
            "region: none is known; set it in the options, or AWS_REGION in the environment, or region in the "
            "profile");
    }
    if (!p.region.empty() && !is_host_label(p.region))
        return failure(errc::invalid_option, "region: \"" + p.region + "\" is not the name of a region");
    if (!p.url.empty() && (p.fips || p.dual_stack)) {
        return failure(errc::invalid_option,
            "endpoint: \"" + net::shown_url(p.url) + "\" cannot be combined with a " +
                (p.fips ? "FIPS" : "dual-stack") + " endpoint; leave one of the two out (" +
                (p.fips ? "AWS_USE_FIPS_ENDPOINT" : "AWS_USE_DUALSTACK_ENDPOINT") + ")");
    }
    if (!p.url.empty()) return regional_endpoint{p.url, p.region, service.signing_name};
    if (is_global_sts(service, p))
        return regional_endpoint{"https://sts.amazonaws.com", "us-east-1", service.signing_name};
    return regional_endpoint{own_url(service, p), p.region, service.signing_name};
}

} // namespace quern::aws
