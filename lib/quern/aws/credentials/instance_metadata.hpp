#pragma once

#include <quern/aws/config/profile.hpp>
#include <quern/aws/config/surroundings.hpp>
#include <quern/aws/credentials/credentials.hpp>

#include <optional>
#include <string>

namespace quern::aws {

/// How an EC2 instance is asked for its role's credentials. Empty: the environment, then the profile decide.
struct instance_choice {
    std::string endpoint{}; ///< AWS_EC2_METADATA_SERVICE_ENDPOINT, ec2_metadata_service_endpoint
    std::string
        endpoint_mode{}; ///< AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE, ec2_metadata_service_endpoint_mode: IPv4 or
                         ///< IPv6; IPv4 where nobody says
};

struct instance_service {
    std::string url;                          ///< "http://169.254.169.254"
    std::chrono::milliseconds timeout{1'000}; ///< AWS_METADATA_SERVICE_TIMEOUT, in seconds: of each attempt
    int attempts =
        3; ///< AWS_METADATA_SERVICE_NUM_ATTEMPTS: of a request that is answered with a passing error. One that
           ///< is not answered at all is not repeated: elsewhere than on EC2 nobody would answer
};

/// Nothing with AWS_EC2_METADATA_DISABLED=true. `profile` may be null.
///
/// Fails with  errc::no_credentials  a setting that means nothing, by name
[[nodiscard]] result<std::optional<instance_service>> find_instance_service(
    environment const&, section const* profile, instance_choice = {});

/// Asks by IMDSv2 (a token first; the older way without one is not used, so that a request that somebody talks
/// another program into sending finds nothing). Where the instance hands out credentials that have expired, because
/// whoever renews them is down, they count as good for another 10 to 15 minutes, as in the AWS SDKs ("static
/// stability").
///
/// `jitter`: 0 to 1.
///
/// Fails with    errc::no_credentials  nobody answers there; the instance has no role
///               errc::service_error, throttled, and as net::client::exchange
/// Cancellation  terminal.
boost::asio::awaitable<result<credentials>> instance_credentials(
    surroundings const&, instance_service, double jitter);

} // namespace quern::aws
