#pragma once

#include <quern/aws/config/endpoint_rules.hpp>
#include <quern/aws/config/environment.hpp>
#include <quern/aws/config/profile.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace quern::aws {

/// Options of a program about where a service is. What it leaves open comes from the environment, the profile, and a
/// queue's URL; see settled().
struct endpoint_choice {
    std::string region{};                         ///< "eu-west-1"
    std::string url{};                            ///< instead of the region's own endpoint: "http://localhost:9324"
    std::optional<bool> fips{};                   ///< absent: AWS_USE_FIPS_ENDPOINT, use_fips_endpoint
    std::optional<bool> dual_stack{};             ///< absent: AWS_USE_DUALSTACK_ENDPOINT, use_dualstack_endpoint
    std::optional<bool> ignore_configured_urls{}; ///< absent: AWS_IGNORE_CONFIGURED_ENDPOINT_URLS, and the profile's
    std::string queue_url{}; ///< of a queue that a client of SQS is for: it names a host, and with it a region
};

/// Entries of a profile of the shared config file about where services are and how they are reached, word for word.
/// Empty: nothing.
struct profile_settings {
    std::string region{};
    std::string endpoint_url{};
    std::string service_endpoint_url{}; ///< of the service in question, from the section that `services` names
    std::string use_fips_endpoint{};
    std::string use_dualstack_endpoint{};
    std::string ignore_configured_endpoint_urls{};
    std::string sts_regional_endpoints{};
    std::string ca_bundle{};
    std::string max_attempts{};
};

/// Settings of the profile of that name; empty when there is none.
profile_settings settings_of(shared_config const&, std::string_view profile, service_name const&);

/// Puts together what the rules ask about, from what is most particular to what is most general:
///
/// url         the program's; AWS_ENDPOINT_URL_<service>; AWS_ENDPOINT_URL; the profile's for the service; the
///             profile's endpoint_url; the origin of the queue's URL, where it is not that of a region's own
///             endpoint. Those of the environment and the profile are left out when configured URLs are to be
///             ignored.
/// region      the program's; that of the queue's URL, since no other region would know the queue; AWS_REGION,
///             AWS_DEFAULT_REGION; the profile's
/// all others  the program's, the environment's, the profile's, that of the queue's URL; an empty value counts as
///             none
///
/// Source  AWS SDKs and Tools Reference Guide, "Service-specific endpoints" and "Region"; botocore, configprovider.py
endpoint_parameters settled(
    service_name const&, endpoint_choice, environment const&, profile_settings const& = profile_settings());

/// settled() by the rules of the service.
///
/// Fails with  as endpoint_for()
[[nodiscard]] result<regional_endpoint> locate(
    service_name const&, endpoint_choice, environment const&, profile_settings const& = profile_settings());

} // namespace quern::aws
