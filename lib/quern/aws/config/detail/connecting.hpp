#pragma once

#include <quern/aws/config/region.hpp>
#include <quern/aws/retry.hpp>
#include <quern/net/client.hpp>

namespace quern::aws::detail {

/// The first of these that says something: the program, AWS_CA_BUNDLE, the profile.
std::string chosen_ca_bundle(std::string of_program, environment const&, profile_settings const&);

/// Fills in what a program left open about how connections to an endpoint are made:
///
/// ca_bundle  see chosen_ca_bundle()
/// proxy      what net::detail::proxy_for() finds in the environment; an empty one stays: none
net::client_options completed(
    net::client_options, net::endpoint const& to, environment const&, profile_settings const& = profile_settings());

/// The same for how often a call is tried: AWS_MAX_ATTEMPTS, then the profile's max_attempts.
///
/// Fails with  errc::invalid_option  what stands there is no number from 1 on
[[nodiscard]] result<retry_options> completed(
    retry_options, environment const&, profile_settings const& = profile_settings());

} // namespace quern::aws::detail
