#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::aws::detail {

/// A part of AWS that shares no accounts, and no domain, with the others.
struct partition {
    std::string_view name; ///< "aws-us-gov"
    std::string_view dns_suffix;
    std::string_view dual_stack_dns_suffix; ///< of hosts that have IPv6 addresses too
};

/// The partition that a region belongs to. A region that nobody has heard of yet is one of "aws".
///
/// Source  botocore, partitions.json, August 2026: its regular expressions and pseudo regions ("aws-cn-global"). All
///         partitions listed there have FIPS and dual-stack hosts.
partition const& partition_of(std::string_view region);

/// Whether a host has the name of an endpoint of SQS in one of the partitions: a region's own, one of the older ones
/// ("eu-west-1.queue.amazonaws.com") or a VPC's. Others in the same domains can be anybody's: buckets, machines.
bool is_amazons(std::string_view host);

/// The service that a host belongs to.
struct service_host {
    std::string signing_name; ///< "monitoring"
    std::string region;
};

/// Reads the name of a service's endpoint in a region, or in a VPC of it: "xray.eu-west-1.amazonaws.com",
/// "monitoring-fips.us-east-1.api.aws", "vpce-0f1e-2d.xray.eu-west-1.vpce.amazonaws.com". Nothing for others, also in
/// these domains: load balancers, buckets, machines.
std::optional<service_host> service_host_of(std::string_view host);

/// Home of a queue, read from its URL.
struct queue_home {
    std::string region{};    ///< empty when the host is none of Amazon's
    std::string origin{};    ///< to send requests to; empty when that is the region's own endpoint
    bool fips = false;       ///< the region's own endpoint of that kind
    bool dual_stack = false; ///< and of that
};

/// "https://sqs.eu-west-1.amazonaws.com/123456789012/orders" lives in eu-west-1, as does what has one of the older
/// hosts ("eu-west-1.queue.amazonaws.com"); behind a VPC endpoint, and at hosts that are not Amazon's, the origin
/// counts too. Says nothing about a text that is no URL.
queue_home home_of(std::string_view queue_url);

} // namespace quern::aws::detail
