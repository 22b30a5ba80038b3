#include <quern/aws/config/detail/partitions.hpp>
#include <quern/net/endpoint.hpp>

#include <algorithm>
#include <array>

namespace quern::aws::detail {
namespace {

struct known {
    std::string_view region_prefix; ///< what a word and a number follow
    partition what;
};

constexpr std::array<known, 8> all{{
    {"us-gov-", {"aws-us-gov", "amazonaws.com", "api.aws"}},
    {"cn-", {"aws-cn", "amazonaws.com.cn", "api.amazonwebservices.com.cn"}},
    {"eusc-de-", {"aws-eusc", "amazonaws.eu", "api.amazonwebservices.eu"}},
    {"us-iso-", {"aws-iso", "c2s.ic.gov", "api.aws.ic.gov"}},
    {"us-isob-", {"aws-iso-b", "sc2s.sgov.gov", "api.aws.scloud"}},
    {"eu-isoe-", {"aws-iso-e", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"}},
    {"us-isof-", {"aws-iso-f", "csp.hci.ic.gov", "api.aws.hci.ic.gov"}},
    {"", {"aws", "amazonaws.com", "api.aws"}},
}};

/// "west-1"
bool is_word_and_number(std::string_view text)
{
    auto const dash = text.rfind('-');
    if (dash == text.npos || dash == 0 || dash + 1 == text.size()) return false;
    auto const digit = [](char c) { return c >= '0' && c <= '9'; };
    auto const letter = [&](char c) { return (c >= 'a' && c <= 'z') || c == '_' || digit(c); };
    return std::ranges::all_of(text.substr(0, dash), letter) && std::ranges::all_of(text.substr(dash + 1), digit);
}

/// Takes text up to the next dot, and the dot.
std::string_view take_label(std::string_view& host)
{
    auto const label = host.substr(0, host.find('.'));
    host.remove_prefix(std::min(label.size() + 1, host.size()));
    return label;
}

bool is_region(std::string_view label)
{
    auto const last = label.rfind('-');
    return last != label.npos && last != 0 && last + 1 < label.size();
}

bool is_sqs(std::string_view label)
{
    return label == "sqs" || label == "sqs-fips";
}

/// "sqs.eu-west-1", "queue", "eu-west-1.queue", "vpce-0f1e-2d.sqs.eu-west-1.vpce": what may stand before a
/// partition's domain.
bool is_endpoint_of_sqs(std::string_view name, bool is_dual_stack)
{
    auto const first = take_label(name);
    if (is_sqs(first)) return is_region(name) && name.find('.') == name.npos;
    if (is_dual_stack) return false;
    if (first == "queue") return name.empty();
    if (is_region(first) && name == "queue") return true;
    if (!first.starts_with("vpce-") || !is_sqs(take_label(name))) return false;
    return is_region(take_label(name)) && name == "vpce";
}

/// "eu-west-1", "us-gov-west-1": more than a word and a number, which machines have as well ("compute-1").
bool is_whole_region(std::string_view label)
{
    auto const first = label.find('-');
    auto const last = label.rfind('-');
    return first != 0 && first != last && is_word_and_number(label.substr(label.rfind('-', last - 1) + 1));
}

/// By its host's first label. Prometheus' is the one that takes OTLP and signs with another name.
std::string signing_name_of(std::string_view label)
{
    constexpr std::string_view fips = "-fips";
    if (label.ends_with(fips)) label.remove_suffix(fips.size());
    return std::string(label == "aps-workspaces" ? "aps" : label);
}

/// The labels before the domain and its dot; empty when the host is not below it.
std::string_view below(std::string_view host, std::string_view domain)
{
    bool const is =
        host.size() > domain.size() && host.ends_with(domain) && host[host.size() - domain.size() - 1] == '.';
    return is ? host.substr(0, host.size() - domain.size() - 1) : std::string_view();
}

} // namespace

partition const& partition_of(std::string_view region)
{
    constexpr std::string_view everywhere = "-global";
    auto const has = [&](known const& each) {
        if (region.ends_with(everywhere) && region.substr(0, region.size() - everywhere.size()) == each.what.name)
            return true;
        return !each.region_prefix.empty() && region.starts_with(each.region_prefix) &&
            is_word_and_number(region.substr(each.region_prefix.size()));
    };
    auto const found = std::ranges::find_if(all, has);
    return found == all.end() ? all.back().what : found->what;
}

std::optional<service_host> service_host_of(std::string_view host)
{
    for (auto const& each : all) {
        for (auto const domain : {each.what.dns_suffix, each.what.dual_stack_dns_suffix}) {
            auto name = below(host, domain);
            auto label = take_label(name);
            bool const is_in_vpc = label.starts_with("vpce-");
            if (is_in_vpc) label = take_label(name);
            auto const region = take_label(name);
            bool const ends_well = name == (is_in_vpc ? "vpce" : "");
            if (!label.empty() && ends_well && is_whole_region(region))
                return service_host{signing_name_of(label), std::string(region)};
        }
    }
    return {};
}

bool is_amazons(std::string_view host)
{
    return std::ranges::any_of(all, [&](known const& each) {
        return is_endpoint_of_sqs(below(host, each.what.dns_suffix), false) ||
            is_endpoint_of_sqs(below(host, each.what.dual_stack_dns_suffix), true);
    });
}

queue_home home_of(std::string_view queue_url)
{
    auto const at = net::parse_endpoint(queue_url);
    if (!at) return {};
    std::string_view rest = at->host;
    if (!is_amazons(rest)) return {.origin = at->origin()};

    auto const first = take_label(rest);
    if (is_sqs(first)) {
        std::string region(take_label(rest));
        bool const has_ipv6 = rest == partition_of(region).dual_stack_dns_suffix;
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

} // namespace quern::aws::detail
