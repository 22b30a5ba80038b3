#pragma once

#include <quern/aws/config/region.hpp>
#include <quern/aws/config/surroundings.hpp>
#include <quern/aws/credentials/cached_credentials.hpp>
#include <quern/aws/credentials/instance_metadata.hpp>
#include <quern/aws/credentials/recipe.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>

namespace quern::aws {

/// Options of a program about where its credentials are.
struct chain_options {
    std::string profile{};   ///< a profile that the program has chosen: it is used, whatever the environment holds
    endpoint_choice where{}; ///< of STS and SSO; `url` is not used
    instance_choice instance{};
};

/// Looks for credentials in the places that AWS' SDKs look in, until there are some:
///
///  1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
///  2. the profile that AWS_PROFILE names
///  3. AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN (EKS)
///  4. the profile "default"
///  5. the container: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or .._FULL_URI (ECS, EKS Pod Identity)
///  6. the instance (EC2, IMDSv2), unless AWS_EC2_METADATA_DISABLED=true
///
/// A profile that the program names comes first of all. A place that is set up and does not work ends the search: who
/// set it up did not mean another. Each load() searches anew, so that files may change.
class credential_chain final : public credentials_source {
public:
    /// `jitter`: 0 to 1; see instance_credentials().
    credential_chain(surroundings, chain_options, std::function<double()> jitter);

    /// Fails with    errc::no_credentials  nothing was found: the message lists where it looked, and what to do; or a
    ///                                     place that is set up does not work, and what it said
    ///               errc::invalid_option  the config or credentials file, or the setting of an endpoint, is
    ///                                     malformed
    ///               errc::stopped         cancelled
    /// Cancellation  terminal.
    boost::asio::awaitable<result<credentials>> load() override;

private:
    surroundings around_;
    chain_options options_;
    std::function<double()> jitter_;
};

/// The chain over the real environment, disk and network, cached: see cached_credentials(). Where the connections
/// name no ca_bundle, AWS_CA_BUNDLE counts, then that of the profile, as they are now.
std::shared_ptr<credentials_provider> default_credentials(boost::asio::any_io_executor,
    chain_options = chain_options(), net::client_options = net::client_options(), clock& time = real_clock());

} // namespace quern::aws
