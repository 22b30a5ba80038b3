#pragma once

#include <quern/aws/config/region.hpp>
#include <quern/core/error.hpp>
#include <quern/net/endpoint.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace quern::sqs {

/// Options of a program about where SQS is. What it leaves open comes from the environment, the profile, and a
/// queue's URL; see settled().
struct endpoint_choice {
    std::string region{};             ///< "eu-west-1"
    std::string url{};                ///< instead of the region's own endpoint: "http://localhost:9324"
    std::optional<bool> fips{};       ///< the host with validated cryptography
    std::optional<bool> dual_stack{}; ///< the host that has IPv6 addresses too
    std::string queue_url{};          ///< of a queue that the client is for: it names a host, and with it a region
};

struct resolved_endpoint {
    net::endpoint at;
    std::string region; ///< that signatures name
};

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

/// Inputs of the endpoint rules, settled from all who have a say:
///
/// url     the program's; the environment's and the profile's as in aws::settled(); the origin of the queue's URL,
///         where it is not that of a region's own endpoint
/// region  the program's; that of the queue's URL, since no other region would know the queue; AWS_REGION,
///         AWS_DEFAULT_REGION; the profile's
/// kinds   FIPS and dual stack: the program's; the environment's and the profile's; that of the queue's URL
aws::endpoint_parameters settled(
    endpoint_choice, aws::environment const&, aws::profile_settings const& = aws::profile_settings());

/// Decides where requests go, as the SQS endpoint rules of the AWS SDKs do.
///
/// Fails with  errc::invalid_option  no region anywhere, a malformed region or URL, or a URL together with fips or
///                                   dual_stack
[[nodiscard]] result<resolved_endpoint> resolve(
    endpoint_choice, aws::environment const&, aws::profile_settings const& = aws::profile_settings());

} // namespace quern::sqs
