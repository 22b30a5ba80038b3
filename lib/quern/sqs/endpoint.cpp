#include <quern/sqs/endpoint.hpp>

#include <quern/aws/config/detail/partitions.hpp>

namespace quern::sqs {
namespace {

/// Takes text up to the next dot, and the dot.
std::string_view take_label(std::string_view& host)
{
    auto const label = host.substr(0, host.find('.'));
    host.remove_prefix(std::min(label.size() + 1, host.size()));
    return label;
}

} // namespace

queue_home home_of(std::string_view queue_url)
{
    auto const at = net::parse_endpoint(queue_url);
    if (!at) return {};
    std::string_view rest = at->host;
    if (!aws::is_amazons(rest)) return {.origin = at->origin()};

    auto const first = take_label(rest);
    if (first == "sqs" || first == "sqs-fips") {
        std::string region(take_label(rest));
        bool const has_ipv6 = rest == aws::partition_of(region).dual_stack_dns_suffix;
        return {.region = std::move(region), .fips = first == "sqs-fips", .dual_stack = has_ipv6};
    }
    if (first == "queue") return {.region = "us-east-1"}; // as all was before there were regions
    if (rest.starts_with("queue.")) return {.region = std::string(first)};
    if (rest.starts_with("sqs.")) { // "vpce-0f1e-2d.sqs.eu-west-1.vpce.amazonaws.com"
        take_label(rest);
        return {.region = std::string(take_label(rest)), .origin = at->origin()};
    }
    return {.origin = at->origin()};
}

aws::endpoint_parameters settled(
    endpoint_choice choice, aws::environment const& env, aws::profile_settings const& profile)
{
    auto home = home_of(choice.queue_url);
    if (choice.region.empty()) choice.region = std::move(home.region);
    auto out = aws::settled(aws::sqs_service,
        {.region = std::move(choice.region),
            .url = std::move(choice.url),
            .fips = choice.fips,
            .dual_stack = choice.dual_stack},
        env, profile);
    if (!out.url.empty()) return out;
    out.url = std::move(home.origin);
    if (!choice.fips) out.fips = out.fips || home.fips;
    if (!choice.dual_stack) out.dual_stack = out.dual_stack || home.dual_stack;
    return out;
}

result<resolved_endpoint> resolve(
    endpoint_choice choice, aws::environment const& env, aws::profile_settings const& profile)
{
    auto parameters = settled(std::move(choice), env, profile);
    if (parameters.region.empty()) parameters.url.clear(); // a signature needs one, wherever it is sent
    auto found = aws::endpoint_for(aws::sqs_service, parameters);
    if (!found) return found.error();
    auto at = net::parse_endpoint(found->url);
    if (!at) return at.error();
    return resolved_endpoint{std::move(*at), std::move(found->signing_region)};
}

} // namespace quern::sqs
