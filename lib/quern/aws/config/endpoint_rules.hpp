#pragma once

#include <quern/core/error.hpp>

#include <string>
#include <string_view>

namespace quern::aws {

/// A service, as far as the rules of its endpoint differ from those of others.
struct service_name {
    std::string_view id;           ///< of AWS_ENDPOINT_URL_<ID>, and in the services section of a profile: "sso_oidc"
    std::string_view host_prefix;  ///< "portal.sso" of "portal.sso.eu-west-1.amazonaws.com"
    std::string_view signing_name; ///< in the scope of a signature
};

inline constexpr service_name sqs_service{"sqs", "sqs", "sqs"};
inline constexpr service_name dynamodb_service{"dynamodb", "dynamodb", "dynamodb"};
inline constexpr service_name ssm_service{"ssm", "ssm", "ssm"};
inline constexpr service_name cloudwatch_service{"cloudwatch", "monitoring", "monitoring"};
inline constexpr service_name app_config_data_service{"appconfigdata", "appconfigdata", "appconfig"};
inline constexpr service_name sts_service{"sts", "sts", "sts"};
inline constexpr service_name sso_service{"sso", "portal.sso", "awsssoportal"};
inline constexpr service_name sso_oidc_service{"sso_oidc", "oidc", "sso-oauth"};

/// Inputs of the endpoint rules.
struct endpoint_parameters {
    std::string region{};    ///< "eu-west-1"
    std::string url{};       ///< instead of the region's own endpoint
    bool fips = false;       ///< the host with validated cryptography
    bool dual_stack = false; ///< the host that has IPv6 addresses too
    bool sts_global = false; ///< STS: https://sts.amazonaws.com instead of the oldest regions' own endpoints
};

struct regional_endpoint {
    std::string url;            ///< "https://sqs.eu-west-1.amazonaws.com", or the one given
    std::string signing_region; ///< empty when only a URL was given
    std::string_view signing_name;
};

/// Where the service is, as its endpoint rule set says (botocore, endpoint-rule-set-1.json of sqs, sts, sso,
/// sso-oidc).
///
/// Fails with  errc::invalid_option  neither a region nor a URL; what is no name of a region; a URL together with
///                                   fips or dual_stack
[[nodiscard]] result<regional_endpoint> endpoint_for(service_name const&, endpoint_parameters const&);

} // namespace quern::aws
