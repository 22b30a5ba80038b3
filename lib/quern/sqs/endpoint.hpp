#pragma once

#include <quern/aws/credentials.hpp>
#include <quern/core/error.hpp>
#include <quern/net/endpoint.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace quern::sqs {

/// What a program may say about where SQS is. What it leaves open is taken from the environment.
struct endpoint_choice {
    std::string region{};             ///< empty: AWS_REGION, then AWS_DEFAULT_REGION
    std::string url{};                ///< empty: AWS_ENDPOINT_URL_SQS, then AWS_ENDPOINT_URL, then the region's own
    std::optional<bool> fips{};       ///< absent: AWS_USE_FIPS_ENDPOINT; the host with validated cryptography
    std::optional<bool> dual_stack{}; ///< absent: AWS_USE_DUALSTACK_ENDPOINT; the host with IPv6 addresses
};

struct resolved_endpoint {
    net::endpoint at;
    std::string region; ///< that signatures name
};

/// Decides where requests go, as the SQS endpoint rules of the AWS SDKs do (botocore, endpoint-rule-set-1.json and
/// partitions.json). AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true turns the two URL variables off.
///
/// Fails with  errc::invalid_option  no region anywhere, a malformed region or URL, or a URL together with fips or
///                                   dual_stack
result<resolved_endpoint> resolve(endpoint_choice, aws::environment const&);

/// "https://sqs.eu-west-1.amazonaws.com"
std::string regional_url(std::string_view region, bool fips, bool dual_stack);

} // namespace quern::sqs
