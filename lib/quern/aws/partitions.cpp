#include <quern/aws/partitions.hpp>

#include <algorithm>
#include <array>

namespace quern::aws {
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

bool is_below(std::string_view host, std::string_view domain)
{
    return host.size() > domain.size() && host.ends_with(domain) && host[host.size() - domain.size() - 1] == '.';
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

bool is_amazons(std::string_view host)
{
    return std::ranges::any_of(all, [&](known const& each) {
        return is_below(host, each.what.dns_suffix) || is_below(host, each.what.dual_stack_dns_suffix);
    });
}

} // namespace quern::aws
